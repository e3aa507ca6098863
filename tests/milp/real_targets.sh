#!/usr/bin/env bash
# milp_real on recorded routing: a few targets of data/tiny-routing; with AFORE_MILP_TARGETS that many per cell of
# gpt-oss-20b's in AFORE_SHARED.
# Usage: real_targets.sh BIN SOURCE_DIR
set -euo pipefail
bin=$1 root=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ids=$root/data/tiny-routing/math.ids.u8.zst index=$root/data/tiny-routing/math.index.json targets=2
if [[ -n ${AFORE_MILP_TARGETS:-} ]]; then
  recorded=${AFORE_SHARED:-$root/../shared}/data/gptoss20b_routing
  ids=$recorded/mmlu_test.ids.u8.zst index=$recorded/mmlu_test.index.json targets=$AFORE_MILP_TARGETS
  [[ -e $ids ]] || { printf 'real_targets.sh: %s is absent (set AFORE_SHARED)\n' "$ids" >&2 && exit 77; }
fi
"$bin/afore-trace" import --from routing-ids "$ids" --meta "$index" --concurrent 3000 --microbatches 3 \
  --warmup-steps 8 --steps 20 > "$scratch/stream.jsonl"
"$bin/milp_real" "$scratch/stream.jsonl" "$targets"
