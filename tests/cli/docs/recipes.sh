#!/usr/bin/env bash
# The recipes of the README, as they stand there.
set -euo pipefail
awk '/^## Recipes/ { on = 1; next } /^## / { on = 0 } on && sub(/^    /, "")' "$AFORE_SOURCE_DIR/README.md" > recipes.sh
grep -q 'afore-plan place' recipes.sh && grep -q 'afore-plan ratio' recipes.sh && grep -q 'afore-migrate' recipes.sh
cp "$AFORE_SOURCE_DIR/data/sglang-dump/expert_distribution_recorder.pt" dump.pt
bash -euo pipefail -c "export PATH=$PATH; $(cat recipes.sh)" > out.txt 2> err.txt || { cat out.txt err.txt; exit 1; }
