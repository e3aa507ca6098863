#!/usr/bin/env bash
# Files of other systems as steps, sums, maps and requests; what they leave open is asked for.
set -uo pipefail
data=$AFORE_SOURCE_DIR/tests/wire/data/foreign
import() {
  echo "> ${*//"$data/"/}"
  afore-trace import "$@" 2>&1 | sed "s#$data/##g"
  echo "= ${PIPESTATUS[0]}"
}
# SGLang: a recorder's dump of two ranks, passes as microbatches, and one of routed tokens.
import --from sglang "$data/sglang_stat.pt" --top-k 2
import --from sglang "$data/sglang_per_pass_0.pt" "$data/sglang_per_pass_1.pt" --top-k 2
import --from sglang "$data/sglang_per_pass_0.pt" "$data/sglang_per_pass_1.pt" --top-k 2 --allow-drop --sum
import --from sglang "$data/sglang_per_pass_0.pt" --top-k 1 --allow-drop --microbatches 2
import --from sglang "$data/sglang_per_pass_0.pt" "$data/sglang_per_pass_0.pt" --top-k 2
import --from sglang "$data/sglang_per_token_0.pt" "$data/sglang_per_token_1.pt" --top-k 3 --allow-drop
import --from sglang "$data/sglang_per_token_0.pt" --top-k 2
import --from sglang "$data/sglang_map.pt"
import --from sglang "$data/sglang_map.pt" --moe-layers 1-2
# Ranks' CSV files are summed.
printf 'layer_id,expert_id,count\n0,0,0\n0,1,0\n1,0,3\n1,1,1\n' > rank0.csv
printf 'layer_id,expert_id,count\n1,0,1\n1,1,3\n' > rank1.csv
import --from sglang-csv rank0.csv rank1.csv --top-k 1
import --from sglang-csv rank1.csv --top-k 1
import --from sglang-csv rank1.csv --top-k 1 --experts 2
# vLLM: physical loads need the map that was in force.
echo '[[[3,1,2,1],[1,1,1,1]],[[0,0,0,0],[0,0,0,0]],[[1,0,1,0],[0,2,0,0]]]' > window.json
echo '{"physical_to_logical_map":[[0,1,2,0],[2,1,0,0]]}' > map.json
import --from vllm window.json --top-k 1 --moe-layers 3-4
import --from vllm window.json --map map.json --top-k 1
import --from vllm window.json --map map.json --top-k 1 --moe-layers 3-4 --phase decode
import --from vllm window.json --map map.json --top-k 1 --moe-layers 3-4 --microbatches 3
echo '[[0,1,2,0],[2,1,0]]' > ragged.json
import --from vllm window.json --map ragged.json --top-k 1 --moe-layers 3-4
# TensorRT-LLM: a folder of statistics.
mkdir stats
cp "$data/trtllm_meta_info.json" stats/meta_info.json
cp "$data"/trtllm_rank0.safetensors stats/rank0.safetensors
cp "$data"/trtllm_rank1.safetensors stats/rank1.safetensors
import --from trtllm stats | cut -c1-200
import --from trtllm "$data/trtllm_flow.yaml"
import --from trtllm "$data/trtllm_flow.yaml" --workers 2
# EPLB's weights say nothing of layers.
echo '{"weight":[[4,2,2],[1,2,1]]}' > weight.json
import --from eplb weight.json --top-k 1
import --from eplb weight.json --top-k 1 --layer-axis hidden
import --from sglang map.json --layer-axis moe
# Layers without counts: nothing to draw from. Flags without a use are refused.
echo '{"logical_count":[[4,4,4,4],[0,0,0,0],[4,4,4,4]]}' > gap.json
import --from sglang gap.json --moe-layers 0-2 --hidden-layers 3 --top-k 2 --sample-steps 1 --tokens 4
import --from trtllm "$data/trtllm_flow.yaml" --workers 2 --iterations 1-2
import --from sglang "$data/sglang_map.pt" --moe-layers 1-2 --workers 2 --map map.json
