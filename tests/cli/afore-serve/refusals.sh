#!/usr/bin/env bash
# What replay and compare do not take, and what makes them take it.
STEPS=2 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
try() {
  "$@" > out
  echo "= $?, $(wc -l < out) lines"
}
{
  afore-plan --policy paper --workers 4 stream > planned
  try afore-serve replay --policy static planned
  try afore-serve replay --policy static --ignore-plans planned
  kind plan out | jq -r .policy | sort -u
  try afore-serve compare planned
  try afore-serve compare --ignore-plans planned
  grep -v '"kind":"header"' planned > bare
  try afore-serve replay --policy static --workers 4 --top-k 4 --model gpt-oss-20b bare
  try afore-serve compare --workers 4 --microbatches 2 --top-k 4 --model gpt-oss-20b bare
  echo '{"logical_count":[[1,2,3,4],[4,3,2,1]]}' > counts.json
  afore-trace import --from sglang-count counts.json --top-k 2 > aggregate
  try afore-plan --workers 2 --slots 1 aggregate
  try afore-serve replay --workers 2 aggregate
  try afore-serve compare --workers 2 aggregate
  try afore-serve replay stream
  try afore-serve compare --policies static,best stream
  try afore-serve replay --policy static --workers 4 /dev/null
  # More microbatches than the default, where the header does not say how many.
  sed '1s/"microbatches":2//' stream > one
  try afore-plan --workers 4 one
  try afore-serve replay --policy eplb --workers 4 one
  try afore-serve compare --workers 4 one
  try afore-plan --workers 4 --microbatches 2 one
  # Steps of a microbatch that run backwards.
  { grep '"kind":"header"' stream; grep '"step":4' stream; grep '"step":3' stream; } > backwards
  try afore-serve replay --policy static --workers 4 backwards
  try afore-serve compare --workers 4 backwards
  # Plans that cannot be executed.
  at=$(grep -n '"kind":"plan"' planned | sed -n '3s/:.*//p')
  sed -E "${at}s/\"copies\":\[[^]]*\]/\"copies\":[{\"expert\":31,\"from\":0,\"to\":1,\"slot\":9}]/" planned > bad
  try afore-serve replay bad
  sed -E "${at}s/\"seq\":[0-9]+/\"seq\":0/" planned > bad
  try afore-serve replay bad
  sed -E "${at}s/\"microbatch\":[0-9]+/\"microbatch\":1/;${at}s/\"step\":[0-9]+/\"step\":7/" planned > bad
  try afore-serve replay bad
  sed "$((at - 2))d" planned > bad
  try afore-serve replay bad
  # A map of another size, where no header says how many workers there are.
  {
    echo '{"kind":"placement","layer":1,"slots_per_worker":2,"physical_to_logical":[0,1,0,1]}'
    echo '{"kind":"demand","step":0,"layer":1,"microbatch":0,"phase":"decode","tokens":4,"counts":[2,2]}'
  } > small
  try afore-serve replay --workers 3 --top-k 1 --model gpt-oss-20b small
  # Maps that do not fit.
  sized='{"kind":"header","v":1,"producer":"test","via":[],"model":{"experts":2,"top_k":1,"hidden":8,"moe_intermediate":8,"expert_bytes":384},"cluster":{"tile_tokens":64}}'
  (echo "$sized"; cat small) > map
  try afore-plan --workers 3 map
  (echo "$sized"; sed 's/\[0,1,0,1\]/[0,-1,0,0]/' small) > map
  try afore-plan --workers 2 map
  try afore-serve replay --workers 2 map
  try afore-serve replay --policy static --workers 2 map
} 2>&1
