#!/usr/bin/env bash
# --cost NAME*FACTOR: the same machine so many times as slow, known by that name further down the pipe.
set -euo pipefail
STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
plan() { afore-plan --policy afore --workers 4 --cost "$1" stream; }
cost() { head -n 1 "$1" | jq -c '.planner.cost | [.name, .c0_ns, .c1_ns, .c2_ns, .copy_ns]'; }
plan h100 > fast
plan 'h100*4' > slow
plan 'h100*0.5' > faster
cost fast; cost slow; cost faster
echo '# the plans are the same: all times grew by the same factor'
copies() { kind plan "$1" | jq -c '[.copies, .assignment]'; }
cmp <(copies fast) <(copies slow) && echo same
afore-plan verify slow
summary() { afore-serve replay --only summary "$1" | jq -c '.afore.cost, .duration'; }
summary fast; summary slow
echo '# a file, too; one of that very name goes first'
printf '%s\n' '{"name":"mine","flops_per_s":1e14,"flops_efficiency":0.5,"memory_bytes_per_s":1e12,"memory_efficiency":1,"link_bytes_per_s":1e11,"link_efficiency":1,"link_latency_ns":1000,"copy_bytes_per_s":1e11,"copy_latency_ns":1000,"ffn_c0_ns":1000,"attention_c0_ns":1000,"control_latency_ns":100,"scheduler_ns":100,"sampling_ns":1000,"attention_token_ns":50,"attention_kv_ns":0.5,"sampling_token_ns":10}' > mine.json
plan 'mine.json*3' > planned && cost planned
cp mine.json 'mine.json*3'
plan 'mine.json*3' > planned && cost planned
afore-serve replay --only summary planned || echo "= $?"
afore-serve replay --only summary --cost mine.json planned | jq -c '.afore.cost, .duration > 0'
for cost in 'h100*' 'h100*x' 'h100*0' 'h100*-2' 'h100*1e7' '*4' 'h1000*4' 'h100*1000000' 'cpu*2*3' 'mine.json*3*2*2'; do
  plan "$cost" > planned || echo "= $?, $(wc -l < planned) lines"
done 2>&1
