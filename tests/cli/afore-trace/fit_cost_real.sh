#!/usr/bin/env bash
# What the cost model promises on published tables: half of the held rows within 10 %, of each table of grouped products
# and of all; and on an H100 at EP 32 a load of power_law_1.2 is faster than an even one at 512 tokens and slower at
# 4,096, as was measured.
set -euo pipefail
[[ -n $AFORE_SHARED && -d $AFORE_SHARED/data/cost_h100 && -d $AFORE_SHARED/data/cost_a800 ]] ||
  { echo "no measured tables here"; exit 77; }
afore-trace fit-cost "$AFORE_SHARED"/data/cost_h100/*.csv "$AFORE_SHARED"/data/cost_a800/*.csv.zst \
  -o h100.json --ffn h100/generation/fp8_block/7168x2048 \
  --link h100/deepep/dispatch/hidden=7168,topk=8,experts=256 > report.txt
awk '/^held rows of/ { on = 1; next } on && $1 ~ /^(h100\/(generation|context)|a800\/fused)$/ { print $1, $3 + 0 <= 10 }
     on && /^all grouped products/ { print "all", $5 + 0 <= 10; exit }' report.txt
awk '$1 == 32 && ($2 == 512 || $2 == 4096) { print $2, $4, $5, ($6 < $7 ? "faster" : "slower") }' report.txt
afore-trace synth --model deepseek-v3 --steps 2 --microbatches 3 --tokens 2048 --layers 3-4 |
  afore-serve compare --workers 32 --slots 2 --tile-tokens 128 --policies static,afore --cost h100.json |
  sed -n 's/^cost \([^:]*\):.*/planned with \1/p'
