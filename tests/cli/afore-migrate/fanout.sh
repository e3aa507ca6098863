#!/usr/bin/env bash
# One port serves every receiver: busbw counts all its copies.
set -euo pipefail
afore-migrate --pattern fanout --workers 5 -b 64K -e 64K -n 20 -J r.json > out
jq -c '.results[] | [.size, .out_of_place.nwrong, (.out_of_place.bus_bw / .out_of_place.alg_bw * 1000 | round)]' r.json
