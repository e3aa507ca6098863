#!/usr/bin/env bash
# A filter before the server and a planner inside it make the same plans, and then the same things happen.
STEPS=8 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
for policy in static eplb afore ideal; do
  for objective in time tiles; do
    for window in '' '--window-us 300'; do
      flags="--policy $policy --objective $objective --workers 4 --slots 2 --tile-tokens 16 --eplb-interval 3 $window"
      # shellcheck disable=SC2086
      afore-plan $flags stream > planned
      afore-serve replay planned > outside
      # shellcheck disable=SC2086
      afore-serve replay $flags stream > inside
      for kind in plan placement observed; do
        cmp <(kind $kind outside) <(kind $kind inside) || echo "$kind: $flags"
      done
      cmp <(kind plan planned) <(kind plan inside) || echo "plans: $flags"
      [[ $(kind observed inside | wc -l) == $(kind plan inside | wc -l) ]] || echo "observed: $flags"
      cmp <(kind summary outside) <(kind summary inside) || echo "summary: $flags"
    done
  done
done
kind plan planned | wc -l
