#!/usr/bin/env bash
# stand_in.sh GPU_CHECK_SHIM: every section runs on the stand-in, every check passes, and no figure says it was measured.
set -euo pipefail
program=$(realpath "$1")
command -v jq > /dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

"$program" --json > all.json 2> log || { jq -c '.checks[] | select(.passed | not)' all.json && cat log && exit 1; }
holds() { jq -e "$2" "$1" > /dev/null || { echo "$1: not so: $2" && exit 1; }; }
holds all.json '.stand_in and .passed and (.checks | length) > 150 and all(.checks[]; .passed)'
holds all.json '[.checks[].section] | unique == ["attention", "ffn", "gate", "invariance", "rows", "sample", "vectors"]'
holds all.json '[.figures[].section] | unique == ["attention", "ceilings", "grouped", "overheads"]'
holds all.json 'all(.figures[]; .value == null and .p95 == null and (.met | not) and .n > 0)'
holds all.json '[.figures[].goal] | any(. == ">= 0.8")'
holds all.json '[.skipped[].why] == ["built without cuBLAS"]'
"$program" --json --only gate > gate.json 2> log
holds gate.json '[.checks[].section] | unique == ["gate"]'
"$program" --only grouped > table 2> log # without the ceilings there is nothing to hold it against
grep -q '^not run *grouped: no read rate was measured' table
code=0 && "$program" --only nothing > out 2> log || code=$?
[[ $code == 2 && ! -s out ]]
