#!/usr/bin/env bash
# A planned stream is planned again only when asked, and then as if it had never been planned.
STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
afore-plan --policy eplb --eplb-interval 2 --workers 4 stream > planned
afore-plan --policy afore < planned > out
echo "= $?, $(wc -l < out) lines"
kind plan planned > headerless
grep -v '^{"kind":"header"' planned | afore-plan --policy afore --workers 4 --top-k 4 > out
echo "= $?"
afore-plan --policy afore --workers 4 stream > fresh
afore-serve replay planned > served
for file in planned served; do
  afore-plan --policy afore --replan < $file > again
  echo "= $?"
  grep -v '^{"kind":"\(summary\|header\)"' again | cmp - <(tail -n +2 fresh)
  head -n 1 again | jq -c '.planner.policy, .via'
done
