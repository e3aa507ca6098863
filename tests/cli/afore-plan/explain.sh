#!/usr/bin/env bash
# Why a target was planned as it was.
STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
run() { afore-plan --workers 4 --slots 1 --window-us 500 --copy-budget 2 --primaries contiguous "$@"; }
run --policy paper stream > planned
# The first plan with copies.
target=$(kind plan planned | jq -r 'select(.copies != []) | "\(.step):\(.layer):\(.microbatch)"' | head -n 1)
run --policy paper --explain "$target" stream
# Copies for later targets, and a levelled split.
run stream > planned
target=$(kind plan planned | jq -r 'select(.copies != []) | "\(.step):\(.layer):\(.microbatch)"' | head -n 1)
run --explain "$target" stream
afore-plan --workers 4 --slots 1 --objective tiles --policy static --explain 0:1:0 stream
for wrong in 1:2 a:1:0 0:1:0x -1:1:0 99:1:0 0:99:0; do
  afore-plan --workers 4 --explain=$wrong stream
  echo "$wrong = $?"
done 2>&1
