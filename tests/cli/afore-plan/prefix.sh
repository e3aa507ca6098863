#!/usr/bin/env bash
# What comes out for the first lines of a stream is the beginning of what comes out for all of it.
# (Primaries that are balanced on the warm-up depend on all of it: here they are not.)
set -euo pipefail
STEPS=6 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
lines=$(wc -l < stream)
for policy in static eplb afore paper ideal; do
  afore-plan --primaries contiguous --policy $policy --eplb-interval 2 --workers 4 stream > whole
  for n in 1 2 3 4 17 60 61 62 63 $((lines - 1)); do
    head -n "$n" stream | afore-plan --primaries contiguous --policy $policy --eplb-interval 2 --workers 4 > part
    cmp part <(head -c "$(stat -c %s part)" whole) || echo "$policy, $n lines"
    (($(grep -vc '"kind":"\(plan\|placement\)"' part) == n)) || echo "$policy, $n lines: some are missing"
  done
  for demand_source in last_step window; do
    afore-plan --primaries contiguous --policy $policy --demand-source $demand_source --eplb-interval 2 --workers 4 stream > whole
    head -n 61 stream | afore-plan --primaries contiguous --policy $policy --demand-source $demand_source --eplb-interval 2 --workers 4 > part
    cmp part <(head -c "$(stat -c %s part)" whole) || echo "$policy, $demand_source"
  done
done
