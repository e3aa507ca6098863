#!/usr/bin/env bash
# docs/tutorial.md does what it shows.
source "$AFORE_SOURCE_DIR/tests/support/run_page.bash"
cp "$AFORE_SOURCE_DIR/data/sglang-dump/expert_distribution_recorder.pt" dump.pt
run_page "$AFORE_SOURCE_DIR/docs/tutorial.md"
