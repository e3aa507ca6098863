#!/usr/bin/env bash
# Prompts with every key, the flags that go beside them, and what is refused by line.
set -euo pipefail
run() { afore-serve run --isa scalar "$@" | jq -c 'select(.kind == "completion")'; }
echo '# every key'
cat > prompts.jsonl << 'END'
{"prompt":"def f(x):","id":"plain","max_tokens":6}
{"prompt":"def f(x):","id":"hot","max_tokens":6,"temperature":1.5,"top_p":0.9,"seed":7}
{"prompt":"<|user|>\nWhat is 12 + 30?<|assistant|>\n","id":"stops","stop":"=","max_tokens":20}
{"prompt":"<|user|>\nWhat is 12 + 30?<|assistant|>\n","id":"stops at the first","stop":["####","= 4"],"max_tokens":20}
{"prompt":"<|user|>\nWhat is 12 + 30?<|assistant|>\n","id":"eos","max_tokens":20}
{"prompt":"<|user|>\nWhat is 12 + 30?<|assistant|>\n","id":"no eos","max_tokens":20,"ignore_eos":true}
{"prompt":"import os","id":"later","arrival_ms":40,"max_tokens":1}

a line of text
END
run --prompts prompts.jsonl --max-concurrency 3 > out
jq -s -c 'sort_by(.id)[] | [.id, .finish_reason, .output_tokens, .text] | if .[0] == "hot" then .[:3] else . end' out
jq -c 'select(.id == "later") | .arrival_ns, (.first_token_ns >= .arrival_ns)' out
run --prompts - < prompts.jsonl | jq -r .id | sort | cmp - <(jq -r .id out | sort) && echo "standard input too"
echo '# a last line without its end is a line'
printf '%s\n%s' 'import os' '{"prompt":"def f(x):","max_tokens":3}' | run --prompts - --max-tokens 2 | jq -s -c 'sort_by(.id)[] | [.id, .output_tokens]'
printf 'import os' > unended.txt
run --prompts unended.txt --max-tokens 2 | jq -c '[.id, .prompt_tokens > 0]'
echo '# flags for those that do not say'
run --prompts prompts.jsonl --max-tokens 2 --num-prompts 10 | jq -s -c 'sort_by(.id)[] | [.id, .output_tokens]'
run --prompt 'What is' --prompt 'Where is' --stop ' the' --max-tokens 12 --num-prompts 2 | jq -s -c 'sort_by(.id)[] | [.id, .text | contains(" the")]'
echo '# a seed gives the same draws, whatever runs beside it and on however many workers'
sample=(--prompt 'The file' --num-prompts 4 --temperature 1 --top-p 0.95 --max-tokens 12)
texts() { jq -s -c 'sort_by(.id)[] | [.id, .token_ids]'; }
run "${sample[@]}" --seed 3 | texts > one
run "${sample[@]}" --seed 3 --ffn-workers 4 --microbatches 4 --max-concurrency 2 | texts | cmp - one && echo same
run "${sample[@]}" --seed 3 --host monolithic | texts | cmp - one && echo same
run "${sample[@]}" --seed 4 | texts | cmp -s - one || echo other
run --prompts <(echo '{"prompt":"The file","id":"p0#1","seed":4,"max_tokens":12,"temperature":1,"top_p":0.95}') | texts |
  cmp - <(sed -n 2p one) && echo 'request i uses seed + i'
echo '# a trace says how long, within --max-tokens'
printf '%s\n' TIMESTAMP,ContextTokens,GeneratedTokens '2023-11-16 18:17:03.9799600,20,9' \
  '2023-11-16 18:17:04.0319600,30,3' > trace.csv
run --trace trace.csv | jq -s -c 'sort_by(.id)[] | [.prompt_tokens, .output_tokens]'
run --trace trace.csv --max-tokens 4 | jq -s -c 'sort_by(.id)[] | [.prompt_tokens, .output_tokens]'
echo '# refused'
try() {
  printf '%s\n' "$1" > bad.jsonl
  code=0
  afore-serve run --prompts bad.jsonl > said || code=$?
  echo "= $code, $(wc -l < said) lines"
}
long=$(printf 'word %.0s' {1..2000})
{
  try '{"prompt":"a"'
  try $'plain\n{"max_tokens":5}'
  try '{"prompt":""}'
  try '{"prompt":7}'
  try $'plain\n\n{"prompt":"a","max_token":5}'
  try '{"prompt":"a","max_tokens":0}'
  try '{"prompt":"a","temperature":-1}'
  try '{"prompt":"a","top_p":0}'
  try '{"prompt":"a","seed":-1}'
  try '{"prompt":"a","seed":1.5}'
  try '{"prompt":"a","stop":""}'
  try '{"prompt":"a","stop":["b",3]}'
  try '{"prompt":"a","ignore_eos":"yes"}'
  try '{"prompt":"a","arrival_ms":-3}'
  try '{"prompt":"a","prompt":"b"}'
  try $'{"prompt":"a","id":"x"}\n{"prompt":"a","id":"x"}'
  try $'{"prompt":"a","id":"p1"}\nplain'
  try "{\"prompt\":\"$long\",\"id\":\"long\"}"
  try ''
  for flags in '--prompt a --workload math' '--num-prompts 3' '--prompt a --stop=' '--prompt a --top-p 0' \
    '--prompt a --temperature -1' '--prompts missing.jsonl' '--trace missing.csv'; do
    # shellcheck disable=SC2086
    afore-serve run $flags || echo "= $?"
  done
} 2>&1
