#!/usr/bin/env bash
# What is refused about streams of requests.
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
try() {
  "$@" > out
  echo "= $?, $(wc -l < out) lines"
}
{
  try afore-serve replay --workers 4 requests
  try afore-serve replay --policy static requests
  try afore-serve replay --policy static --workers 4 --max-num-seqs 9 --max-num-batched-tokens 8 requests
  for limit in ttft ttft:0 ttft:x itl:5 'ttft:5 ttft:6'; do
    try afore-serve replay --policy static --workers 4 --goodput "$limit" requests
  done
  try afore-serve replay --policy static --workers 4 --timeout-s 0 requests
  # Flags for requests on a stream of targets.
  STEPS=2 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
  try afore-serve replay --policy static --workers 4 --max-queue 7 stream
  try afore-serve compare --policies static --workers 4 --goodput ttft:5 stream
  # Requests are served, not planned; and not once planning was tried.
  try afore-plan --workers 4 requests
  mv out tried
  try afore-serve replay tried
  # Lines that do not belong.
  (cat requests; grep '"kind":"demand"' stream | head -1) > joined
  try afore-serve replay --policy static --workers 4 joined
  (head -1 requests; grep '"kind":"request"' requests | head -1) > orphan
  try afore-serve replay --policy static --workers 4 --only summary orphan
  (head -3 requests; grep '"kind":"request"' requests | head -1) > twice
  try afore-serve replay --policy static --workers 4 --only summary twice
} 2>&1
