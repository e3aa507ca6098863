#!/usr/bin/env bash
# SIGINT and SIGTERM end a log in good order.
STEPS=8 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
mkfifo pipe
for signal in INT TERM; do
  (cat stream; exec sleep 60) > pipe &
  feeder=$!
  afore-trace record pipe -o $signal.afl &
  pid=$!
  for ((i = 0; i < 400; ++i)); do
    afore-trace merge -q $signal.afl 2> /dev/null | cmp -s - stream && break
    sleep 0.05
  done
  kill -$signal "$pid"
  wait "$pid"
  echo "record = $?"
  kill "$feeder" 2> /dev/null
  wait "$feeder" 2> /dev/null
  afore-trace check $signal.afl | head -n 1
  afore-trace merge $signal.afl | cmp - stream && echo "all lines"
done
afore-trace replay stream --interval-ms 20000 -o slow.afl &
pid=$!
for ((i = 0; i < 400; ++i)); do [[ -e slow.afl ]] && break; sleep 0.02; done
kill -INT "$pid"
wait "$pid"
echo "replay = $?"
afore-trace check slow.afl | head -n 1
