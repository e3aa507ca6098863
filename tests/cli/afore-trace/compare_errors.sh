#!/usr/bin/env bash
# What compare refuses, and with which exit code.
set -uo pipefail
try() {
  echo "$ $*"
  "$@" 2>&1
  echo "= $?"
}
echo '{"kind":"summary","output_throughput":100}' > a
echo '{"kind":"summary","mean_tpot_ms":2}' > b
echo '{"kind":"observed","step":1,"layer":0,"microbatch":0,"seq":1,"ffn_ns":1,"migration_ns":0,"window_ns":0,"exposed_ns":0,"slack_ns":0,"slot_wait_ns":0}' > c
: > empty
echo '{"kind":"summary","output_throughput":"fast"}' > bad
try afore-trace compare a
try afore-trace compare a b
try afore-trace compare a c
try afore-trace compare c empty
try afore-trace compare a bad
try afore-trace compare a none
try afore-trace compare - -
try afore-trace compare a a --metrics output_throughput
try afore-trace compare a a --max-mape -1
try afore-trace compare a a --max-mape nan
try afore-trace compare a a --max-mape 1 --metrics output_thruput
try afore-trace compare a a --max-mape 1 --metrics output_throughput,
try afore-trace compare c c --max-mape 1
