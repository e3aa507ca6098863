#!/usr/bin/env bash
# What run does not take, in one line.
try() {
  afore-serve run "$@" > said
  echo "= $?, $(wc -l < said) lines"
}
{
  try
  try --prompt x --tile-tokens 64
  try --prompt x --pace --host monolithic
  try --prompt x --timeline
  try --prompt x --isa sse2
  try --prompt x --policy best
  try --prompt x --ffn-workers 0
  try --prompt x --max-num-batched-tokens 8 --max-num-seqs 16
  try --prompt x --cost nothing.json
  try --prompt x --sizes glm-4.5-ait
  try --prompt x --model no/such/folder
  try --prompt x --record no/such/folder.jsonl
  export AFORE_CUDA_PLUGIN=no/such/plugin.so
  try --prompt x --device cuda
  try --prompt x --device cuda --host monolithic
  try --prompt x --weights tiny
  try --prompt x --weights random:nothing
  try --prompt x --weights random:glm-4.5-air --layers 1
  try --prompt x --weights random:glm-4.5-air --layers 47
  try --prompt x --weights random:glm-4.5-air --model .
  try --prompt x --layers 2
  touch there.jsonl
  try --prompt x --record there.jsonl
} 2>&1
afore-serve run --prompt x --max-tokens 2 > /dev/full
echo "= $?"
