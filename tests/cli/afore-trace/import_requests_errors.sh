#!/usr/bin/env bash
# What an import of requests refuses, each with one line.
tiny=$AFORE_SOURCE_DIR/data/tiny-routing
routing=(--routing "$tiny/math.ids.u8.zst" --meta "$tiny/math.index.json" --model gpt-oss-20b)
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,5,6\n' > good.csv
try() {
  afore-trace import "$@" > out
  echo "= $?, $(wc -l < out) lines"
}
{
  try --from azure-csv good.csv
  try --from azure-csv good.csv --routing "$tiny/math.ids.u8.zst"
  try --from azure-csv good.csv good.csv "${routing[@]}"
  try --from azure-csv good.csv "${routing[@]}" --concurrent 5
  try --from azure-csv good.csv "${routing[@]}" --rate-scale 0
  try --from routing-ids "$tiny/math.ids.u8.zst" --meta "$tiny/math.index.json" --concurrent 5 --requests 7
  try --from mooncake good.csv "${routing[@]}"
  try --from azure-csv /dev/null "${routing[@]}"
  printf 'TIMESTAMP,ContextTokens\n2023-11-16 18:17:03,5\n' > bad.csv
  try --from azure-csv bad.csv "${routing[@]}"
  printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,5,0\n' > bad.csv
  try --from azure-csv bad.csv "${routing[@]}"
  printf '{"timestamp":5,"input_length":1,"output_length":1}\n{"timestamp":4,"input_length":1,"output_length":1}\n' > bad
  try --from mooncake bad "${routing[@]}"
  printf '{"timestamp":5,"input_length":1,"output_length":1}' > bad
  try --from mooncake bad "${routing[@]}"
  printf '{"timestamp":0,"input_length":1,"output_length":1}\n{"timestamp":4000000000000,"input_length":1,"output_length":1}\n' > bad
  try --from mooncake bad "${routing[@]}"
} 2>&1
