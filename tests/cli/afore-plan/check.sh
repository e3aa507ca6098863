#!/usr/bin/env bash
# What check names in maps that are wrong: everything at once, with its place, and exit 1; exit 3 for what is no map.
check() {
  afore-plan check "$@" 2>&1
  echo "= $?"
}
model=(--experts 4 --hidden-layers 3 --moe-layers 1-2)
echo '{"physical_to_logical_map":[[0,1,2,3,0,1],[0,1,2,3,4,0],[0,0,2,3,0,-1]],"model":"x"}' > s.json
check s.json --for sglang --workers 2 "${model[@]}" --expert-bytes 3145728
echo '{"physical_to_logical_map":[[0,1,2,3,0,1],[0,1,2,3,2]]}' > ragged.json
check ragged.json --for sglang --workers 4 "${model[@]}"
echo '{"physical_to_logical_map":[[0,1,2,3,0,1],[0,1,2,3,2,3],[3,2,1,0,1,0]]}' > good.json
check good.json --for sglang --workers 2 "${model[@]}" --expert-bytes 3145728
check good.json --for sglang
check good.json --for sglang --json --workers 2 --expert-bytes 1024
echo '{"logical_count":[[0,0,0,0],[4,2,2,8],[1,1,1,1]]}' > counts.json
check counts.json --for sglang "${model[@]}"
echo '{"version":1,"format":"vllm_offline_eplb_physical_to_logical","model_name":"m","model_class":"M","num_moe_layers":3,
"num_logical_experts":4,"num_physical_experts":6,"num_redundant_experts":1,"physical_to_logical_map":[[0,1,2,3,0,1],[0,1,2,3,2,3],[0,1,2,3,2,3]],"note":""}' > v.json
check v.json --for vllm --workers 2 "${model[@]}"
printf 'num_slots: 6\nlayer_updates_per_iter: 0\nslots: 3\ninitial_global_assignments:\n  0: [0,1,2,3,0,1]\n  1: [0,1,2,3,0]\n' > t.yaml
check t.yaml --for trtllm --workers 2 "${model[@]}"
echo '{"moe_layer_count":1,"layer_list":[{"layer_id":1,"device_count":2,"device_list":[{"device_id":0,"device_expert":[0,1,1]},{"device_id":1,"device_expert":[2,3]}]}]}' > a.json
check a.json --for ascend "${model[@]}"
echo '{"phy2log":[[0,1,2,3,0,1]],"logcnt":[[1,2,1,1]],"log2phy":[[[0,4],[1,5],[2,-1],[5,-1]]]}' > e.json
check e.json --for eplb --workers 3
echo '{"expert":[]}' > none.json
check none.json --for sglang
check none.json --for vllm
check missing.json --for eplb
printf 'num_slots: &a 6\ninitial_global_assignments: {1: *a}\n' > anchor.yaml
check anchor.yaml --for trtllm
