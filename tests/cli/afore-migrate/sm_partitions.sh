#!/usr/bin/env bash
# Workers that share a GPU (its stand-in) have SMs of their own, and every output says how many, or why there are none.
set -euo pipefail
plugin=$(dirname "$(command -v afore-migrate)")/../lib/libafore_cuda_shim.so
[[ -e $plugin ]] || { echo "no $plugin"; exit 77; }
export AFORE_CUDA_PLUGIN=$plugin
try() { # WORKERS FLAGS
  echo "# $*"
  afore-migrate overlap -q --device cuda --hidden 64 --intermediate 32 --experts 1 --tokens 1 -n 1 -w 0 -J r.json \
    --workers "$@" | sed -nE 's/^# (path: .*)/\1/p'
  jq -c '.results[] | [.virtual_workers, .sm_partitions]' r.json
  rm r.json
}
try 2
try 4
try 8
try 2 --sm-partitions off
echo '# copies alone'
afore-migrate -q --device cuda -b 1K -e 1K -n 1 -w 0 --json | jq -c '.devices[].sms, .paths[].sm_partitions'
echo '# processors have none'
afore-migrate -q --sm-partitions off 2>&1 || echo "exit $?"
afore-migrate -q -b 1K -e 1K -n 1 -w 0 --json | jq -c '[.devices[], .paths[] | has("sms") or has("sm_partitions")]'
