#!/usr/bin/env bash
# Every line of a planned stream but the header comes out as it was; the header only gains.
set -euo pipefail
STEPS=2 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
afore-plan --policy afore --workers 4 stream > planned
{
  head -n 1 planned | sed 's/"seed"/"ours": [1, 2.50],"seed"/'
  sed -n '2,6p' planned
  echo '{"kind":"note","text":"caf\u00e9",  "n":1e2}'
  sed -n '7,$p' planned | sed 's/"tokens":/"color":"red",  "tokens":/; s/"policy":/"mood":[],  "policy":/'
  echo '{"kind":"note","text":"end"}'
} > odd
afore-serve replay --timeline odd > served
grep -v '^{"kind":"\(observed\|operation\|summary\)"' served | tail -n +2 | cmp - <(tail -n +2 odd)
jq -es '.[0] as $in | .[1] as $out | ($out.via == $in.via + ["afore-serve '"$(afore-serve --version | cut -d' ' -f2)"'"])
  and ([$in | del(.via) | paths(scalars) as $p | getpath($p) == ($out | getpath($p))] | all)' \
  <(head -n 1 odd) <(head -n 1 served) > /dev/null
tail -n 1 served | jq -c '[.kind, .producer]'
