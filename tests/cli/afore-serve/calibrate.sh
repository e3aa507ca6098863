#!/usr/bin/env bash
# A run recorded with its timeline becomes a cost file that plan, replay and run take.
set -euo pipefail
afore-serve run --workload math --num-prompts 40 --max-concurrency 16 --max-tokens 12 --ignore-eos --record run.jsonl \
  --timeline --json > run.out
afore-serve calibrate -q run.jsonl -o cost.json > report  # how well it fits is the machine's business
cut -c1-10 report
jq -c '[.name, .ffn_tile_tokens, .link_bytes_per_s] + ([.ffn_c1_ns, .attention_token_ns, .sampling_ns] |
  map(. > 0))' cost.json
cmp cost.json <(afore-serve calibrate -q - < run.jsonl)
echo '# the simulator predicts the run with it, under the recorded plans'
afore-serve replay --cost cost.json --only summary run.jsonl > both
jq -sc 'map([.afore.host, .completed, .total_output_tokens, .afore.targets > 0, .output_throughput > 0])[]' both
afore-serve run --prompt 'What is 2 + 2?' --max-tokens 3 --cost cost.json --json | jq -c 'select(.kind == "summary") | .afore.cost'
echo '# what cannot be calibrated from'
refuse() { "$@" 2>&1 > refused.out && echo 'taken' || echo "exit $?"; }
refuse afore-serve calibrate run.jsonl -o cost.json
grep -v '"kind":"operation"' run.jsonl > silent.jsonl
refuse afore-serve calibrate silent.jsonl
sed '1s/"measured":true,//' run.jsonl > simulated.jsonl
refuse afore-serve calibrate simulated.jsonl
tail -n +2 run.jsonl > headless.jsonl
refuse afore-serve calibrate headless.jsonl
[[ ! -s refused.out ]]
