#!/usr/bin/env bash
# Every line of the input but the header comes out as it was, unknown kinds and keys included; the header only gains.
set -euo pipefail
STEPS=2 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
{
  head -n 1 stream | sed 's/"seed"/"ours": [1, 2.50],"seed"/'
  sed -n '2,5p' stream
  echo '{"kind":"note","text":"caf\u00e9",  "n":1e2}'
  sed -n '6,$p' stream | sed 's/"tokens":/"color":"red",  "tokens":/; s/^{"kind":"batch"/{ "weather" : null, "kind":"batch"/'
  echo '{"kind":"note","text":"end"}'
} > odd
for policy in static eplb afore ideal; do
  afore-plan --policy $policy --workers 4 --eplb-interval 2 odd > planned
  # Added lines have no key of ours and are plans or maps.
  grep -v '^{"kind":"\(plan\|placement\)"' planned | tail -n +2 | cmp - <(tail -n +2 odd)
  jq -es '.[0] as $in | .[1] as $out | ($out.via == $in.via + ["afore-plan '"$(afore-plan --version | cut -d' ' -f2)"'"])
    and ([$in | del(.via) | paths(scalars) as $p | getpath($p) == ($out | getpath($p))] | all)' \
    <(head -n 1 odd) <(head -n 1 planned) > /dev/null || echo "$policy: the header lost something"
done
