#!/usr/bin/env bash
# SIGINT ends a run whose input goes on, within a second, with a marked summary.
STEPS=8 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
mkfifo pipe
try() {
  (cat stream; exec sleep 60) > pipe &
  feeder=$!
  "$@" pipe > out &
  pid=$!
  for ((i = 0; i < 200; ++i)); do
    [[ -s out || $2 == compare && $i -gt 20 ]] && break
    sleep 0.05
  done
  sleep 0.3
  before=$(date +%s%N)
  kill -INT "$pid"
  wait "$pid"
  echo "= $?"
  (($(date +%s%N) - before < 1000000000)) || echo "slow to end"
  kill "$feeder" 2> /dev/null
  wait "$feeder" 2> /dev/null
  kind summary out | jq -c '[.producer, .afore.policy, .afore.interrupted, .afore.targets > 0]'
}
try afore-serve replay --policy afore --workers 4
try afore-serve compare --policies static,afore --workers 4 --format json
try afore-plan --summary --workers 4
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
mv requests stream
try afore-serve replay --policy afore --workers 4
kind summary out | jq -c '.completed as $done | .afore |
  [.injected > 0, .injected == $done + .queued + .running + .rejected + .timed_out]'
