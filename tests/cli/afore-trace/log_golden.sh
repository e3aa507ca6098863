#!/usr/bin/env bash
# A log of format version 1, written once: every later version reads these lines out of it.
set -euo pipefail
golden=$AFORE_SOURCE_DIR/tests/data/log_v1.afl
afore-trace check "$golden" | sed "s,$AFORE_SOURCE_DIR/,,"
afore-trace merge "$golden" | sha256sum
afore-trace head -n 2 < "$golden"
# And one that says it is of a later version is refused by all, with both versions in the message.
{ head -c 8 "$golden"; printf '\2'; tail -c +10 "$golden"; } > flip.afl
afore-trace check flip.afl > /dev/null || echo "damaged = $?"
{ head -c 8 "$golden"; printf '\2\0\0\0%024d' 0; tail -c +37 "$golden"; } > later.afl
for command in 'afore-trace check' 'afore-trace stat --recover skip' afore-plan 'afore-plan verify --recover tail' \
  'afore-serve replay --recover strict'; do
  $command later.afl || echo "$command = $?"
done
