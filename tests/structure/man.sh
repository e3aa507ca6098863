#!/usr/bin/env bash
# Manual pages: no warning from mandoc, every command and option of the help, the help's examples, the exit codes; the
# written pages run as they stand; every key of docs/records.md is in afore-records(5).
set -euo pipefail
source_dir=$1 bin=$2/bin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0
wrong() {
  echo "$*"
  bad=1
}
plain() { sed -e 's/\\-/-/g' -e 's/\\(aq/'"'"'/g' -e 's/\\(ha/^/g' -e 's/\\(ti/~/g' -e 's/\\(ga/`/g' -e 's/^\\&//' -e 's/\\e/\\/g' "$1"; }
blocks() { plain "$1" | sed -n '/^\.nf$/,/^\.fi$/p' | grep -v '^\.nf$\|^\.fi$'; }
help_examples() { "$@" --help | sed -n '/^Examples:$/,/^[^ ]/p' | sed -n 's/^  //p' | grep -v '^# \|^$'; }

cp "$2"/man/{afore.1,afore-records.5} "$scratch"
for tool in afore-migrate afore-plan afore-serve afore-trace; do
  page=$scratch/$tool.1
  "$bin/$tool" --print-man > "$page"
  blocks "$page" > "$scratch/blocks"
  plain "$page" | sed 's/\\f[BIR]//g' > "$scratch/plain"
  for section in NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLES 'EXIT STATUS' ENVIRONMENT FILES 'SEE ALSO'; do
    grep -qx ".SH $section" "$page" || wrong "$tool.1: no $section"
  done
  for code in 0 1 2 3 4 5 '129, 130, 143' 141; do grep -qx "$code" "$scratch/plain" || wrong "$tool.1: no exit code $code"; done
  mapfile -t commands < <("$bin/$tool" --print-completion=fish | sed -nE 's/.* -a ([a-z-]+) -d .*/\1/p')
  for command in '' "${commands[@]}"; do
    [[ -z $command ]] || grep -qx ".SS $command" "$scratch/plain" || wrong "$tool.1: no command $command"
    while IFS= read -r line; do
      grep -qxF -- "$line" "$scratch/blocks" || wrong "$tool.1: an example of \"$command\" is missing: $line"
    done < <(help_examples "$bin/$tool" ${command:+"$command"})
    while IFS= read -r flag; do
      grep -qE -- "(^|, )$flag( |,|\$)" "$scratch/plain" || wrong "$tool.1: no $flag"
    done < <("$bin/$tool" ${command:+"$command"} --help | grep -oE '^ {2,6}(-[a-zA-Z], )?--[a-z_-]+' | grep -oE -- '--[a-z_-]+')
  done
done
if command -v mandoc > /dev/null; then
  for page in "$scratch"/*.[15]; do mandoc -Tlint -W warning "$page" || bad=1; done
fi

# The written pages' examples, in order, in one shell and folder.
for page in afore.1 afore-records.5; do
  mkdir "$scratch/$page.run"
  if [[ $page == afore.1 ]]; then blocks "$scratch/$page"; else plain "$scratch/$page" | sed -n '/^\.SH EXAMPLES/,$p' > "$scratch/tail"; blocks "$scratch/tail"; fi |
    grep -v '^.fBafore' > "$scratch/script"
  (cd "$scratch/$page.run" && AFORE_DATA=$source_dir PATH=$bin:$PATH bash -euo pipefail "$scratch/script") \
    > "$scratch/out" 2> "$scratch/err" || { wrong "$page: an example fails"; cat "$scratch/script" "$scratch/err"; }
  [[ -s $scratch/out ]] || wrong "$page: no example prints anything"
done

# First columns of the tables of docs/records.md, behind its refusals.
plain "$scratch/afore-records.5" | sed 's/\\f[BIR]//g' > "$scratch/records"
while IFS= read -r key; do
  grep -qwF -- "${key#.}" "$scratch/records" || wrong "afore-records.5 lacks $key"
done < <(sed -n '/^## header/,$p' "$source_dir/docs/records.md" | grep '^| `' | cut -d '|' -f 2 | grep -o '`[^`]*`' | tr -d '`')
for kind in $(grep -oE '^## [a-z]+' "$source_dir/docs/records.md" | cut -c 4-); do
  grep -qx ".SS $kind" "$scratch/afore-records.5" || wrong "afore-records.5 lacks the record $kind"
done
exit "$bad"
