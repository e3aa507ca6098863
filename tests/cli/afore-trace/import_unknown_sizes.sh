#!/usr/bin/env bash
# A model nobody knows the sizes of: one warning that names the presets with as many experts.
set -euo pipefail
echo '{"logical_count":[[2,2,2,2,2,2,2,4]]}' > eight.json
afore-trace import --from sglang-count eight.json --top-k 2 > bare
jq -c '.logical_count |= [.[0] as $row | range(32) | $row]' eight.json > all.json
afore-trace import --from sglang-count all.json --model mixtral-8x7b > known
afore-trace import -q --from sglang-count eight.json --top-k 2 > quiet
cmp bare quiet
