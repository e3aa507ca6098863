#!/usr/bin/env bash
# report.sh GPU_REPORT: what it makes of outputs written by hand. What failed is counted, what was slow is not.
set -euo pipefail
report=$(realpath "$1")
command -v jq > /dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > reference.json << 'END'
[{"text": "one", "greedy_ids": [5, 6, 7], "greedy_margin": [1.0, 0.01, 2.0]},
 {"text": "two", "greedy_ids": [8, 9], "greedy_margin": [3.0, 4.0]}]
END
completion() { printf '{"kind":"completion","id":"%s","token_ids":%s}\n' "$1" "$2"; }
gpu_check='{"kind":"gpu_check","stand_in":false,"passed":true,"facts":{"device":"D"},
  "checks":[{"section":"gate","name":"ids","passed":true,"detail":""}],
  "figures":[{"section":"ceilings","name":"copy on the device, large","value":1000.0,"p95":900.0,"unit":"GB/s","n":20,
    "note":"","goal":"","met":false}],"skipped":[],"steps":[]}'
copies() { # MICROSECONDS WRONG
  printf '{"config":{"workers":4,"iters":9},"results":[{"path":"d2d","size":1000000,
    "out_of_place":{"nwrong":%s},"per_iter":{"p50_us":%s,"p95_us":%s}}]}' "$2" "$1" "$1"
}
overlap() { # COPY WINDOW EXPOSED
  printf '{"config":{"iters":9},"results":[{"path":"d2d",
    "sm_partitions":{"gpu_sms":132,"worker_sms":64,"why_plain":null},"tokens_per_expert":8,"copy_us":{"p50":%s,"p95":9.0},
    "ffn_us":{"p50":%s,"p95":9.0},"exposed_us":{"p50":%s,"p95":0.5},"ffn_slowdown":1.5,"nwrong":0}]}' "$@"
}
step() { printf '%s\t%s\t%s\t1.5\n' "$@" >> run/steps.tsv; }

fresh() {
  rm -rf run && mkdir run
  printf 'commit\tabc\n' > run/facts.tsv
  echo "$gpu_check" > run/twins.out && step gpu_check twins 0
  copies 5 0 > run/copies.out && step copies copies 0
  overlap 2.0 3.0 0.0 > run/overlap.out && step overlap overlap 0
  { completion p0 '[5,6,7]' && completion p1 '[8,9]'; } > run/cpu.out && step serve cpu 0
  { completion p0 '[5,6,7]' && completion p1 '[8,9]'; } > run/cuda.out && step serve cuda 0
  cp run/cuda.out run/cuda-again.out && step serve cuda-again 0
}
# expect CODE NAME
expect() {
  local code=0
  "$report" run reference.json > table || code=$?
  [[ $code == "$1" ]] || { cat table && echo "$2: exit code $code, not $1" && exit 1; }
}
failed() { jq -c '[.checks[] | select(.passed | not) | .name]' run/report.json; }
same() { [[ $1 == "$2" ]] || { echo "$3: $1, not $2" && exit 1; }; }

fresh && expect 0 "all is well"
same "$(failed)" '[]' "all is well"
# 2 copies of 1 MB at once, read and written, in 5 us: 800 GB/s, below 0.9 of 1000.
same "$(jq -c '.figures[] | select(.section == "migrate") | [.value, .met]' run/report.json)" '[800,false]' "a slow copy"
same "$(jq -c '.facts' run/report.json)" '{"commit":"abc","device":"D"}' facts
same "$(jq -c '.figures[] | select(.goal | startswith("0,")) | .met' run/report.json)" true "hidden copies"

same "$(jq -c '[.figures[] | select(.section == "overlap" and .note != "").note]' run/report.json)" \
  '["path d2d, 64 of 132 SMs each (green contexts)","64 of 132 SMs each (green contexts)"]' "SMs of workers"
