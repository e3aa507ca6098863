#!/usr/bin/env bash
# The recorded stream of a run is a planned stream like any other, and its numbers are of the run.
set -euo pipefail
run=(afore-serve run --workload mixed --num-prompts 12 --max-tokens 16 --ffn-workers 4 --attention-workers 2 --slots 2)
kinds() { jq -r .kind "$1" | sort | uniq -c | awk '{ print $2, $2 ~ /header|summary|completion/ ? $1 : "some" }'; }
"${run[@]}" --record run.jsonl --timeline > shown
kinds run.jsonl
kinds shown
head -n 1 run.jsonl | jq -c '[.source, .measured, .model.name, .cluster, .planner.policy, .planner.cost_name, .planner.cost.name]'
afore-plan verify run.jsonl | sed -E 's/[0-9]+/N/g'
echo '# the summary and the completions that are shown are those that are recorded'
cmp <(grep -E '"kind":"(completion|summary)"' run.jsonl | sort) <(sort shown) && echo same
jq -c 'select(.kind == "summary") | [.completed, .failed, (.total_output_tokens > 12), (.mean_ttft_ms > 0), (.mean_itl_ms > 0),
  (.afore | [.host, (.device | startswith("cpu-")), .policy, .injected, .running, .saturation != null, .cost])]' shown
[[ $(jq -s '[.[] | select(.kind == "demand")] | length' run.jsonl) == $(jq '.afore.targets // empty' run.jsonl) ]] && echo targets
echo '# batch records tell who came and who ended'
cmp <(jq -r 'select(.kind == "batch") | .admitted[]' run.jsonl | sort) <(jq -r 'select(.kind == "completion") | .id' run.jsonl | sort)
cmp <(jq -r 'select(.kind == "batch") | .finished[]' run.jsonl | sort) <(jq -r 'select(.kind == "completion") | .id' run.jsonl | sort)
echo '# into a log; read back'
"${run[@]}" --record run.afl > /dev/null
afore-trace check run.afl | sed -E 's/[0-9]+/N/g'
afore-plan verify -q run.afl > /dev/null && echo verified
afore-trace stat run.afl | awk '$1 ~ /^[0-9]+$/ { print $1, $2 > 10 }'
echo '# its plans run on the simulator, and its demand under another policy'
afore-serve replay run.jsonl | tail -n 1 | jq -c '[.afore.host, .completed]'
afore-serve compare --ignore-plans --policies static,afore --format json run.jsonl | jq -c '.afore.policy'
echo '# in one piece: no plans'
afore-serve run --host monolithic --workload mixed --num-prompts 12 --max-tokens 16 --record whole.jsonl > shown
kinds whole.jsonl
cmp <(jq -c 'select(.kind == "completion") | [.id, .token_ids]' run.jsonl | sort) \
  <(jq -c 'select(.kind == "completion") | [.id, .token_ids]' shown | sort) && echo 'the same tokens'
afore-plan --workers 4 --tile-tokens 8 --cost cpu whole.jsonl | afore-plan verify - | sed -E 's/[0-9]+/N/g'
echo '# a trace brings prompts at its own times'
printf '{"timestamp":%d,"input_length":%d,"output_length":%d}\n' 0 30 5 40 7 3 80 5 2 > trace.jsonl
afore-serve run --trace trace.jsonl --rate-scale 2 --json |
  jq -c 'select(.kind == "completion") | [.id, .prompt_tokens, .output_tokens, .arrival_ns / 1e6]' | sort
