#!/usr/bin/env bash
# The table of policies side by side, and the same as records.
set -euo pipefail
STEPS=30 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
flags=(--workers 4 --slots 2 --tile-tokens 16 --eplb-interval 5)
afore-serve compare "${flags[@]}" --summaries kept stream
afore-serve compare "${flags[@]}" --policies afore,static --objective tiles stream
afore-serve compare "${flags[@]}" --format json stream | cmp - kept
jq -c '[.producer, .afore.policy, .afore.targets, .afore.gain_captured == null, .output_throughput > 0]' kept
# A policy does not see its neighbours: alone it does what replay does.
afore-serve replay "${flags[@]}" --policy afore stream | tail -n 1 | jq -Sc 'del(.afore.objective)' > alone
jq -Sc 'select(.afore.policy == "afore") | del(.afore.objective)' kept | cmp - alone
