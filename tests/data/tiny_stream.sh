# Sourced: writes `stream`, decode steps of the bundled routing whose domain changes half-way; STEPS counted ones.
# The lines of a record kind of a file: `kind plan FILE`.
tiny=$AFORE_SOURCE_DIR/data/tiny-routing
afore-trace import --from routing-ids math="$tiny/math.ids.u8.zst" --meta "$tiny/math.index.json" \
  code="$tiny/code.ids.u8.zst" --meta "$tiny/code.index.json" --model gpt-oss-20b --concurrent 600 --microbatches 2 \
  --warmup-steps 3 --steps "${STEPS:-12}" --phases "math:$((${STEPS:-12} / 2)),code:$(((${STEPS:-12} + 1) / 2))" > stream
kind() { grep "^{\"kind\":\"$1\"" "$2" || true; }
