#!/usr/bin/env bash
# The examples in the help of every tool and command run as they stand, one command's after the other in one shell.
set -u
export AFORE_DATA=$AFORE_SOURCE_DIR
examples() { sed -n '/^Examples:$/,/^[^ ]/p' | sed -n 's/^  //p'; }
commands() { "$1" --print-completion=fish | sed -nE 's/.* -a ([a-z-]+) -d .*/\1/p'; }

run() {  # run NAME: what standard input has
  local name=$1 script
  script=$(cat)
  local count
  count=$(grep -c '^# ' <<< "$script")
  ((count >= 2 && count <= 4)) || echo "$name: $count examples, not 2 to 4"
  awk -v name="$name" 'length > 78 { print name ": a line of " length " columns: " $0 }' <<< "$script"
  mkdir "$name"
  (cd "$name" && bash -euo pipefail -c "trap 'echo \"failed: \$BASH_COMMAND\"' ERR; $script") > "$name/out" 2> "$name/err" ||
    { echo "$name: exit $?"; grep -h '^failed: ' "$name/out"; head -n 5 "$name/err"; }
  # A command whose no is shown says why.
  [[ $script == *' || '* ]] && sed -i '/: error: \|: hint: /d' "$name/err"
  [[ -s $name/err ]] && ! grep -qv '^[0-9]* requests, \|^TTFT ' "$name/err" && : > "$name/err"
  [[ -s $name/err ]] && { echo "$name says:"; head -n 5 "$name/err"; }
}

for tool in $AFORE_TOOLS; do
  "$tool" --help | examples | run "$tool"
  for command in $(commands "$tool"); do "$tool" "$command" --help | examples | run "$tool-$command"; done
done
exit 0
