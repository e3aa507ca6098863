#!/usr/bin/env bash
# SIGKILL at random moments leaves a readable beginning; what the recorder had taken when it waited is all there.
set -euo pipefail
"$AFORE_SOURCE_DIR/tests/fault/kill_recorder.sh" 50 1 | sed -E 's/ended.*wrong/..., wrong/'
STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
mkfifo pipe
afore-trace record pipe -o idle.afl &
pid=$!
exec 3> pipe
for lines in 1 2 40; do
  head -n "$lines" stream > part
  tail -n +"$((${before:-0} + 1))" part >&3
  before=$lines
  for ((i = 0; i < 600; i++)); do
    afore-trace merge -q idle.afl > got 2> /dev/null || true
    cmp -s got part && break
    sleep 0.05
  done
  echo "$(wc -l < got) of $lines lines are in the log"
done
code=0
afore-trace check idle.afl > facts 2> err || code=$?
echo "check = $code: $(grep writer facts)"
afore-trace repair idle.afl -o fixed.afl || echo "repair = $?"
{ kill -KILL "$pid" && wait "$pid"; } 2> /dev/null || true
exec 3>&-
afore-trace repair idle.afl -o fixed.afl
afore-trace merge fixed.afl | cmp - part
