#!/usr/bin/env bash
# A planned stream passes; the same stream with one number changed is refused with the place and both numbers.
set -euo pipefail
command -v afore-plan > /dev/null || { echo "afore-plan is not built"; exit 77; }
printf '%s\n' \
  '{"kind":"header","v":1,"producer":"test","via":[],"seed":0,"source":"synthetic","model":{"name":"two","experts":2,"top_k":1,"hidden":8,"moe_intermediate":8,"expert_bytes":384},"cluster":{"ffn_workers":2,"redundant_slots":1,"tile_tokens":64,"microbatches":1}}' \
  '{"kind":"demand","step":0,"layer":0,"microbatch":0,"phase":"decode","tokens":512,"counts":[448,64]}' |
  afore-plan --policy afore --objective tiles --window-us 1000 > planned
afore-plan verify planned
afore-plan verify < planned
sed 's/"max_tile_load":4/"max_tile_load":5/' planned | afore-plan verify
