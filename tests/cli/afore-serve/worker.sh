#!/usr/bin/env bash
# The simulator executes what --worker says: a slow worker slows static down, and afore less.
STEPS=12 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
throughput() {
  afore-serve replay --ignore-plans --workers 4 --slots 2 --tile-tokens 16 "$@" stream | grep '"kind":"summary"' |
    sed -E 's/.*"output_throughput":([0-9]+).*/\1/'
}
alike=$(throughput --policy static)
slow=$(throughput --policy static --worker 1:slow=4)
helped=$(throughput --policy afore --worker 1:slow=4)
echo "$((slow < alike)) $((helped > slow))"
afore-serve compare --workers 4 --slots 2 --tile-tokens 16 --policies static,afore --worker 1:slow=2,drain stream |
  sed -n 2,3p
# Embedded plans run on the workers that their header describes.
afore-plan --workers 4 --slots 2 --tile-tokens 16 --policy static --worker 1:slow=4 stream > planned
afore-serve replay --timeline planned > run 2> said
afore-plan verify run
