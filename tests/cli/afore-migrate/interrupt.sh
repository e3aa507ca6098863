#!/usr/bin/env bash
# SIGINT ends a long run within a second, with what was measured, marked.
afore-migrate -b 1M -e 1M -n 1000000 -J r.json > out &
pid=$!
for ((i = 0; i < 100; ++i)); do
  [[ -s out ]] && break
  sleep 0.05
done
sleep 0.2
before=$(date +%s%N)
kill -INT "$pid"
wait "$pid"
code=$?
(($(date +%s%N) - before < 1000000000)) || echo "slow to end"
grep -c '^# Interrupted' out
jq -c '[.interrupted, (.results | length)]' r.json
exit "$code"
