#!/usr/bin/env bash
# python.sh SOURCE_DIR LIBRARY BIN: afore.py by its tests, and the example over recorded routing: as many copies as
# afore-plan makes of the same stream.
set -euo pipefail
source_dir=$1 bin=$3
command -v python3 > /dev/null || { echo "python3 is not installed"; exit 77; }
export AFORE_LIBRARY=$2 PYTHONPATH=$source_dir/lib/c/python PYTHONDONTWRITEBYTECODE=1
python3 "$source_dir/tests/c/python_test.py"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tiny=$source_dir/data/tiny-routing
"$bin/afore-trace" import --from routing-ids "$tiny/math.ids.u8.zst" --meta "$tiny/math.index.json" --concurrent 200 \
  --microbatches 3 --steps 20 -q > "$scratch/stream"
"$bin/afore-plan" --workers 4 --tile-tokens 4 --primaries contiguous --only plan -q < "$scratch/stream" > "$scratch/plans"
expected=$(grep -o '"from":' "$scratch/plans" | wc -l)
python3 "$source_dir/lib/c/python/plan_from_python.py" "$scratch/stream" --workers 4 --tile-tokens 4 --readers 2 \
  > "$scratch/told"
cat "$scratch/told"
((expected > 0))
[[ $(grep -c "^reader .: $expected copies$" "$scratch/told") == 2 ]]
[[ $(awk '/^layer/ { copies += $5 } END { print copies }' "$scratch/told") == "$expected" ]]
