#!/usr/bin/env bash
# Traces of requests as streams: Azure's CSV as published (CR LF, no end of the last line) and Mooncake's JSON lines.
set -euo pipefail
tiny=$AFORE_SOURCE_DIR/data/tiny-routing
routing=(--routing math="$tiny/math.ids.u8.zst" --meta "$tiny/math.index.json" --model gpt-oss-20b)
printf '%s\r\n' TIMESTAMP,ContextTokens,GeneratedTokens '2023-11-16 18:17:03.9799600,4808,10' \
  '2023-11-16 18:17:04.0319600,3180,8' '2023-11-16 18:17:05.5,110,27' > azure.csv
printf '2023-11-16 18:17:05.5,7433,14' >> azure.csv
echo '# azure-csv'
afore-trace import --from azure-csv azure.csv "${routing[@]}" --microbatches 3 --seed 1 > stream
jq -c 'if .kind == "header" then {source, seed, cluster, workload, layers: .model.moe_layers} else
  if .kind == "sequence" then .experts |= length else . end end' stream
echo '# a sequence holds the rows of its recorded request'
source "$AFORE_SOURCE_DIR/tests/data/make_routing.sh"
for layers in 0-1 1; do
  afore-trace import --from azure-csv azure.csv --routing small.ids.u8 --meta small.json --model gpt-oss-20b \
    --layers $layers --seed 3 | jq -r 'select(.kind == "sequence") | .id + " " + .experts' | while read -r id experts; do
    echo "$id: $(base64 -d <<< "$experts" | od -An -tu1 | tr -s ' \n' ' ')"
  done
done
echo '# mooncake, a part of it, twice as dense'
for at in 27000 30000 30001 33000 36000; do
  echo "{\"timestamp\": $at, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}"
done > mooncake.jsonl
afore-trace import --from mooncake mooncake.jsonl "${routing[@]}" --rate-scale 2 --start-s 1 --window-s 8 --requests 2 \
  --layers 1,3 | jq -c 'select(.kind == "request") // .workload // [.id, (.experts | length)]'
echo '# another seed draws other sequences at the same times'
for seed in 1 2; do
  afore-trace import --from azure-csv azure.csv "${routing[@]}" --seed $seed | jq -r 'select(.kind == "request") | .sequence' |
    paste -sd ' '
done
echo '# an empty trace is a stream without requests'
: > none.jsonl
afore-trace import --from mooncake none.jsonl "${routing[@]}" | jq -c '[.kind, .workload.requests]'
