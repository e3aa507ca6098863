#!/usr/bin/env bash
# Whether moving replicas helps, on the bundled routing: each of the three answers, and the reasons for the third.
tiny=$AFORE_SOURCE_DIR/data/tiny-routing
import() {  # import CONCURRENT STEPS [DOMAIN DOMAIN]: steps of one domain, or half of one and half of the other
  local one=${3:-math} two=${4:-}
  set -- "$1" "$2" "$one=$tiny/$one.ids.u8.zst" --meta "$tiny/$one.index.json" \
    ${two:+"$two=$tiny/$two.ids.u8.zst" --meta "$tiny/$two.index.json" --phases "$one:$(($2 / 2)),$two:$(($2 / 2))"}
  afore-trace import --from routing-ids "${@:3}" --model gpt-oss-20b --concurrent "$1" --microbatches 3 --steps "$2"
}
try() {
  echo "* $*"
  afore-plan advise --workers 8 "$@"
  echo "= $?"
  echo
}
import 1200 40 > large
import 300 40 > small
import 1200 40 math code > switch
import 800 24 > border
try large
try small --policies paper
try border --policies paper             # the interval covers no gain and a gain worth it
try switch --policies paper             # history and evaluation are of two domains and contradict each other
try switch --policies paper             --history-steps 16         # so are the evaluation's own blocks
try large --history-steps 20 --evaluate-steps 9
try large --min-gain 20
try large --policies afore,split,eplb --eplb-interval 5
try large --window-us 0 --copy-budget 1 --links shared --confidence 99

# The last line of the table is the same stream through afore-serve; throughputs differ by how a run's ends are cut.
afore-plan advise --workers 8 --json large | jq -c '[.verdict, .policy, .history.steps, .evaluation.blocks, .shift.shifted,
  [.ways[].way], (.policies[] | .evaluation.low_percent > 0 and .split_percent == 0)]'
for stream in large small; do
  afore-plan advise --workers 8 --json $stream | jq -es 'length == 1 and .[0].kind == "advice" and .[0].v == 1' > /dev/null
  echo "one line: $?"
done
# The same question, the same bytes.
afore-plan advise --workers 8 large > once
afore-plan advise --workers 8 < large | cmp - once && echo same
# What stands in the stream is where it starts: a replica of every expert leaves copies nothing to do.
{
  head -n 1 large
  for layer in 1 2 3 4; do
    jq -nc --argjson layer $layer '{kind:"placement", layer:$layer, slots_per_worker:32,
      physical_to_logical:[range(8) as $w | range(32)]}'
  done
  tail -n +2 large
} > everywhere
afore-plan advise --workers 8 --slots 28 --json everywhere |
  jq -c '[.verdict, .reason, (.policies[0] | .split_percent > 5, .placement_percent, .copies_percent)]'
