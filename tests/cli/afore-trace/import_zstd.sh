#!/usr/bin/env bash
# The bundled routing: the same bytes twice, others with another seed, conserved counts, sizes from the model's name.
set -euo pipefail
cd "$AFORE_SOURCE_DIR/data/tiny-routing"
run() { afore-trace import --from routing-ids math.ids.u8.zst --meta math.index.json --concurrent 50 --microbatches 2 "$@"; }
run --steps 20 | sed -n 1p
run --steps 20 | awk -v top_k=4 -v tokens_per_target=25 -f "$AFORE_SOURCE_DIR/tests/data/conserved.awk"
cmp <(run --steps 20) <(run --steps 20) && echo same
cmp -s <(run --steps 20) <(run --steps 20 --seed 1) || echo differs
