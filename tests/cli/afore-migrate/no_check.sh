#!/usr/bin/env bash
# Without -c nothing is claimed about the data.
set -euo pipefail
afore-migrate -b 4K -e 4K -n 3 -c 0 -J r.json | awk '!/^#/ { print $9 }'
jq -c '.results[0].out_of_place.nwrong' r.json
