#!/usr/bin/env bash
# A flag that contradicts the header: exit 2, nothing on standard output.
STEPS=2 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
sed -i '1s/"microbatches":2/"ffn_workers":8,"redundant_slots":1,"tile_tokens":32,"attention_workers":2,"microbatches":2/' stream
try() {
  echo "$*"
  "$@" stream 2>&1
  echo "= $?"
}
for flag in --workers --slots --tile-tokens --attention-workers --microbatches --top-k; do
  try afore-plan $flag 9
  try afore-serve replay $flag 9
done
try afore-serve compare --workers 9
afore-plan --workers 8 --slots 1 --tile-tokens 32 --attention-workers 2 --microbatches 2 --top-k 4 stream > out
echo "= $? $(kind plan out | wc -l) plans"
