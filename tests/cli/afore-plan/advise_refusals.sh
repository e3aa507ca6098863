#!/usr/bin/env bash
# What advice cannot be given on, and what of it is an answer all the same.
[[ -c /dev/full ]] || { echo "no /dev/full"; exit 77; }
STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
try() {
  echo "* ${*:2}"
  "$@" > out 2> err
  echo "= $?, $(wc -l < out) lines"
  head -n 2 out
  sed 's/choose from .*/choose from .../' err
}
advise() { afore-plan advise --workers 4 "$@"; }
: > empty
head -n 1 stream > header
grep -v '"phase":"warmup"' stream > steps           # a stream without its warm-up
awk '/"kind":"demand"/ && !/"step":3,/ { next } { print }' steps > one_step
sed '$d' stream | head -c -100 > cut
kind batch stream > batches
afore-plan --workers 4 stream > planned
try advise empty
try advise header
try advise batches
try advise cut
try advise missing
try advise one_step
try advise one_step --json
try advise stream                        # 4 steps after warm-up: an answer, with what is known
try advise stream --history-steps 4
try advise one_step --history-steps 1
try advise stream --history-steps 0
try advise stream --evaluate-steps 100
try advise stream --min-gain -1
try advise stream --min-gain nan
try advise stream --confidence 100
try advise stream --policies nothing
try advise stream --policies ''
try advise stream --policies afore,afore
try advise stream --policies ideal
try advise planned
try advise planned --replan
try afore-plan advise stream
try afore-plan advise --workers 4 --microbatches 3 stream
grep -v '"kind":"header"' stream > headerless
try advise headerless
try advise headerless --top-k 4 --microbatches 2 --model gpt-oss-20b
sed '1s/"source":"routing"/"source":"counts"/' stream > counts
try advise counts
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
try advise requests
sed '2s/^/{/' stream > broken
try advise broken
# A reader that has seen enough, an output that is full, a writer that was killed.
advise stream | head -n 0
[[ ${PIPESTATUS[0]} == 141 || ${PIPESTATUS[0]} == 1 ]] || echo "${PIPESTATUS[0]} before head"  # 1: it was faster
afore-plan advise --workers 4 stream > /dev/full
echo "full: $?"
afore-plan advise --workers 4 --json stream > /dev/full
echo "full: $?"
{ head -n 40 stream; kill -9 $BASHPID; } 2> /dev/null | afore-plan advise --workers 4 | head -n 1
# An endless stream is read as far as both windows go.
exec 3< <(cat stream && exec sleep 60)
writer=$!
advise --history-steps 2 --evaluate-steps 1 <&3 | head -n 1
kill "$writer"
