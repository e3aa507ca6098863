#!/usr/bin/env bash
# Without a device auto says so in one line and computes on processors.
export AFORE_CUDA_PLUGIN=no/such/plugin.so
run() { afore-serve run --prompt "The harbour was" --max-tokens 4 --json "$@" | grep completion | sed 's/"arrival.*"token_ids"/"token_ids"/'; }
run --device cpu > cpu
run --device auto > auto
cmp cpu auto && wc -l < auto
