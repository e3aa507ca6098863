#!/usr/bin/env bash
# Before a reader that has seen enough, the filters end without a word.
STEPS=40 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
ended() { [[ $1 == 141 || $1 == 0 ]] || echo "$2: exit $1"; }
afore-plan --workers 4 stream | head -n 3 | wc -l
ended "${PIPESTATUS[0]}" plan
afore-serve replay --policy afore --workers 4 stream | head -n 3 | wc -l
ended "${PIPESTATUS[0]}" replay
afore-plan --workers 4 stream | afore-serve replay --timeline | head -n 3 | wc -l
ended "${PIPESTATUS[1]}" 'replay of plans'
exit 0
