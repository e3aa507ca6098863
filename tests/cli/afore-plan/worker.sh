#!/usr/bin/env bash
# --worker and --pin-experts: what plans say, that they are true, and that both flags keep to their limits.
STEPS=12 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
plan() { afore-plan --workers 5 --slots 1 --tile-tokens 16 "$@" stream; }
tiles_of() { # WORKER: its tiles in all plans
  sed -nE 's/.*"tile_load":\[([0-9,]*)\].*/\1/p' planned | awk -F, -v w="$1" '{ sum += $(w + 1) } END { print sum }'
}
traits=(--worker "2:slow=1.5,link=0.5" --worker 4:drain --pin-experts "0,3-5")
plan "${traits[@]}" > planned
head -n 1 planned | grep -oE '"workers":\[[^]]*\]|"pinned_experts":\[[^]]*\]'
for objective in time tiles; do
  for policy in static balanced eplb afore joined paper split llep quota metro lplb harmoeny lina libra fastermoe director annealing ideal; do
    plan --policy $policy --objective $objective --demand-source last_step "${traits[@]}" > planned
    afore-plan verify planned > said || echo "$policy $objective, from a guess"
    plan --policy $policy --objective $objective --demand-source prefetch "${traits[@]}" > planned
    afore-plan verify planned > said || echo "$policy $objective"
    [[ $policy == eplb ]] && continue
    grep -qE '"expert":[0345],"from"|"to":4,' planned && echo "$policy $objective: copies what it must not"
  done
done
for policy in afore ideal; do
  plan --policy $policy > planned
  alike=$(tiles_of 2)
  plan --policy $policy --worker 2:slow=2 > planned
  echo "$policy: the slow worker's tiles $(tiles_of 2) of $alike"
  (($(tiles_of 2) < alike)) || echo "not fewer"
done
# A plan that claims another time, or a header that says less, is found out.
plan --worker 2:slow=2 > planned
sed '1s/,"workers":\[[^]]*\]//' planned | afore-plan verify 2>&1 | sed 's/ffn_ns.*/ffn_ns .../'
plan --window-us 400 > planned
to=$(grep -oE '"to":[0-9]+' planned | head -n 1 | cut -d: -f2)
sed "1s/\"tile_tokens\":16/&,\"workers\":[{\"worker\":$to,\"draining\":true}]/" planned > drained
cmp -s planned drained && echo "not changed"
afore-plan verify drained 2>&1 | sed -E 's/worker [0-9]+/worker N/'
# The rule of the cost file.
afore-plan --workers 5 --slots 1 --tile-tokens 16 --worker 1:slow=3 --cost "$AFORE_SOURCE_DIR/tests/data/roofline.json" \
  stream > planned
head -n 1 planned | grep -o '"rule":"[a-z]*"'
afore-plan verify planned > said || cat said
try() {
  echo "* $*"
  { plan "$@" > out; } 2>&1
  echo "= $?, $(wc -l < out) lines"
}
try --worker 5:drain
try --worker x:drain
try --worker -1:drain
try --worker 1
try --worker 1:
try --worker 1:slow
try --worker 1:slow=fast
try --worker 1:slow=0.05
try --worker 1:slow=nan
try --worker 1:link=0
try --worker 1:drain,
try --worker 1:drain=1
try --worker 1:drain --worker 1:slow=2
try --worker 0:drain --worker 1:drain --worker 2:drain --worker 3:drain --worker 4:drain
try --pin-experts 3-1
try --pin-experts 1000
try --worker 1:slow=1 | tail -n 1
plan --worker 1:slow=2 | afore-plan --replan --worker 1:slow=3
echo "= $?"
