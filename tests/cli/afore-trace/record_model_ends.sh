#!/usr/bin/env bash
# Readers that go away, full disks and signals.
record=(afore-trace record --workload mixed --max-concurrency 12)
"${record[@]}" --steps 100000 2> err | head -n 3 | cut -d, -f1
echo "= ${PIPESTATUS[0]}, $(wc -l < err) lines"
"${record[@]}" --steps 2 > /dev/full
echo "= $?"
for signal in INT TERM; do
  "${record[@]}" --steps 100000 > $signal.jsonl 2> err &
  pid=$!
  for ((i = 0; i < 600; ++i)); do
    [[ $(grep -c demand $signal.jsonl 2> /dev/null) -gt 20 ]] && break
    sleep 0.05
  done
  kill -$signal $pid
  wait $pid
  echo "= $?, $(cat err)"
  # Steps are whole: the last one that has a record has all of them.
  grep '"kind":"demand"' $signal.jsonl | jq -sc 'group_by(.step) | map(length % 4) | unique'  # all four layers of whoever began the step
  afore-plan --workers 2 --cost cpu $signal.jsonl > planned && afore-plan verify -q planned > /dev/null && echo verified
done
"${record[@]}" --steps 100000 -o cut.afl 2> err &
pid=$!
for ((i = 0; i < 600; ++i)); do
  [[ $(afore-trace merge -q cut.afl 2> /dev/null | grep -c demand) -gt 20 ]] && break
  sleep 0.05
done
kill -INT $pid
wait $pid
echo "= $?"
afore-trace check cut.afl | sed -E 's/[0-9]+/N/g' | head -n 1
"${record[@]}" --steps 100000 -o cut.jsonl 2> err &
pid=$!
for ((i = 0; i < 600; ++i)); do ls cut.jsonl.*.unfinished > /dev/null 2>&1 && break; sleep 0.05; done
sleep 0.3
kill -INT $pid
wait $pid
echo "= $?"
ls | grep -c 'cut.jsonl' || true
