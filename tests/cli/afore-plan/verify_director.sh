#!/usr/bin/env bash
# What Director's optimiser and its annealing baseline plan passes the checker, whatever the demand they are given, and a
# second run writes the same bytes. How many copies they make is not pinned: a linear program has many optima.
STEPS=6 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
for policy in director annealing; do
  for objective in time tiles; do
    for source in prefetch last_step window; do
      flags=(--policy $policy --objective $objective --demand-source $source --workers 5 --slots 1 --tile-tokens 16)
      afore-plan "${flags[@]}" stream > planned
      afore-plan "${flags[@]}" stream | cmp - planned
      echo "$policy $objective $source: $(afore-plan verify planned 2>&1 | cut -d, -f1)"
    done
  done
done
