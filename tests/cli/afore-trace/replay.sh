#!/usr/bin/env bash
# Replay passes every byte on, and no step before its time.
set -euo pipefail
cd "$AFORE_SOURCE_DIR/data/tiny-routing"
run() { afore-trace import --from routing-ids math.ids.u8.zst --meta math.index.json --concurrent 8 --warmup-steps 0 --steps 5; }
cmp <(run) <(run | afore-trace replay --interval-ms 0) && echo "the same bytes"
start=$(date +%s%N)
run | afore-trace replay --interval-ms 200 --speed 2 > /dev/null
elapsed_ms=$((($(date +%s%N) - start) / 1000000))
((elapsed_ms >= 400)) && echo "the fifth step waited"
run | afore-trace replay --speed 0 2>&1 || echo "= $?"
