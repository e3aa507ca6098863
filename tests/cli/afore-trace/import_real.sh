#!/usr/bin/env bash
# The recorded routing of two public models: every record conserves its tokens, at the size of a real deployment.
set -euo pipefail
[[ -n $AFORE_SHARED && -d $AFORE_SHARED/data/gptoss20b_routing ]] || { echo "no recorded routing here"; exit 77; }
cd "$AFORE_SHARED/data"
conserved() { awk "$@" -f "$AFORE_SOURCE_DIR/tests/data/conserved.awk"; }
gptoss=(--from routing-ids gptoss20b_routing/mmlu_test.ids.u8.zst --meta gptoss20b_routing/mmlu_test.index.json)
afore-trace import "${gptoss[@]}" --concurrent 3000 --microbatches 3 --steps 5 | sed -n 1p
afore-trace import "${gptoss[@]}" --concurrent 3000 --microbatches 3 --steps 5 |
  conserved -v top_k=4 -v tokens_per_target=1000
afore-trace import --from routing-ids law=esft_dsv2lite_routing/law.ids.u8.zst --meta esft_dsv2lite_routing/law.json \
  intent=esft_dsv2lite_routing/intent.ids.u8.zst --meta esft_dsv2lite_routing/intent.json --concurrent 64 \
  --microbatches 2 --phases law:3,intent:3,mixed:3 | conserved -v top_k=6 -v tokens_per_target=32
afore-trace import --from sglang-count sglang_dsv3/decode_in2000out100.json --model deepseek-v3 --quiet |
  conserved -v top_k=8 -v tokens_per_target=2970000
afore-trace import --from sglang-count sglang_dsv3/prefill_in1024.json --top-k 8 --sample-steps 2 --tokens 8192 \
  --microbatches 3 --quiet | conserved -v top_k=8 -v tokens_per_target=8192
