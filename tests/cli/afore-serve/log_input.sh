#!/usr/bin/env bash
# Every tool reads a log as it reads its lines, and says what a damaged one lacks.
set -o pipefail
STEPS=12 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
afore-plan --workers 4 stream > planned
afore-trace record stream -o demand.afl
afore-trace record planned -o planned.afl
same() {
  local lines=$1 log=$2
  shift 2
  cmp <("$@" "$lines") <("$@" "$log") && cmp <("$@" "$lines") <("$@" < "$log") && echo "same: $*"
}
same stream demand.afl afore-plan --workers 4
same planned planned.afl afore-plan verify
same planned planned.afl afore-serve replay
same stream demand.afl afore-serve compare --policies static,afore --workers 4
same stream demand.afl afore-trace stat
same stream demand.afl afore-trace head -n 3
same stream demand.afl afore-trace replay --interval-ms 0
losses() { jq -c '.afore | [.input_lost_lines > 0, .input_lost_bytes > 0]' "$1"; }
size=$(stat -c %s demand.afl)
{ head -c $((size / 2)) demand.afl; printf '\377\0\377'; tail -c +$((size / 2 + 4)) demand.afl; } > bad.afl
head -c $((size - 700)) demand.afl > cut.afl
for log in bad cut; do
  for recover in strict tail skip; do
    for tool in 'afore-plan --summary' 'afore-serve replay --policy static' \
      'afore-serve compare --policies static --format json'; do
      $tool --workers 4 --recover $recover $log.afl 2> err | grep '"kind":"summary"' > summary
      echo "$log $recover ${tool%% -*}: ${PIPESTATUS[0]} $(losses summary) $(grep -c . err)"
    done
  done
done
afore-plan --workers 4 --summary stream | tail -n 1 | jq -c '.afore | has("input_lost_lines")'
afore-plan --workers 4 --recover skip bad.afl 2>&1 > /dev/null | sed -E 's/[0-9]+/N/g'
afore-plan --workers 4 cut.afl 2>&1 > /dev/null | sed -E 's/[0-9]+/N/g'
