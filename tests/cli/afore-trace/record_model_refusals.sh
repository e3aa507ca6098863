#!/usr/bin/env bash
# What belongs to one kind of recording is refused in the other; nothing is half-written.
try() {
  afore-trace record "$@" > out
  echo "= $?, $(wc -l < out) lines"
}
{
  try
  try --steps 5
  try stream.jsonl -o x.afl --steps 5
  try --workload math stream.jsonl
  try --workload math --top-k 4
  try --model "$AFORE_SOURCE_DIR/models/tiny" --recover skip
  try --model "$AFORE_SOURCE_DIR/models/tiny"
  try --workload math --prompt x
  try --workload poems
  try --workload math --fsync frame
  try --workload math --roll-bytes 1M -o x.jsonl
  try --workload math --max-num-batched-tokens 16
  try --workload math --steps 0
  try --workload math --microbatches 65
  try --workload math --isa sse2
  try --prompt ''
  try --prompts missing.jsonl
  printf 'one\n{"prompt":"two","n":3}\n' > bad.jsonl
  try --prompts bad.jsonl
  printf '{"prompt":"one","id":"a"}\n{"prompt":"two","id":"a"}\n' > twice.jsonl
  try --prompts twice.jsonl
  printf '{"timestamp":5,"input_length":3,"output_length":5}\n{"timestamp":4,"input_length":3,"output_length":5}\n' > trace.jsonl
  try --trace trace.jsonl
  try --model no/such/folder --workload math
  try --workload math --max-concurrency 1000000 --ignore-eos --max-tokens 900
  echo > there.jsonl
  try --workload math --steps 1 -o there.jsonl
  try --workload math --steps 1 -o no/such/folder.jsonl
} 2>&1 | sed -E 's/[0-9.]+ GiB/N GiB/'
ls
