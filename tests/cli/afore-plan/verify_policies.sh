#!/usr/bin/env bash
# What every policy plans passes the checker; one thing changed does not.
STEPS=12 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
for objective in time tiles; do
  for policy in static eplb afore ideal; do
    for source in prefetch last_step window; do
      for flags in '' '--window-us 40' '--gain-rule off' '--overlap off'; do
        # shellcheck disable=SC2086
        afore-plan --policy $policy --objective $objective --demand-source $source --workers 5 --slots 1 \
          --tile-tokens 16 --eplb-interval 3 $flags stream > planned
        afore-plan verify planned > said || echo "$policy $objective $source $flags"
        [[ $flags || $source != prefetch ]] || echo "$policy $objective: $(cat said)"
      done
    done
  done
done
afore-plan --policy afore --window-us 400 --objective tiles --workers 5 --slots 1 --tile-tokens 16 stream > planned
tamper() {
  sed -E "$(grep -n "$1" planned | head -n 1 | cut -d: -f1)$2" planned > tampered
  cmp -s planned tampered && echo "not changed: $2"
  afore-plan verify tampered > said 2>&1
  code=$?
  [[ $code == 1 && $(wc -l < said) == 1 ]] || { echo "$2: exit $code"; cat said; }
}
tamper '"copies":\[{' 's/"copies":\[[^]]*\]/"copies":[]/'
tamper '"copies":\[{' 's/"slot":[0-9]+/"slot":0/'
tamper '"certified":true' 's/"lower_bound":([0-9]+)/"lower_bound":1\1/'
tamper '"kind":"plan"' 's/"ffn_ns":([0-9]+)/"ffn_ns":1\1/'
tamper '"kind":"plan"' 's/"migration_ns":([0-9]+)/"migration_ns":9\1/'
tamper '"kind":"plan"' 's/"tile_load":\[/"tile_load":[1/'
tamper '"kind":"plan"' 's/"gain_ns":/"gain_ns":1/'
exit 0
