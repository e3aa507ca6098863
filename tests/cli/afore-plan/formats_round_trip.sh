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
  --moe-layers 2,3,4,5 > seen.txt
cmp <(tail -n +2 seen.txt) <(rows)
afore-trace import --from vllm-map "${shape[@]}" --workers 4 --model-class Glm4MoeForCausalLM v2.json -q | maps /dev/stdin |
  cmp - <(maps placed.jsonl) && echo "= vllm version 2: the same placement"
# The same counts in every format that has counts give the same placement.
rows_of() { jq -c '[.logical_count[] | select(add > 0)]' counts.json; }
{
  echo layer_id,expert_id,count
  jq -r '.logical_count | to_entries[] | .key as $layer | .value | to_entries[] | "\($layer),\(.key),\(.value)"' counts.json
} > counts.csv
echo "{\"weight\":$(rows_of)}" > weight.json
# Physical slots: expert e of 8 in slots e and 8 + e, half of its tokens in each.
rows_of | jq -c '[.[] | [.[] / 2 | floor] + [.[] | . - (. / 2 | floor)]]' > window.json
jq -nc '[range(4) | [range(8), range(8)]]' > in_force.json
"$python" - << 'END'
import json, os, pickle, struct, zipfile
rows = json.load(open("counts.json"))["logical_count"]
with zipfile.ZipFile("counts.pt", "w", zipfile.ZIP_STORED) as archive:  # as torch.save packs a dict of lists
    archive.writestr("archive/data.pkl", pickle.dumps({"rank": 0, "logical_count": [rows]}, protocol=2))
os.makedirs("stats")
names = {f"100_{layer}": row for layer, row in enumerate(rows) if sum(row)}
for rank in (0, 1):  # half of each count on either rank
    data = b"".join(struct.pack("<8q", *(count // 2 if rank else count - count // 2 for count in row)) for row in names.values())
    header = {name: {"dtype": "I64", "shape": [8], "data_offsets": [64 * i, 64 * i + 64]} for i, name in enumerate(names)}
    text = json.dumps(header).encode()
    open(f"stats/rank{rank}.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + data)
json.dump({"num_experts": 8, "num_experts_per_token": 1}, open("stats/meta_info.json", "w"))
END
same() {
  afore-trace import "$@" -q | afore-plan place --workers 4 --redundant-experts 4 -q | maps /dev/stdin | cmp - <(maps placed.jsonl) &&
    echo "= $2: the same placement from its counts"
}
same --from sglang-csv counts.csv --top-k 1 "${shape[@]}"
same --from eplb weight.json --top-k 1 --layer-axis moe "${shape[@]}"
same --from vllm window.json --map in_force.json --top-k 1 "${shape[@]}"
same --from sglang counts.pt --top-k 1 "${shape[@]}"
same --from trtllm stats "${shape[@]}"
