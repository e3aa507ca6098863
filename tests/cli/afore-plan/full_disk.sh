#!/usr/bin/env bash
# A full output is exit 4 and one line, whether it is seen early or at the end.
[[ -c /dev/full ]] || { echo "no /dev/full"; exit 77; }
STEPS=20 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
try() {
  "$@" > /dev/full 2> err
  echo "${*:1:2} = $?, $(wc -l < err) line"
  cat err >&2
}
head -n 12 stream > short
for file in stream short; do
  try afore-plan --workers 4 $file
  try afore-serve replay --policy static --workers 4 $file
  try afore-serve compare --workers 4 $file
done
afore-plan --workers 4 stream > planned
try afore-plan verify planned
