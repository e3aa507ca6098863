#!/usr/bin/env bash
# calibrate writes a cost file that --cost takes, and leaves an existing one alone unless it is told to.
set -euo pipefail
afore-migrate calibrate -q -b 64K -e 1M -n 5 -o cost.json | sed -E 's/[0-9.]+ %/N %/; s/ns [0-9]+/ns N/; s/s [0-9]+/s N/'
jq -c '[.name, .copy_bytes_per_s > 0, .copy_latency_ns >= 0, .flops_per_s > 0]' cost.json
afore-migrate calibrate -q --cost cost.json -b 64K -e 1M -n 5 | jq -c .name
cp cost.json before.json
afore-migrate calibrate -q -b 64K -e 1M -n 5 -o cost.json && exit 1
cmp cost.json before.json
afore-migrate calibrate -q --cost h200 -b 64K -e 1M -n 5 -o cost.json --force > /dev/null
jq -c .name cost.json
ls
