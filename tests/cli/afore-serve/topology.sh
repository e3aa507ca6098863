#!/usr/bin/env bash
# Attention and experts on the same ranks, and rows that are sent everywhere: what says so, and what is refused.
set -euo pipefail
STEPS=20 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
cluster=(--workers 4 --slots 2 --tile-tokens 16)
of() { afore-serve replay --policy afore "${cluster[@]}" "$@" stream; }
of > afd
of --topology afd --dispatch routed | cmp - afd
of --topology colocated > colocated
of --topology colocated | cmp - colocated
of --dispatch broadcast > broadcast
for run in afd colocated broadcast; do
  afore-plan verify --json $run | jq -c '[.ok, .observed]'
  grep '"kind":"summary"' $run > $run.summary
  jq -c '[.afore.topology, .afore.dispatch]' $run.summary
done
# The same plans either way; where attention and experts take turns, more time for them.
cmp <(grep '"kind":"plan"' afd) <(grep '"kind":"plan"' colocated)
jq -s 'map(.output_throughput) | [.[0] > .[1], .[0] >= .[2]]' -c {afd,colocated,broadcast}.summary
afore-serve compare "${cluster[@]}" --topology colocated --policies static,ideal stream | head -2
afore-serve compare "${cluster[@]}" --dispatch broadcast --policies static stream | sed -n '1p;3p'
# Requests that are served in a closed loop.
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
afore-serve replay --policy afore "${cluster[@]}" --topology colocated requests > served
afore-plan verify --json served | jq -c .ok
kind summary served | jq -c '[.afore.topology, .afore.injected, .completed]'
refused() {
  code=0
  afore-serve "$@" > out || code=$?
  echo "= $code, $(wc -l < out) lines"
}
refused replay --policy static "${cluster[@]}" --topology colocated --attention-workers 2 stream
refused compare "${cluster[@]}" --topology colocated --attention-workers 2 stream
sed '1s/"cluster":{/&"attention_workers":2,/' stream > two
refused replay --policy static "${cluster[@]}" --topology colocated two
refused replay --policy static "${cluster[@]}" --topology colocated --dispatch broadcast stream
refused replay --policy static "${cluster[@]}" --topology colocated --faults slow@1ms+1ms=2 stream
refused replay --policy static "${cluster[@]}" --topology ring stream
