#!/usr/bin/env bash
# A stream begins with its header: nothing at all is a command that failed at the other end of the pipe, not a stream.
afore-trace record -o empty.afl < /dev/null 2>&1
echo "= $?"
for input in /dev/null empty.afl; do
  for command in "afore-trace stat" "afore-trace head" "afore-trace replay" "afore-trace plot heatmap" "afore-trace compare $input" \
    "afore-plan --workers 4" "afore-plan verify" "afore-plan advise --workers 4" "afore-plan place --workers 4" \
    "afore-plan export --to eplb" "afore-serve replay --workers 4" "afore-serve replay --workers 4 --policy static" \
    "afore-serve compare --workers 4" "afore-serve calibrate"; do
    # shellcheck disable=SC2086  # commands are words
    said=$($command $input 2>&1)
    [[ $? == 3 && $said == *": error: $input: there is no record in it"*": hint: "* ]] || echo "$command $input: $said"
  done
done
# From a pipe, too; with pipefail whoever failed first has said why.
set -o pipefail
afore-trace synth --model nosuch --steps 1 --tokens 8 2> why | afore-plan --workers 4
echo "= $?, $(grep -c 'no preset' why)"
# What can do without a stream does.
afore-plan ratio --workers 4 --model gpt-oss-20b < /dev/null | head -n 1
exit 0
