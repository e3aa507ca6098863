#!/usr/bin/env bash
# One page for all views: valid, nothing loaded, whatever the stream's strings hold; the same bytes each time.
set -euo pipefail
source "$AFORE_SOURCE_DIR/tests/data/small_pictures.sh"
page="$AFORE_SOURCE_DIR/tests/cli/html_page.py"
afore-trace plot all small | python3 "$page"
afore-trace plot all small -o a.html
afore-trace plot all --to html - < small > b.html
cmp a.html b.html
afore-trace plot all small -o a.html && echo 'overwritten'
grep -o '<h1>.*</h1>' a.html
# What has no records says so, and the others are there.
grep -v '"operation"' small | afore-trace plot all | tee c.html | python3 "$page"
grep -o 'class="missing">.*' c.html
echo "== hostile"
# shellcheck disable=SC2016
MODEL='</title><script>alert(1)</script><img src=x onerror=\"alert(2)\">&amp;\u0000\ufffe' \
  source "$AFORE_SOURCE_DIR/tests/data/small_pictures.sh"
afore-trace plot all small | tee d.html | python3 "$page"
grep -o '<h1>.*</h1>' d.html
for view in heatmap load gantt cdf imbalance; do
  afore-trace plot "$view" small > view.svg
  python3 -c 'import sys, xml.etree.ElementTree as t
root = t.parse(sys.argv[1]).getroot()
tags = {e.tag.split("}")[1] for e in root.iter()}
print(sorted(tags - set("svg style title desc g rect line circle path text".split())))' view.svg
done
