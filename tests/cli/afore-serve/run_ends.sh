#!/usr/bin/env bash
# A run whose reader goes away, and one that a signal ends: in good order, with what was done until then.
run=(afore-serve run --workload mixed --num-prompts 3000 --max-concurrency 8 --json)
"${run[@]}" 2> err | head -n 1 | jq -r .kind
echo "= ${PIPESTATUS[0]}, $(wc -l < err) lines"
for host in threads monolithic; do
  : > out  # what the last one said must not count for the next, which may not have started yet
  "${run[@]}" --host $host --record $host.afl > out 2> err &
  pid=$!
  for ((i = 0; i < 600; ++i)); do
    [[ $(wc -l < out) -gt 2 ]] && break
    sleep 0.05
  done
  kill -INT $pid
  wait $pid
  echo "= $?, $(cat err)"
  afore-trace check $host.afl | head -n 1
  afore-trace merge -q $host.afl | grep -c '"kind":"header"'
done
# Without a file: the summary says so, and every request is accounted for.
: > out
"${run[@]}" > out 2> err &
pid=$!
for ((i = 0; i < 600; ++i)); do [[ $(wc -l < out) -gt 2 ]] && break; sleep 0.05; done
kill -INT $pid
wait $pid
echo "= $?"
tail -n 1 out | jq -c '.completed as $done | .afore | [.interrupted, .injected == $done + .queued + .running]'
