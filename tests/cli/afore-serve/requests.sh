#!/usr/bin/env bash
# A trace of requests, served in a closed loop: the output is the input's lines and a planned stream around them.
set -euo pipefail
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
serve=(afore-serve replay --policy afore --workers 4 --slots 2 --tile-tokens 16)
"${serve[@]}" requests > served
echo '# the input stands in the output, byte for byte and in order; the header gains keys'
grep -E '^\{"kind":"(sequence|request)"' served | cmp - <(tail -n +2 requests)
head -1 served | jq -c '[.source, .via, .cluster, .planner.policy]'
for k in sequence request batch demand plan observed completion summary; do echo "$k $(kind $k served | wc -l)"; done
echo '# requests are conserved, one completion each'
jq -c 'select(.kind == "summary") | [.completed, .failed, .total_input_tokens, .total_output_tokens,
  (.afore | [.injected, .queued, .running, .rejected, .timed_out, .saturation])]' served
jq -r 'select(.kind == "completion") | .id' served | sort | uniq -d
jq -c 'select(.kind == "completion") | select(.arrival_ns > .first_token_ns or .first_token_ns > .finished_ns)' served
head -1 <(kind completion served)
echo '# the summary agrees with the completions'
jq -sc '[.[] | select(.kind == "completion")] as $done | (.[] | select(.kind == "summary")) as $s |
  def ms: . / 1e6; def near($x): (. - $x) | fabs < 1e-6;
  [($done | map(.first_token_ns - .arrival_ns) | add / length | ms | near($s.mean_ttft_ms)),
   ($done | map(.finished_ns - .arrival_ns) | add / length | ms | near($s.mean_e2el_ms)),
   ($done | map(select(.output_tokens > 1) | (.finished_ns - .first_token_ns) / (.output_tokens - 1)) | add / length |
     ms | near($s.mean_tpot_ms)),
   ($s.afore.itl_n == ($done | map(.output_tokens - 1) | add))]' served
echo '# its plans hold, and it replays as a stream of targets'
afore-plan verify served
afore-serve replay --only summary served | jq -c '[.completed, .total_output_tokens, .afore.targets, .afore.injected]'
afore-serve compare --policies static,afore --ignore-plans --format json served | jq -c '[.afore.policy, .afore.targets]'
echo '# read as time needs it: a prefix of the stream gives a prefix of the output, up to its end'
head -n 40 requests | "${serve[@]}" > prefix
last=$(grep -n "^$(head -n 40 requests | tail -1)$" prefix | cut -d: -f1)
cmp <(head -n "$last" prefix) <(head -n "$last" served)
echo '# one closed loop per policy'
afore-serve compare --workers 4 --tile-tokens 16 --eplb-interval 5 --goodput 'ttft:40 tpot:5' requests
afore-serve compare --policies afore --workers 4 --slots 2 --tile-tokens 16 --format json requests |
  jq -c '.afore.host = null | [.duration, .mean_ttft_ms, .afore.copies]' > alone
jq -c 'select(.kind == "summary") | [.duration, .mean_ttft_ms, .afore.copies]' served | cmp - alone
echo '# too much: the queue is bounded, and says why'
"${serve[@]}" --max-num-seqs 1 --max-num-batched-tokens 8 --max-queue 3 --max-queue-ms 8 --timeout-s 0.02 \
  --kv-budget-tokens 208 requests > tight
jq -c 'select(.kind == "summary") | [.completed, .failed,
  (.afore | [.injected, .queued, .running, .rejected, .timed_out, .peak_queued, .peak_running, .saturation])]' tight
jq -r 'select(.kind == "completion") | [.finish_reason, .reject_reason // "-"] | @tsv' tight | sort | uniq -c
afore-plan verify tight
echo '# ended in the middle'
"${serve[@]}" --duration-s 0.1 requests > cut
jq -c 'select(.kind == "summary") | [.duration, .completed,
  (.afore | [.injected, .queued, .running])]' cut
afore-plan verify cut
echo '# no requests'
head -1 requests | "${serve[@]}" --only summary | jq -c '[.duration, .completed, .afore.injected, .afore.saturation]'
