#!/usr/bin/env bash
# nccl-tests' columns and footer, data verified, for every size of the sweep.
set -euo pipefail
afore-migrate -b 1K -e 8K -f 2 -n 5 -w 2 > out
awk '!/^#/ { print $1, $2, $3, $4, $5, $9, NF }' out
grep -E '^# Out of bounds values' out
awk '/^# Avg bus bandwidth    : [0-9]+\.[0-9]+$/ { print "average", ($6 > 0) }' out
awk '!/^#/ && ($6 <= 0 || $7 <= 0 || $8 != $7 || $10 < 0 || $11 < 0) { print "odd row: " $0 }' out
