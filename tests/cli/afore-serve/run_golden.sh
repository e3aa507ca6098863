#!/usr/bin/env bash
# The bundled model says what an independent float32 implementation says, on workers and in one piece. A step whose two
# best tokens are within 0.01 may go either way, under another instruction set too: its prompt is left out.
set -euo pipefail
golden=$AFORE_SOURCE_DIR/models/tiny/golden/reference.json
jq -c '.[] | select((.greedy_margin | min) >= 0.01)' "$golden" > golden.jsonl
jq -c '{prompt: .text, max_tokens: (.greedy_ids | length), id: .text[:24], ignore_eos: true}' golden.jsonl > prompts.jsonl
# Text is without special tokens; the reference has them.
jq -c '{id: .text[:24], text: (.greedy_text | gsub("<\\|[a-z]+\\|>"; "")), token_ids: .greedy_ids, prompt_tokens: (.ids | length)}' golden.jsonl |
  sort > want
said() {
  afore-serve run --prompts prompts.jsonl "$@" |
    jq -c 'select(.kind == "completion") | {id, text, token_ids, prompt_tokens}' | sort
}
try() {
  said "$@" | cmp - want && echo "$(wc -l < want) texts: $*"
}
try --host threads
try --host monolithic
for isa in avx512bf16 avx2; do  # where the processor has them
  if afore-serve run --prompt x --max-tokens 1 --isa $isa > /dev/null 2> no; then said --isa $isa | cmp - want
  else grep -q "this processor cannot run $isa" no; fi
done
try --isa scalar --ffn-workers 5 --slots 1 --microbatches 3 --attention-workers 2
try --policy eplb --eplb-interval 2 --threads 2 --no-overlap
try --policy ideal --ffn-workers 3
try --combine partial --ffn-workers 4
try --max-num-batched-tokens 7 --max-num-seqs 3
echo '# alone: the same'
afore-serve run --prompts <(jq -c '.[4] | {prompt: .text}' "$golden") --max-tokens 40 | jq -r 'select(.kind == "completion") | .text' |
  cmp - <(jq -r '.[4].greedy_text' "$golden") && echo "the same"
echo '# its own end of sequence, or the next speaker, ends it: a beginning of that'
jq -c 'del(.ignore_eos) | .max_tokens = 60' prompts.jsonl > ends.jsonl
afore-serve run --prompts ends.jsonl | jq -c 'select(.kind == "completion" and .finish_reason == "stop") |
  [.id, .token_ids[-1], .token_ids[:-1]]' | sort > stopped
jq -c --slurpfile want want '. as $s | $want[] | select(.id == $s[0]) | [$s[0], $s[1],
  .token_ids[:($s[2] | length)] == $s[2]]' stopped
