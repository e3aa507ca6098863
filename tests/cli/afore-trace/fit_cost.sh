#!/usr/bin/env bash
# A table made from c0 = 21 us, c1 = 7.6 us a tile of 128, c2 = 9 us an expert, and links of 12 us and 300 GB/s: the
# fit finds them, and the cost file is one that planning takes.
set -euo pipefail
awk 'BEGIN {
  print "device,op_name,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,moe_tp_size,moe_ep_size,distribution,latency"
  split("4 8 16 32 64 128 256", workers); split("1 8 100 129 300 700", each)
  for (w = 1; w <= 7; ++w) for (e = 1; e <= 6; ++e) {
    local = 256 / workers[w]
    us = 21 + 7.6 * local * int((each[e] + 127) / 128) + 9 * local
    printf "NVIDIA H100,moe_generation,fp8_block,%d,7168,2048,8,256,1,%d,uniform,%.6f\n", each[e] * 32, workers[w], us / 1000
  }
}' > generation.csv
awk 'BEGIN {
  print "device,op_name,nccl_dtype,num_gpus,message_size,latency"
  for (size = 1024; size <= 2 ^ 28; size *= 4)
    printf "NVIDIA H100,alltoall,int8,8,%d,%.9f\n", size, (12 + size * 7 / 8 / 300e3) / 1000
}' > links.csv
afore-trace fit-cost generation.csv links.csv -o my.json > report.txt
sed -n '/^grouped products *tile/,/^$/p; /^links /,/^$/p; /my.json/p' report.txt
cat my.json
demand='{"kind":"demand","step":0,"layer":3,"microbatch":0,"phase":"decode","tokens":64,"counts":[300,20,30,162]}'
afore-plan --workers 2 --top-k 8 --model deepseek-v3 --tile-tokens 128 --cost my.json --window-us 1000 <<< "$demand" |
  sed -n 's/.*"cost":\({[^}]*}\).*/\1/p'
afore-plan --workers 2 --top-k 8 --model deepseek-v3 --cost my.json --window-us 1000 <<< "$demand" 2>&1 > /dev/null
afore-trace fit-cost generation.csv links.csv > again.txt
cmp <(sed '/my.json/d' report.txt | sed '$d') again.txt && echo 'the same report without -o'
# --force replaces files, and nothing that is not one.
afore-trace fit-cost generation.csv links.csv -o my.json --force > /dev/null
mkfifo pipe
ln -s my.json link
for name in pipe link; do
  afore-trace fit-cost generation.csv links.csv -o $name --force > /dev/null 2> err || echo "= $?: $(head -n 1 err)"
done
[[ -p pipe && -L link ]] && echo 'both are what they were'
