#!/usr/bin/env bash
# Copies on the links of the hidden states cost time, small chunks less than whole experts; ITL is told apart.
set -euo pipefail
STEPS=20 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
of() {
  afore-serve replay --policy eplb --eplb-interval 2 --eplb-step-bytes 1GiB --workers 4 --slots 2 --tile-tokens 16 \
    --only summary "$@" stream
}
of > own
of --links shared --copy-chunk 64K > small
of --links shared --copy-chunk 1G > whole
of --links shared --copy-chunk 64K | cmp - small
jq -s 'map(.output_throughput) | [.[0] >= .[1], .[1] >= .[2], .[0] > .[2]]' -c own small whole
jq -c '.afore | [.migrating_share > 0, .migrating_share < 1, .itl_during_migration_n > 0]' whole
jq -c '.afore.itl_during_migration_n + .afore.itl_outside_migration_n == .afore.itl_n' own small whole
for chunk in 0 -1 1X; do
  afore-serve replay --policy static --workers 4 --links shared --copy-chunk $chunk stream > /dev/null || echo "= $?"
done
