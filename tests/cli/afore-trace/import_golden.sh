#!/usr/bin/env bash
# Every record of a small import, decode and prefill.
set -euo pipefail
source "$AFORE_SOURCE_DIR/tests/data/make_routing.sh"
afore-trace import --from routing-ids small.ids.u8 --meta small.json --concurrent 3 --microbatches 2 \
  --warmup-steps 1 --steps 3 --seed 5
afore-trace import --from routing-ids a=small.ids.u8 --meta small.json --prefill-chunk 2 --layers 1
