#!/usr/bin/env bash
# Runs under faults: every target once, lost experts named, the same bytes from the same command line; what is refused.
set -euo pipefail
STEPS=6 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
run() { afore-serve replay --workers 4 --slots "${SLOTS:-8}" --tile-tokens 16 "$@" stream; }

targets=$(kind demand stream | wc -l)
for faults in kill:F2@3ms+1ms kill:F0@1ms+1ms,kill:F3@1500us+4ms 'pause:A0@1ms+2ms,pause:F1@2ms+3ms' \
  'slow@0us+5ms=8' 'late-plan:F1@1ms+3ms,lost-plan:F0@0us+9ms,late-done@0us+9ms=50us,hold:F3@1ms+4ms'; do
  for policy in static eplb afore; do
    run --policy $policy --eplb-interval 2 --faults "$faults" > out
    run --policy $policy --eplb-interval 2 --faults "$faults" | cmp - out
    observed=$(kind observed out | jq -c '[.step, .layer, .microbatch]' | sort -u | wc -l)
    ((observed == targets)) || echo "$faults $policy: $observed of $targets targets"
  done
done

# Without faults the same flags and one more change nothing.
run --policy afore > plain
run --policy afore --fault-seed 5 | cmp - plain

run --policy afore --faults kill:F2@3ms+1ms > out
kind membership out | jq -c '[.epoch, .at_ns, .lost_workers, (.reloads | length), .reload_ns]'
kind summary out | jq -c '.afore | [.epochs, .faults, .reloaded_experts, .gain_captured]'

try() {
  "$@" > out 2> err || code=$?
  echo "= ${code:-0}"
  cat err
  unset code
}
try run --policy ideal --faults kill:F2@3ms
try run --faults kill:F2@3ms
try run --policy afore --faults kill:F4@3ms
try run --policy afore --faults kill:F2@3
SLOTS=0 try run --policy afore --faults kill:F2@3ms+1ms
try afore-serve compare --workers 4 --slots 4 --faults kill:F2@3ms+1ms stream
afore-serve compare --workers 4 --slots 4 --policies static,eplb,afore --faults kill:F2@3ms+1ms --format json stream |
  jq -c '[.afore.policy, .afore.epochs, .afore.targets]'
