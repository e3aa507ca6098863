#!/usr/bin/env bash
# Synthetic demand: exact bytes, and layers and microbatches that do not depend on which others are made.
set -euo pipefail
synth() { afore-trace synth --model mixtral-8x7b --tokens 32 "$@"; }
synth --layers 0-1 --microbatches 2 --steps 2 --warmup-steps 1 --seed 3 --burst 0.5 --switch 1
synth --layers 3 --steps 3 --popularity zipf --skew 1.5 --drift 0 | tail -n 3
demand() { grep '"kind":"demand"' | grep '"layer":3,"microbatch":0'; }
cmp <(synth --steps 20 | demand) <(synth --steps 20 --layers 3 --microbatches 3 | demand) && echo "layer 3 is layer 3"
afore-trace synth --model deepseek-v3 --tokens 65536 --microbatches 3 --steps 2 |
  awk -v top_k=8 -v tokens_per_target=65536 -f "$AFORE_SOURCE_DIR/tests/data/conserved.awk"
