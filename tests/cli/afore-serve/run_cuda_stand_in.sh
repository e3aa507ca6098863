#!/usr/bin/env bash
# The CUDA device over its stand-in on the CPU answers as the processors do, with sums of rows and of workers, and says
# what it is.
plugin=$(dirname "$(command -v afore-serve)")/../lib/libafore_cuda_shim.so
[[ -e $plugin ]] || { echo "no $plugin"; exit 77; }
export AFORE_CUDA_PLUGIN=$plugin
run() { afore-serve run --prompt "The harbour was quiet when" --max-tokens 6 --json "$@"; }
ids() { jq -c 'select(.kind == "completion").token_ids' "$@"; }
run --isa scalar > cpu
run --device cuda --combine exact > exact
run --device cuda --ffn-workers 3 --attention-workers 2 --tile-tokens 32 > partial
cmp <(ids cpu) <(ids exact) && cmp <(ids cpu) <(ids partial) && ids cpu
run --device cuda --sm-partitions off > plain
cmp <(ids exact) <(ids plain)
jq -r 'select(.kind == "summary").afore.device' exact partial plain
for flags in "--tile-tokens 8" "--isa avx2" "--threads 2" "--host monolithic"; do
  # shellcheck disable=SC2086  # flags are words
  run --device cuda $flags 2>&1
  echo "= $?"
done
run --device cpu --sm-partitions off 2>&1
echo "= $?"
# A plugin that was half copied is refused, not mapped.
head -c 300000 "$plugin" > cut.so
AFORE_CUDA_PLUGIN=cut.so run --device cuda 2>&1
echo "= $?"
AFORE_CUDA_PLUGIN=cut.so run --device auto --isa scalar 2>&1 > auto && cmp <(ids cpu) <(ids auto)
