#!/usr/bin/env bash
# A stream from the bundled model. Instruction sets differ by rounding, and with it experts in near-ties, so its bytes
# are those of the scalar one; what is true of every one is counted with the best that is here.
set -euo pipefail
kind() { grep "^{\"kind\":\"$1\"" "$2" || true; }
echo '# the beginning, byte for byte'
afore-trace record --workload mixed --isa scalar --microbatches 2 --max-concurrency 4 --max-tokens 4 --steps 5 \
  --warmup-steps 1 > small
head -n 10 small
kind completion small | head -n 4
echo '# the same bytes on any number of threads, in a file, and out of a log'
again=(afore-trace record --workload mixed --isa scalar --microbatches 2 --max-concurrency 4 --max-tokens 4 --steps 5
  --warmup-steps 1)
"${again[@]}" --threads 1 | cmp - small
"${again[@]}" --threads 3 -o lines.jsonl && cmp lines.jsonl small
"${again[@]}" --fsync none --roll-bytes 64K -o log.afl && afore-trace merge -q log.afl | cmp - small
echo '# sampling takes the seed'
for seed in 1 1 2; do "${again[@]}" --temperature 1 --seed $seed | tail -n +2 | sha256sum; done | uniq -c | awk '{print $1}'
echo '# 50 steps: live requests stay as many, prompts repeat'
record=(afore-trace record --workload mixed --max-concurrency 36 --steps 50)
"${record[@]}" --ignore-eos --max-tokens 12 > stream
kind batch stream | jq -sc 'group_by(.step) | [length, (map(map(.sequences) | add) | unique)]'
kind batch stream | jq -r '.admitted[]' | sort | uniq -d
kind batch stream | jq -r '.admitted[] | select(contains("#"))' | head -n 1
echo '# every count is there: a target has as many tokens as its batch, four experts each'
kind demand stream | jq -sc 'map(select((.counts | add) != .tokens * 4)) | length'
jq -sc '[.[] | select(.kind == "batch") | {key: "\(.step)/\(.microbatch)", value: (.sequences + .prefill_tokens)}] |
  from_entries as $most | [$in[] | select(.kind == "demand") | select(.tokens > $most["\(.step)/\(.microbatch)"])] | length' \
  --slurpfile in stream stream
afore-trace record --workload math --ignore-eos --max-tokens 100 --max-concurrency 36 --steps 20 | grep -v '"step":0,' |
  awk -v top_k=4 -v tokens_per_target=12 -f "$AFORE_SOURCE_DIR/tests/data/conserved.awk"
echo '# who finishes is told, behind the last record of that step'
diff <(kind batch stream | jq -r '.finished[]' | sort) <(kind completion stream | jq -r .id | sort) && echo "all of them"
jq -c 'if .kind == "batch" then {step, ids: .finished} elif .kind == "demand" then {step} elif .kind == "completion"
  then {id} else empty end' stream | jq -sr 'reduce .[] as $r ({step: 0, ends: {}, late: 0};
    if $r.ids then .ends += ($r.ids | map({key: ., value: $r.step}) | from_entries) else . end |
    if $r.step then .step = $r.step else . end | if $r.id and .ends[$r.id] != .step then .late += 1 else . end) | .late'
kind completion stream | jq -c 'select((.token_ids | length) != .output_tokens or .text == "" or .finish_reason != "length"
  or .first_token_ns < .arrival_ns)' | wc -l
echo '# routing has the rows that demand counts'
afore-trace record --workload code --max-concurrency 6 --steps 3 --routing > routed
jq -sc '[.[] | select(.kind == "routing")] as $rows | [.[] | select(.kind == "demand")] as $demand |
  [($rows | length), ($demand | length), ([range($rows | length) | . as $i | $demand[$i] as $d | $rows[$i] |
    select((.experts | length) != $d.tokens or (.weights | length) != $d.tokens or
      ([.experts[][]] | group_by(.) | map([.[0], length])) !=
      ([range(32) | [., $d.counts[.]] | select(.[1] > 0)])) ] | length),
    ([$rows[].weights[] | add | select(. < 0.999 or . > 1.001)] | length)]' routed
echo '# without --steps: all prompts, to their ends'
afore-trace record --prompt 'def f(x):' --prompt '<|user|>
Hello<|assistant|>
' --num-prompts 5 --max-tokens 6 --max-concurrency 2 > whole
kind completion whole | jq -r .id | tr '\n' ' '
kind batch whole | jq -s 'map(.sequences) | max'
echo '# a trace says when and how much'
printf '{"timestamp":%d,"input_length":%d,"output_length":%d,"hash_ids":[]}\n' 0 30 5 4 700 3 60 5 2 > trace.jsonl
afore-trace record --trace trace.jsonl --steps 1000 > traced
kind completion traced | jq -c '[.id, .prompt_tokens, .output_tokens, .arrival_ns / 1e6]'
