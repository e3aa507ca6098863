#!/usr/bin/env bash
# The same of GPUs, where it is certain; their stand-in has this machine's memory.
plugin=$(dirname "$(command -v afore-serve)")/../lib/libafore_cuda_shim.so
[[ -e $plugin ]] || { echo "no $plugin"; exit 77; }
export AFORE_CUDA_PLUGIN=$plugin
try() {
  echo "\$ run $*"
  afore-serve run --prompt x --max-tokens 1 "$@" 2>&1 > /dev/null |
    sed -E 's/, and [0-9.]+ GiB are (available|free)/, and M GiB are \1/'
  echo "= ${PIPESTATUS[0]}"
}
# A made-up model of 9 TiB, whose table of values is small.
mkdir huge
sed -E 's/("vocab_size": )[0-9]+/\18192/; s/("num_experts": )[0-9]+/\11024/; s/("num_hidden_layers": )[0-9]+/\196/; s/("moe_intermediate_size": )[0-9]+/\18192/' \
  "$AFORE_SOURCE_DIR/data/configs/qwen3-30b-a3b/config.json" > huge/config.json
try --device cuda --weights random:huge
try --device cuda --kv-budget-tokens 1099511627776
