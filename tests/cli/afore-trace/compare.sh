#!/usr/bin/env bash
# Two runs small enough to compare by hand: the last summaries, targets and requests.
set -euo pipefail
cat > predicted.jsonl << 'END'
{"kind":"header","v":1,"producer":"test","via":[],"model":{"experts":2,"top_k":1,"moe_layers":[0,1]}}
{"kind":"demand","step":0,"layer":0,"microbatch":0,"phase":"warmup","tokens":2,"counts":[1,1]}
{"kind":"observed","step":0,"layer":0,"microbatch":0,"seq":0,"ffn_ns":9000,"migration_ns":0,"window_ns":0,"exposed_ns":0,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":1,"layer":0,"microbatch":0,"seq":1,"ffn_ns":100,"migration_ns":0,"window_ns":-50,"exposed_ns":10,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":1,"layer":1,"microbatch":0,"seq":2,"ffn_ns":999,"migration_ns":0,"window_ns":0,"exposed_ns":0,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":1,"layer":1,"microbatch":0,"seq":2,"ffn_ns":200,"migration_ns":20,"window_ns":50,"exposed_ns":0,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":2,"layer":0,"microbatch":0,"seq":3,"ffn_ns":400,"migration_ns":20,"window_ns":100,"exposed_ns":0,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":3,"layer":0,"microbatch":0,"seq":4,"ffn_ns":1,"migration_ns":1,"window_ns":1,"exposed_ns":1,"slack_ns":0,"slot_wait_ns":0}
{"kind":"completion","id":"a","prompt_tokens":3,"output_tokens":2,"finish_reason":"length","arrival_ns":1000000,"first_token_ns":3000000,"finished_ns":5000000}
{"kind":"completion","id":"b","prompt_tokens":3,"output_tokens":2,"finish_reason":"stop","arrival_ns":0,"first_token_ns":4000000,"finished_ns":8000000}
{"kind":"completion","id":"c","prompt_tokens":3,"output_tokens":1,"finish_reason":"timeout","arrival_ns":0,"first_token_ns":1,"finished_ns":2}
{"kind":"summary","producer":"not the last","output_throughput":1}
{"kind":"summary","producer":"simulator","duration":2.5,"output_throughput":200.0,"mean_tpot_ms":4.0,"median_tpot_ms":3.0,"p99_tpot_ms":null,"afore":{"policy":"afore","host":"sim","ffn_ns":233.25,"exposed_ns":0.0,"copies":3,"plan_ns":{"mean":10.0,"p50":9.0,"p99":20.0}}}
END
cat > measured.jsonl << 'END'
{"kind":"header","v":1,"producer":"test","via":[],"model":{"experts":2,"top_k":1,"moe_layers":[0,1]}}
{"kind":"completion","id":"c","prompt_tokens":3,"output_tokens":2,"finish_reason":"length","arrival_ns":0,"first_token_ns":1,"finished_ns":2}
{"kind":"completion","id":"b","prompt_tokens":3,"output_tokens":2,"finish_reason":"stop","arrival_ns":1000000,"first_token_ns":4000000,"finished_ns":11000000}
{"kind":"completion","id":"a","prompt_tokens":3,"output_tokens":2,"finish_reason":"length","arrival_ns":1000000,"first_token_ns":4000000,"finished_ns":5000000}
{"kind":"completion","id":"d","prompt_tokens":3,"output_tokens":2,"finish_reason":"length","arrival_ns":0,"first_token_ns":1,"finished_ns":2}
{"kind":"observed","step":2,"layer":0,"microbatch":0,"seq":3,"ffn_ns":400,"migration_ns":10,"window_ns":80,"exposed_ns":0,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":1,"layer":1,"microbatch":0,"seq":2,"ffn_ns":220,"migration_ns":30,"window_ns":60,"exposed_ns":5,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":1,"layer":0,"microbatch":0,"seq":1,"ffn_ns":80,"migration_ns":0,"window_ns":-60,"exposed_ns":10,"slack_ns":0,"slot_wait_ns":0}
{"kind":"observed","step":0,"layer":0,"microbatch":0,"seq":0,"ffn_ns":1,"migration_ns":0,"window_ns":0,"exposed_ns":0,"slack_ns":0,"slot_wait_ns":0}
{"kind":"summary","producer":"device","duration":3.0,"output_throughput":150.0,"mean_tpot_ms":4.2,"median_tpot_ms":null,"afore":{"policy":"afore","host":"threads","device":"cpu","ffn_ns":230.0,"exposed_ns":5.0,"copies":3,"interrupted":true}}
END
try() {
  local code=0
  "$@" || code=$?
  echo "= $code"
}
compare=(afore-trace compare predicted.jsonl measured.jsonl)
echo '# tables'
"${compare[@]}"
echo '# the same from standard input and from a log'
"${compare[@]}" | tail -n +3 > want
afore-trace compare - measured.jsonl < predicted.jsonl | tail -n +3 | cmp - want
afore-trace record measured.jsonl -o measured.afl
afore-trace compare predicted.jsonl measured.afl | tail -n +3 | cmp - want
echo '# JSON is one object that says the same'
"${compare[@]}" --json > json
wc -l < json
jq -c '.a, .b, (.metrics[] | select(.difference_percent != 0)), .observed, .completions, (.no_number | length), .max_mape' json
echo '# a limit: the worst of two, of one, of one that is 0 in A'
try "${compare[@]}" --max-mape 25 | tail -n 1
try "${compare[@]}" --max-mape 24.9 | tail -n 1
try "${compare[@]}" --max-mape 24.9 > with
head -n -1 with | cmp - <("${compare[@]}")
try "${compare[@]}" --max-mape 5.1 --metrics mean_tpot_ms | tail -n 1
try "${compare[@]}" --max-mape 1e9 --metrics mean_tpot_ms,exposed_ns | tail -n 1
"${compare[@]}" --max-mape 0 --metrics copies --json | jq -c .max_mape
try "${compare[@]}" --max-mape 1 --metrics copies,exposed_ns,median_tpot_ms --json > json
head -n 1 json | jq -c .max_mape
echo '# what only one has cannot be judged'
try "${compare[@]}" --max-mape 30 --metrics output_throughput,median_tpot_ms | tail -n 1
echo '# what neither has is passed over, unless named'
grep -v summary predicted.jsonl > p.jsonl
grep -v summary measured.jsonl > m.jsonl
echo '{"kind":"summary","output_throughput":100}' | tee -a p.jsonl >> m.jsonl
try afore-trace compare p.jsonl m.jsonl --max-mape 0 | tail -n 1
try afore-trace compare p.jsonl m.jsonl --max-mape 0 --metrics output_throughput,mean_tpot_ms | tail -n 1
echo '# a run is itself'
afore-trace compare measured.jsonl measured.jsonl --max-mape 0 | grep -E '^(observed|completion)'
echo '# no summary: records alone'
afore-trace compare <(grep -v summary predicted.jsonl) <(grep -v summary measured.jsonl) | sed 's|/dev/fd/[0-9]*|FILE|'
echo '# names from the input reach the terminal without control characters'
echo '{"kind":"summary","producer":"\u001b[31mred","duration":1}' > $'\ename'
afore-trace compare $'\ename' $'\ename' | head -n 2
