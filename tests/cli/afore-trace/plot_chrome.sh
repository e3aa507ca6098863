#!/usr/bin/env bash
# Traces for Perfetto: what the format asks for, of a small run, a real one, and lanes that overlap.
set -euo pipefail
schema="$AFORE_SOURCE_DIR/tests/cli/chrome_schema.py"
source "$AFORE_SOURCE_DIR/tests/data/small_pictures.sh"
afore-trace plot gantt --to chrome small | tee small.json
python3 "$schema" < small.json
STEPS=3 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
afore-serve replay --timeline --policy afore --window-us 400 --workers 4 --attention-workers 2 --tile-tokens 16 stream > run
afore-trace plot gantt --to chrome run | python3 "$schema"
afore-trace plot gantt --to chrome --step 4 run | python3 "$schema"
afore-serve run --workload mixed --num-prompts 4 --max-tokens 4 --timeline --record threads.jsonl > /dev/null
afore-trace plot gantt --to chrome threads.jsonl | python3 "$schema" > /dev/null
echo "== overlap"
source "$AFORE_SOURCE_DIR/tests/data/small_pictures.sh"
{
  head -n 1 small
  operation F0 compute expert_ffn 0 0 0 100
  operation F0 compute expert_ffn 0 1 50 150
  operation F0 compute expert_ffn 0 0 100 100
} | afore-trace plot gantt --to chrome | tee overlap.json | python3 "$schema"
jq -r '.traceEvents[] | select(.name == "thread_name") | .args.name' overlap.json
