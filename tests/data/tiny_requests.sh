# Sourced: writes `requests`, 60 arrivals with the bundled routing; GAP_MS apart on average, prompts to 200 tokens.
# The lines of a record kind of a file: `kind plan FILE`.
tiny=$AFORE_SOURCE_DIR/data/tiny-routing
awk -v gap="${GAP_MS:-4}" 'BEGIN {
  for (i = 0; i < 60; ++i) {
    printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [0]}\n",
      at, 1 + (i * 37) % 200, 1 + (i * 11) % 24
    at += (i * 7) % 3 * gap
  }
}' > trace.jsonl
afore-trace import --from mooncake trace.jsonl --routing math="$tiny/math.ids.u8.zst" --meta "$tiny/math.index.json" \
  --routing code="$tiny/code.ids.u8.zst" --meta "$tiny/code.index.json" --model gpt-oss-20b --microbatches 3 \
  --seed 5 > requests
kind() { grep "^{\"kind\":\"$1\"" "$2" || true; }
