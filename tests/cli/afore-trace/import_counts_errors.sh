#!/usr/bin/env bash
# What import refuses of summed counts.
try() {
  afore-trace import --from sglang-count "$@" 2>&1
  echo "= $?"
}
echo '{"logical_count":[[4,2,2],[5,2,2]]}' > odd.json
echo '{"logical_count":[[4,2,2],[5,2]]}' > ragged.json
echo '{"logical_count":[[4,2.5,2]]}' > fraction.json
echo '{"logical_count":[[4,-2,2]]}' > negative.json
echo '{"logical_count":[[0,0],[0,0]]}' > zero.json
echo '{"logical_count":[[6,1,1]]}' > impossible.json
echo '{"counts":[[6,1,1]]}' > key.json
echo '{"logical_count":[[2,1,1]]}' > good.json
for file in odd ragged fraction negative zero impossible key; do try $file.json --top-k 2; done
try good.json
try good.json --top-k 2 --tokens 8
try good.json --top-k 2 --microbatches 2
try good.json --top-k 2 --concurrent 2
try good.json good.json --top-k 2
afore-trace import --from sglang-count good.json --top-k 2 | afore-trace replay 2>&1
echo "= $?"
