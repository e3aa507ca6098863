#!/usr/bin/env bash
# The map at a stream's end: placement records, then the copies of plans; what is not full or not whole is not written.
set -uo pipefail
run() {
  afore-plan export "$@" 2>&1
  echo "= $?"
}
cat > s.jsonl << 'END'
{"kind":"header","v":1,"model":{"experts":4,"top_k":1,"layers":2,"moe_layers":[1]},"cluster":{"ffn_workers":2,"redundant_slots":1}}
{"kind":"placement","layer":1,"slots_per_worker":3,"physical_to_logical":[0,1,-1,2,3,-1]}
{"kind":"demand","step":0,"layer":1,"microbatch":0,"phase":"decode","tokens":200,"counts":[194,2,2,2]}
END
run --to eplb s.jsonl
run --to eplb --fill s.jsonl
afore-plan --tile-tokens 8 --policy afore --model afore-tiny --gain-rule off s.jsonl 2> /dev/null > /dev/null
cat > planned.jsonl << 'END'
{"kind":"header","v":1,"model":{"experts":4,"top_k":1,"layers":2,"moe_layers":[1]},"cluster":{"ffn_workers":2,"redundant_slots":1}}
{"kind":"placement","layer":1,"slots_per_worker":3,"physical_to_logical":[0,1,-1,2,3,-1]}
{"kind":"plan","seq":0,"step":0,"layer":1,"microbatch":0,"policy":"afore","demand_source":"prefetch","objective":"time","copies":[{"expert":0,"from":0,"to":1,"slot":2},{"expert":3,"from":1,"to":0,"slot":2}],"assignment":[[0,0,1]],"tile_load":[1,0],"max_tile_load_before":1,"max_tile_load":1,"lower_bound":1,"ffn_ns_before":1,"ffn_ns":1,"ffn_bound_ns":1,"certified":false,"gain_ns":0,"migration_ns":0,"window_ns":0,"window_source":"flag","exposed_ns":0}
END
run --to sglang planned.jsonl
run --to ascend planned.jsonl
run --to trtllm --layer-updates-per-iter 2 planned.jsonl
sed 's/"layers":2,//' planned.jsonl > unsaid.jsonl
run --to sglang unsaid.jsonl
run --to sglang --hidden-layers 3 unsaid.jsonl
sed 's/\[0,1,-1,2,3,-1\]/[0,1,0,2,3,3]/' s.jsonl > twice.jsonl
run --to ascend twice.jsonl
run --to eplb twice.jsonl
sed 's/"moe_layers":\[1\]/"moe_layers":[0,1]/' planned.jsonl | run --to vllm
sed 's/"slot":2/"slot":3/' planned.jsonl > beyond.jsonl
run --to vllm beyond.jsonl
run --to vllm -o out.json planned.jsonl
run --to vllm -o out.json planned.jsonl
run --to vllm --force -o out.json -q planned.jsonl
cat out.json
echo '{"kind":"header","v":1}' | run --to vllm
run --to eplb --experts 9 planned.jsonl
run --to ascend --moe-layers 0 planned.jsonl
