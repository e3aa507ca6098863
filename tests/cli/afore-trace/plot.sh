#!/usr/bin/env bash
# Every view of a small run, as drawn and as a table.
set -euo pipefail
source "$AFORE_SOURCE_DIR/tests/data/small_pictures.sh"
for view in heatmap load gantt cdf imbalance; do
  echo "== $view"
  afore-trace plot "$view" small > view.svg
  python3 -c 'import sys, xml.etree.ElementTree as tree; tree.parse(sys.argv[1])' view.svg
  sed -n '1,3p; /<style>/,/<\/style>/d; 4,$p' view.svg
  afore-trace plot "$view" --to tsv < small
done
