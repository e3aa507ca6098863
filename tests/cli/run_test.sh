#!/usr/bin/env bash
# Runs one command-line test and compares what it did with the files beside it: see README.md.
# Usage: run_test.sh [--update] BIN_DIR SOURCE_DIR TEST.sh
set -euo pipefail

update=0
if [[ $1 == --update ]]; then
  update=1
  shift
fi
bin=$(cd "$1" && pwd)
source_dir=$(cd "$2" && pwd)
test_file=$(cd "$(dirname "$3")" && pwd)/$(basename "$3")
expected=${test_file%.sh}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/work"

if [[ -z ${AFORE_SHARED:-} && -d $source_dir/../shared ]]; then
  AFORE_SHARED=$(cd "$source_dir/../shared" && pwd)
fi
export AFORE_SHARED=${AFORE_SHARED:-} AFORE_SOURCE_DIR=$source_dir
if [[ -z ${AFORE_TOOLS:-} ]]; then  # ctest sets it
  AFORE_TOOLS=$(cd "$bin" && echo afore-*)
fi
[[ $AFORE_TOOLS != 'afore-*' ]] || { echo "no tools in $bin"; exit 1; }
export AFORE_TOOLS PATH=$bin:$PATH LC_ALL=C
unset NO_COLOR COLUMNS

code=0
(cd "$scratch/work" && exec "$test_file") < /dev/null > "$scratch/stdout" 2> "$scratch/stderr" || code=$?
if [[ $code == 77 ]]; then
  cat "$scratch/stdout" "$scratch/stderr"
  exit 77
fi

want_code=0
[[ -e $expected.exit ]] && want_code=$(< "$expected.exit")

# Every line of stderr against the pattern on the same line; a pattern "..." stands for any number of lines.
stderr_matches() {
  local -a lines=() patterns=()
  mapfile -t lines < "$scratch/stderr"
  [[ -e $expected.stderr.glob ]] && mapfile -t patterns < "$expected.stderr.glob"
  local line=0 pattern=0
  while ((pattern < ${#patterns[@]})); do
    if [[ ${patterns[pattern]} == ... ]]; then
      ((++pattern == ${#patterns[@]})) && return 0
      while ((line < ${#lines[@]})) && [[ ${lines[line]} != ${patterns[pattern]} ]]; do ((++line)); done
    fi
    ((line < ${#lines[@]})) || return 1
    [[ ${lines[line]} == ${patterns[pattern]} ]] || return 1
    ((++line, ++pattern))
  done
  ((line == ${#lines[@]}))
}

: > "$scratch/empty"
want_stdout=$scratch/empty
[[ -e $expected.stdout.exact ]] && want_stdout=$expected.stdout.exact

if ((update)); then
  if [[ -s $scratch/stdout ]]; then cp "$scratch/stdout" "$expected.stdout.exact"; else rm -f "$expected.stdout.exact"; fi
  if ((code)); then echo "$code" > "$expected.exit"; else rm -f "$expected.exit"; fi
  if ! stderr_matches; then
    if [[ -s $scratch/stderr ]]; then
      sed 's/[][*?\\]/\\&/g' "$scratch/stderr" > "$expected.stderr.glob"
    else
      rm -f "$expected.stderr.glob"
    fi
  fi
  exit 0
fi

failed=0
if ! diff -u --label expected/stdout --label actual/stdout "$want_stdout" "$scratch/stdout"; then failed=1; fi
if ! stderr_matches; then
  echo "stderr does not match ${expected##*/}.stderr.glob (empty when absent):"
  cat "$scratch/stderr"
  failed=1
fi
if [[ $code != "$want_code" ]]; then
  echo "exit code $code, expected $want_code"
  cat "$scratch/stderr"
  failed=1
fi
exit "$failed"
