#!/usr/bin/env bash
# Every format of a map: counts in, placed, exported, passed by a checker of its own, checked, and imported again as the
# same placement. Rows of two dense layers come and go.
set -euo pipefail
python=$(command -v /usr/bin/python3 || command -v python3) || { echo "no python3"; exit 77; }
"$python" -c 'import yaml' 2> /dev/null || { echo "no python3-yaml"; exit 77; }
shape=(--hidden-layers 6 --moe-layers 2-5 --experts 8)
cat > counts.json << 'END'
{"logical_count":[[0,0,0,0,0,0,0,0],[0,0,0,0,0,0,0,0],[22,7,1,9,3,2,2,4],[23,7,1,9,3,1,2,4],[2,7,31,9,3,0,2,4],[5,5,5,5,5,5,5,40]]}
END
afore-trace import --from sglang counts.json --top-k 1 --hidden-layers 6 --moe-layers 2-5 -q > demand.jsonl
afore-plan place --workers 4 --redundant-experts 4 -q demand.jsonl > placed.jsonl
maps() { jq -c 'select(.kind == "placement") | [.layer, .slots_per_worker, .physical_to_logical]' "$1"; }
rows() { jq -r 'select(.kind == "placement") | "\(.layer): \(.physical_to_logical | map(tostring) | join(" "))"' placed.jsonl; }
try() {  # try FORMAT FILE CHECK-FOR IMPORT-FLAG...
  local format=$1 file=$2 engine=$3
  shift 3
  afore-plan export --to "$format" -q -o "$file" placed.jsonl
  "$python" "$AFORE_SOURCE_DIR/tests/reference/check_map.py" "$format" "$file" --ranks 4 --experts 8 --hidden-layers 6 \
    --moe-layers 2,3,4,5 > seen.txt
  cmp <(tail -n +2 seen.txt) <(rows)
  afore-plan check "$file" --for "$engine" --workers 4 "${shape[@]}" --expert-bytes 1048576
  afore-trace import "$@" "$file" -q > again.jsonl
  cmp <(maps placed.jsonl) <(maps again.jsonl)
  echo "= $format: the same placement"
}
try sglang s.json sglang --from sglang "${shape[@]}" --workers 4
try vllm v.json vllm --from vllm-map "${shape[@]}" --workers 4
try trtllm t.yaml trtllm --from trtllm "${shape[@]}" --workers 4
try ascend a.json ascend --from ascend "${shape[@]}"
try eplb e.json eplb --from eplb "${shape[@]}" --workers 4 --layer-axis moe
try eplb-npy e.npy eplb --from eplb "${shape[@]}" --workers 4 --layer-axis moe
afore-plan export --to vllm --map-version 2 --model-class Glm4MoeForCausalLM -q placed.jsonl > v2.json
"$python" "$AFORE_SOURCE_DIR/tests/reference/check_map.py" vllm v2.json --ranks 4 --experts 8 --hidden-layers 6 \
  --moe-layers 2,3,4,5 | head -n 1
afore-trace import --from vllm-map "${shape[@]}" --workers 4 --model-class Glm4MoeForCausalLM v2.json -q | maps /dev/stdin |
  cmp - <(maps placed.jsonl) && echo "= vllm version 2: the same placement"
