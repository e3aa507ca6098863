#!/usr/bin/env bash
# What does not fit into memory is refused before it is taken, with what is needed and what there is.
try() {
  echo "\$ run $*"
  afore-serve run --prompt x --max-tokens 1 "$@" 2>&1 > /dev/null |
    sed -E 's/, and [0-9.]+ GiB are (available|free)/, and M GiB are \1/'
  echo "= ${PIPESTATUS[0]}"
}
try --kv-budget-tokens 1099511627776
try --kv-budget-tokens 1099511627776 --host monolithic --attention-workers 4
# A made-up model of 9 TiB, whose table of values is small.
mkdir huge
sed -E 's/("vocab_size": )[0-9]+/\18192/; s/("num_experts": )[0-9]+/\11024/; s/("num_hidden_layers": )[0-9]+/\196/; s/("moe_intermediate_size": )[0-9]+/\18192/' \
  "$AFORE_SOURCE_DIR/data/configs/qwen3-30b-a3b/config.json" > huge/config.json
try --weights random:huge
try --weights random:huge --host monolithic
try --weights random:huge --policy ideal --ffn-workers 64
