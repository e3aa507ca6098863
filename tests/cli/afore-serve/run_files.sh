#!/usr/bin/env bash
# Files of a run whose reader goes away, or that a second signal ends at once: whole, or not there.
run=(afore-serve run --workload mixed --num-prompts 3000 --max-concurrency 8 --json)
"${run[@]}" --record cut.jsonl | head -n 1 | jq -r .kind
echo "= ${PIPESTATUS[0]}"
"${run[@]}" --record cut.afl | head -n 1 | jq -r .kind
echo "= ${PIPESTATUS[0]}"
ls
afore-trace check -q cut.afl | head -n 1 | sed -E 's/[0-9]+/N/g'
# The reader is gone when all is done: the file is whole.
afore-serve run --prompt x --max-tokens 4 --json --record whole.jsonl | head -n 1 | jq -r .kind
tail -n 1 whole.jsonl | jq -r .kind
rm ./*
: > out  # the loop below may come first
"${run[@]}" --record twice.jsonl > out 2> err &
pid=$!
for ((i = 0; i < 600; ++i)); do [[ $(wc -l < out) -gt 2 ]] && break; sleep 0.05; done
ls twice.jsonl.*.unfinished | sed "s/$pid/PID/"
kill -STOP $pid  # so that both signals are there before it does anything
kill -INT $pid
kill -TERM $pid
kill -CONT $pid
wait $pid
[[ $? == 130 || $? == 143 ]] || echo "exit $?"
ls