fresh && echo '{"kind":"summary","total_output_tokens":3,"output_throughput":2.0,"median_ttft_ms":null,"median_itl_ms":null,
  "p99_itl_ms":null,"afore":{"device":"D, 2 virtual workers"}}' | tr -d '\n' > run/load.out && step load load 0
expect 0 "a load"
same "$(jq -c '[.figures[] | select(.name == "load: output_throughput").note]' run/report.json)" '["D, 2 virtual workers"]' "its device"

fresh && copies 4.4 0 > run/copies.out && expect 0 "a fast copy"
same "$(jq -c '.figures[] | select(.section == "migrate") | .met' run/report.json)" true "a fast copy"
fresh && overlap 2.0 3.0 0.1 > run/overlap.out && expect 0 "an exposed copy"
same "$(jq -c '.figures[] | select(.goal | startswith("0,")) | .met' run/report.json)" false "an exposed copy"
fresh && overlap 3.0 2.0 1.0 > run/overlap.out && expect 0 "a short window"
same "$(jq -c '[.figures[] | select(.goal | startswith("0,"))]' run/report.json)" '[]' "a short window"

fresh && copies 5 3 > run/copies.out && expect 1 "wrong bytes"
same "$(failed)" '["copies: bytes"]' "wrong bytes"
fresh && { completion p0 '[5,1,1]' && completion p1 '[8,9]'; } | tee run/cuda.out > run/cuda-again.out && expect 0 "a near tie"
fresh && { completion p0 '[5,6,7]' && completion p1 '[8,1]'; } | tee run/cuda.out > run/cuda-again.out
expect 1 "a clear choice"
same "$(failed)" '["cuda: tokens are those of cpu"]' "a clear choice"
fresh && { completion p0 '[5,1,1]' && completion p1 '[8,9]'; } > run/cuda-again.out && expect 1 "other tokens again"
same "$(failed)" '["cuda-again: tokens are those of cuda"]' "other tokens again"
fresh && completion p0 '[5,6,7]' | tee run/cuda.out > run/cuda-again.out && expect 1 "a prompt without an answer"

fresh && step planner planner 0
printf 'policy\texperts\tworkers\tplanner_us\tplanner_p99\nstatic\t8\t2\t1.5\t2.5\nafore\t8\t2\t3.5\t4.5\n' > run/planner.out
expect 0 "the planner"
same "$(jq -c '[.figures[] | select(.section == "planner") | .name, .value]' run/report.json)" \
  '["planner, 8 experts, 2 workers",3.5,"planner_p99, 8 experts, 2 workers",4.5]' "the planner"

fresh && step overlap lost 124 && expect 1 "a step out of time"
same "$(failed)" '["lost"]' "a step out of time"
fresh && step planner slow 124 && expect 0 "a measurement out of time"
same "$(jq -c '.skipped[0].section' run/report.json)" '"slow"' "a measurement out of time"
fresh && printf 'skipped\tload\tno time was left\n' >> run/steps.tsv && expect 0 "a step that was not run"
grep -q '^not run *load: no time was left' table
fresh && echo '{"kind":' > run/copies.out && expect 1 "output that is no JSON"
fresh && rm run/twins.out && expect 1 "nothing said"
fresh && sed -i 's/^gpu_check\ttwins\t0/gpu_check\ttwins\t139/' run/steps.tsv && expect 1 "a crash"
fresh && sed -i 's/"passed":true,"detail":""/"passed":false,"detail":"element 3"/' run/twins.out && expect 1 "a kernel is wrong"
grep -q 'FAILED: element 3' table
fresh && printf 'stand_in\ttrue\n' >> run/facts.tsv && expect 0 "the stand-in"
same "$(jq -c '[.stand_in, ([.figures[] | .value, .met] | unique)]' run/report.json)" '[true,[null,false]]' "the stand-in"
code=0 && "$report" run 2> /dev/null || code=$?
same "$code" 2 "a wrong command line"
