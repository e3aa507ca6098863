#!/usr/bin/env bash
# --json where a table is the rule: whole lines of JSON with the documented keys, and the same exit code.
set -uo pipefail
command -v jq > /dev/null || { echo "no jq"; exit 77; }
afore-trace synth --model gpt-oss-20b --layers 0,1 --steps 24 --warmup-steps 2 --tokens 256 > demand.jsonl
afore-plan --workers 4 demand.jsonl > planned.jsonl
afore-trace record -o whole.afl demand.jsonl
head -c 3000 whole.afl > cut.afl
keys() { jq -c 'keys_unsorted'; }

echo '= stat'
afore-trace stat --json demand.jsonl | keys
cmp <(afore-trace stat --json demand.jsonl) <(afore-trace stat --format json demand.jsonl)
echo '= check'
afore-trace check --json whole.afl | tee check.json | keys
jq -c '[.kind, .verdict, .lost_lines, .lines]' check.json
afore-trace check --json cut.afl 2> /dev/null | jq -c '[.verdict, .lost_bytes > 0]'
echo "exit ${PIPESTATUS[0]}"
echo '= verify'
afore-plan verify --json planned.jsonl | tee verify.json | keys
jq -c '[.kind, .ok, .plans, .violation]' verify.json
sed '/"kind":"plan"/s/"max_tile_load":[0-9]*/"max_tile_load":1/' planned.jsonl > wrong.jsonl
afore-plan verify --json wrong.jsonl 2> err | jq -c '[.ok, (.violation | length > 0)]'
echo "exit ${PIPESTATUS[0]}, $(wc -l < err) line"
[[ $(sed 's/^afore-plan: error: //' err) == "$(afore-plan verify --json wrong.jsonl 2> /dev/null | jq -r .violation)" ]] ||
  echo "message and violation differ"
echo '= compare'
afore-serve compare --workers 4 --policies static,afore --json demand.jsonl | jq -c '[.kind, .afore.policy]'
afore-trace compare --json <(afore-serve replay --workers 4 --policy static demand.jsonl) \
  <(afore-serve replay --workers 4 --policy afore demand.jsonl) | keys
echo '= advise, ratio'
afore-plan advise --workers 4 --json demand.jsonl | jq -c '[.kind, (.policies | length > 0)]'
afore-plan ratio --model gpt-oss-20b --workers 4 --json | jq -c .kind
echo '= migrate'
afore-migrate -b 1K -e 4K -n 2 --json -J file.json | tee out.json | keys
cmp out.json file.json
jq -c '[.results[].size]' out.json
