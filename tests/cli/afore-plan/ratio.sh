#!/usr/bin/env bash
# Attention workers and microbatches by formula, each beside the simulator, and the ends of what can be asked.
STEPS=2 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
try() {
  echo "* $*"
  afore-plan ratio "$@"
  echo "= $?"
}
try --model gpt-oss-20b --workers 4 --batch 128 --context 2048
try --workers 4 --batch 256 stream                     # experts as popular as the stream has them
try --model deepseek-v2-lite --workers 8 --cost h200 --batch 16 --context 32768
afore-plan ratio --model afore-tiny --workers 2 --json > json
jq -es 'length == 1' json > /dev/null && jq -c '[.kind, .v, .attention_workers, .microbatches,
  [.by_attention_workers[].attention_workers], [.by_microbatches[].microbatches], [.conditions[].holds]]' json
afore-plan ratio --model afore-tiny --workers 2 --json | cmp - json && echo same
afore-plan ratio --workers 4 --batch 256 - < stream | cmp - <(afore-plan ratio --workers 4 --batch 256 stream) && echo same

# The formula and the simulator agree where its assumptions hold: few percent at the answer.
for model in glm-4.5-air deepseek-v3 qwen3-30b-a3b; do
  afore-plan ratio --model $model --workers 8 --batch 128 --context 1024 --json |
    jq -e '.attention_workers as $a | .by_attention_workers[] | select(.attention_workers == $a) |
      (.formula_tokens_per_worker_s / .simulated_tokens_per_worker_s - 1 | fabs) < 0.1' > /dev/null || echo "$model: off"
done

refused() {
  echo "* $*"
  afore-plan ratio "$@" > out 2> err
  echo "= $?, $(wc -c < out) bytes"
  cat err
}
: > empty
printf '%s\n' '{"kind":"demand","step":0,"layer":3,"microbatch":0,"phase":"decode","tokens":8,"counts":[4,4,0,0]}' > bare
refused
refused empty --workers 4
refused --model nothing --workers 4
refused --model gpt-oss-20b
refused --model gpt-oss-20b --workers 0
refused --model gpt-oss-20b --workers 4 --batch 0
refused --model gpt-oss-20b --workers 4 --context -1
refused bare --workers 2
refused bare --workers 2 --top-k 1
refused bare --workers 2 --top-k 5
refused --model deepseek-v3 --workers 4 stream
cat > slow.json <<'END'
{"name":"slow","flops_per_s":1e+15,"flops_efficiency":1,"memory_bytes_per_s":3e+12,"memory_efficiency":1,
 "link_bytes_per_s":1e+9,"link_efficiency":1,"link_latency_ns":1000000,"copy_bytes_per_s":4e+12,"copy_latency_ns":1000,
 "ffn_c0_ns":5000,"attention_c0_ns":5000,"control_latency_ns":2000,"scheduler_ns":10000,"sampling_ns":20000}
END
afore-plan ratio --model afore-tiny --workers 4 --cost slow.json | grep -A 2 '^microbatches'
[[ -c /dev/full ]] || exit 77
afore-plan ratio --model afore-tiny --workers 2 > /dev/full
echo "full: $?"
