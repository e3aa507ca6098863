#!/usr/bin/env bash
# -J writes nccl-tests' keys once, and never over an existing file.
afore-migrate -b 4K -e 8K -n 3 -J r.json > /dev/null || exit
jq -c 'keys_unsorted' r.json
jq -c '.results[0] | keys_unsorted, (.per_iter | keys_unsorted)' r.json
jq -c '[.measured, .args, .out_of_bounds, (.results | map(.size)), (.results[0].per_iter.times_us | length), .config.iters]' r.json
cp r.json before.json
afore-migrate -b 4K -e 8K -n 3 -J r.json
code=$?
cmp r.json before.json && ls
exit "$code"
