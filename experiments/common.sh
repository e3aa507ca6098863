#!/usr/bin/env bash
# What the experiments share: where tools and inputs are, and how a command is shown and run. Source it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
inputs=${AFORE_SHARED:-$root/../shared}/data
out=$root/build/experiments
export PATH=$root/build/release/bin:$PATH

die() {
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# need_tools: the three tools of the pipe, and jq, which makes tables of summary records.
need_tools() {
  local tool
  for tool in afore-trace afore-plan afore-serve; do
    [[ -x $root/build/release/bin/$tool ]] || die "$tool is not built: run scripts/quickstart"
  done
  command -v jq > /dev/null || die "jq is missing"
  mkdir -p "$out"
}

# have FILE...: 1 and a line that says which input is missing.
have() {
  local file
  for file in "$@"; do
    [[ -e $file ]] && continue
    printf 'skipped: %s is absent (set AFORE_SHARED to the folder that has data/)\n\n' "${file#"$inputs"/}"
    return 1
  done
}

# show FILE COMMAND...: prints a command as it can be typed in the repository's root, with the inputs in $inputs.
show() {
  local file=$1 word text='   '
  shift
  for word in "$@"; do
    word=${word//"$inputs"/'$inputs'}
    [[ $word =~ ^[[:alnum:]_./,:=\$+-]+$ ]] || printf -v word '%q' "$word"
    text+=" ${word//"$root"\//}"
  done
  printf '%s > %s\n' "$text" "${file#"$root"/}" >&2
}

# run_to FILE COMMAND...: shows the command and puts its output into FILE.
run_to() {
  local file=$1
  shift
  show "$file" "$@"
  "$@" > "$file"
}
