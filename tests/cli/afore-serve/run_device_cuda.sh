#!/usr/bin/env bash
# --device cuda, computed by the CPU stand-in for CUDA: what the independent float32 implementation says, up to the first
# step whose two best tokens roundings to bf16 could swap.
set -euo pipefail
plugin=$(dirname "$(command -v afore-serve)")/../lib/libafore_cuda_shim.so
[[ -e $plugin ]] || { echo "no $plugin"; exit 77; }
export AFORE_CUDA_PLUGIN=$plugin
golden=$AFORE_SOURCE_DIR/models/tiny/golden/reference.json
jq -c '.[] | . as $g | ([$g.greedy_margin[] < 0.2] | index(true) // length) as $clear |
  ([$clear, ($g.greedy_ids | length), 6] | min) as $n | select($n >= 4) |
  {id: .text[:24], text, n: $n, want: .greedy_ids[:$n]}' "$golden" | head -n 3 > clear.jsonl
jq -c '{id, prompt: .text, max_tokens: .n, ignore_eos: true}' clear.jsonl > prompts.jsonl
jq -c '[.id, .want]' clear.jsonl | sort > want
try() {
  afore-serve run --prompts prompts.jsonl --device cuda --json "$@" > got
  jq -c 'select(.kind == "completion") | [.id, .token_ids]' got | sort | cmp - want && echo "$(wc -l < want) texts: $*"
}
try --ffn-workers 2
try --policy ideal --ffn-workers 3
echo '# auto finds it, and says nothing'
afore-serve run --prompt x --max-tokens 1 --device auto --json | jq -r '.. | .device? // empty'
