#!/usr/bin/env bash
# Tables that must not be fitted, and command lines that make no sense.
set -uo pipefail
head=device,op_name,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency
row() { echo "$1,moe_generation,fp8_block,$2,7168,2048,8,256,1,32,uniform,$3"; }
table() { # table FILE DEVICE TIME...: one row for 32, 64, 128 ... tokens
  local file=$1 device=$2 tokens=32
  shift 2
  echo "$head" > "$file"
  for time in "$@"; do row "$device" "$tokens" "$time" >> "$file"; ((tokens *= 2)); done
}
try() {
  echo "# $*"
  afore-trace fit-cost "$@" 2>&1
  echo "exit $?"
}
table good.csv 'NVIDIA H100' 0.15 0.151 0.152 0.153 0.154 0.155 0.156 0.157 0.158 0.159 0.160 0.161
sed -n '1,$p' good.csv > twice.csv && row 'NVIDIA H100' 64 0.2 >> twice.csv
cp good.csv a100_moe.csv
sed 's/NVIDIA H100/NVIDIA A100/' good.csv > a100_copy.csv
table zero.csv 'NVIDIA H100' 0.15 0
table nan.csv 'NVIDIA H100' 0.15 NaN
table falling.csv 'NVIDIA H100' 0.15 0.12 0.152 0.153 0.154 0.155 0.156 0.157 0.158 0.159 0.160 0.161
table few.csv 'NVIDIA H100' 0.15 0.16
try twice.csv
try a100_moe.csv
try good.csv --device a100
try good.csv a100_copy.csv
try zero.csv
try nan.csv
printf 'a,b\n1,2\n' > other.csv
try other.csv
try good.csv --device h1
try good.csv --ffn x
try good.csv -o x.json --ffn x
try few.csv -o x.json
try missing.csv
try falling.csv | sed -n '/times that fall/,$p'
try few.csv | sed -n '/too few/p'
[[ ! -e x.json ]] && echo 'no file was written'
