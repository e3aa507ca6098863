#!/usr/bin/env bash
# Routed tokens of other systems: logs by pass, with the engine's dummy passes told apart, and responses by request.
set -uo pipefail
import() {
  echo "> $*"
  afore-trace import "$@" 2>&1
  echo "= ${PIPESTATUS[0]}"
}
python=$(command -v python3) || { echo "no python3"; exit 77; }
{
  echo '{"type":"meta","model_id":"m","layers_logged":[2],"top_k":2,"seed":1}'
  for token in 0 1 2 3 4 5 6 7; do
    printf '{"type":"route","req_id":"r1","token_idx":%d,"layer":2,"topk_ids":[3,1],"topk_weights":[0.6,0.4]}\n' $token
  done
  for token in 0 1; do printf '{"type":"route","token_idx":%d,"layer":2,"topk_ids":[%d,3]}\n' $token $token; done
  printf '{"type":"route","token_idx":0,"layer":2,"topk_ids":[2,0]}\n'
} > routes.jsonl
import --from route-log routes.jsonl
import --from route-log routes.jsonl --experts 4
import --from route-log routes.jsonl --experts 4 --sum
head -n 9 routes.jsonl > dummy.jsonl
import --from route-log dummy.jsonl --experts 4
import --from route-log routes.jsonl --experts 3
sed '4d' routes.jsonl > hole.jsonl
import --from route-log hole.jsonl --experts 4
# Two responses, 3 and 2 tokens, hidden layers 0 (dense) to 2, top 2: flat int32 as SGLang returns it, and vLLM's npy.
"$python" - << 'END'
import base64, json, struct
def flat(tokens):
    ids = [id_ for t in range(tokens) for layer in range(3) for id_ in ((-1, -1) if layer == 0 else ((t + layer) % 4, (t + layer + 1) % 4))]
    return base64.b64encode(struct.pack(f"<{len(ids)}i", *ids)).decode()
with open("responses.jsonl", "w") as file:
    for name, tokens in (("a", 3), ("b", 2)):
        file.write(json.dumps({"text": "x", "meta_info": {"id": name, "prompt_tokens": 1, "routed_experts": flat(tokens)}}) + "\n")
def npy(tokens):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({tokens}, 2, 2), }}"
    header += " " * (117 - len(header)) + "\n"
    ids = [id_ for t in range(tokens) for layer in (1, 2) for id_ in ((t + layer) % 4, (t + layer + 1) % 4)]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.encode() + struct.pack(f"<{len(ids)}i", *ids)
with open("vllm.jsonl", "w") as file:
    for name, tokens in (("a", 3), ("b", 2)):
        file.write(json.dumps({"id": name, "choices": [{"routed_experts": base64.b64encode(npy(tokens)).decode()}], "usage": {"prompt_tokens": 1}}) + "\n")
END
shape=(--experts 4 --hidden-layers 3 --moe-layers 1-2)
batch=(--concurrent 2 --steps 3 --warmup-steps 0 --microbatches 2)
import --from routed-experts responses.jsonl --experts 4 --concurrent 2
import --from routed-experts responses.jsonl "${shape[@]}" --top-k 2 "${batch[@]}"
import --from routed-experts vllm.jsonl "${shape[@]}" "${batch[@]}" | grep '"kind":"demand"' > vllm.txt
import --from routed-experts responses.jsonl "${shape[@]}" --top-k 2 "${batch[@]}" | grep '"kind":"demand"' | cmp - vllm.txt &&
  echo "both forms, the same demand"
import --from routed-experts responses.jsonl "${shape[@]}" --top-k 3 --concurrent 2
echo '{"text":"x"}' > none.jsonl
import --from routed-experts none.jsonl "${shape[@]}" --top-k 2 --concurrent 2
