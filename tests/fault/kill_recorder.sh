#!/usr/bin/env bash
# Kills `afore-trace record` with SIGKILL at COUNT random moments; what it left must be readable, and the beginning of
# what it was given. Usage: kill_recorder.sh COUNT SEED, the tools on PATH, in a scratch folder. One line at the end.
set -euo pipefail
count=$1
RANDOM=$2
afore-trace synth --model glm-4.5-air --layers 1-12 --steps 1000 --microbatches 1 --tokens 1024 --seed 1 -o all.jsonl
# Delays are drawn from the time that an eighth takes, so that nearly all kills hit a recorder at work.
head -n 1500 all.jsonl > eighth.jsonl
begin=$(date +%s%N)
afore-trace record eighth.jsonl --fsync none -o eighth.afl
duration_us=$((($(date +%s%N) - begin) / 1000))
whole=0 torn=0 empty=0 bad=0
for ((i = 0; i < count; i++)); do
  rm -f log.afl got
  cat all.jsonl | exec afore-trace record --fsync none -o log.afl 2> /dev/null &
  pid=$!
  delay_us=$(((RANDOM * 32768 + RANDOM) % duration_us))
  sleep "$(printf '0.%06d' "$((delay_us % 1000000))")"
  kill -KILL "$pid" 2> /dev/null || true
  wait "$pid" 2> /dev/null || true
  if [[ ! -e log.afl ]]; then  # killed before it began
    ((++empty))
    continue
  fi
  code=0
  afore-trace check log.afl > facts 2> /dev/null || code=$?
  afore-trace merge -q log.afl > got
  size=$(stat -c %s got)
  if ((code > 1)) || ! cmp -s -n "$size" got all.jsonl || { ((size)) && [[ $(tail -c 1 got | od -An -c) != *'\n'* ]]; }; then
    ((++bad))
    echo "kill $i after $delay_us us: check says $code" >&2
  fi
  if ((size == 0)); then ((++empty)); elif ((code)); then ((++torn)); else ((++whole)); fi
done
echo "kills $count: log ended $whole, cut $torn, without lines $empty, wrong $bad"
((bad == 0))
