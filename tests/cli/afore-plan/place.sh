#!/usr/bin/env bash
# Static maps: experts hot at the same time part, EPLB's answer to its own example, and what flags refuse.
set -uo pipefail
line() { printf '{"kind":"demand","step":%d,"layer":1,"microbatch":0,"phase":"decode","tokens":%d,"counts":%s}\n' "$@"; }
{
  echo '{"kind":"header","v":1,"model":{"experts":4,"top_k":1,"layers":2,"moe_layers":[1],"expert_bytes":1048576}}'
  for step in 0 1 2 3; do line $((2 * step)) 20 '[10,0,10,0]'; line $((2 * step + 1)) 20 '[0,10,0,10]'; done
} > hot.jsonl
afore-plan place --workers 2 hot.jsonl 2>&1
afore-plan place --workers 2 --policy eplb hot.jsonl 2>&1 | grep -v header
echo '{"weight":[[90,132,40,61,104,165,39,4,73,56,183,86],[20,107,104,64,19,197,187,157,172,86,16,27]]}' > weight.json
afore-trace import --from eplb weight.json --top-k 1 --layer-axis moe --moe-layers 0-1 -q --allow-drop > weight.jsonl
afore-plan place --workers 8 --redundant-experts 4 --policy eplb --eplb-groups 4 --eplb-nodes 2 -q --allow-drop weight.jsonl
for flags in "--workers 3 --redundant-experts 1" "--slots 1 --redundant-experts 4 --workers 2" "--eplb-nodes 2 --workers 2" ""; do
  afore-plan place $flags hot.jsonl 2>&1
  echo "= $?"
done
