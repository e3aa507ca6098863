#!/usr/bin/env bash
# --report is a page beside the output, and changes no byte of that; of a replay it is the page that afore-trace makes of
# the same run's records.
set -euo pipefail
page="$AFORE_SOURCE_DIR/tests/cli/html_page.py"
STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
cluster='--workers 4 --attention-workers 2 --tile-tokens 16'
for input in stream requests; do
  echo "== replay $input"
  # shellcheck disable=SC2086
  {
    afore-serve replay --policy afore $cluster $input > plain
    afore-serve replay --policy afore $cluster --report $input.html $input > with_report
    afore-serve replay --policy afore $cluster --timeline $input > timeline
  }
  cmp plain with_report
  afore-trace plot all timeline > plotted.html
  cmp plotted.html $input.html
  python3 "$page" < $input.html
  # Percentiles of the picture are those of the summary.
  afore-trace plot cdf --to tsv timeline > cdf.tsv
  kind summary timeline | jq -r '"\(.median_itl_ms) \(.p95_itl_ms) \(.p99_itl_ms)"' | tr ' ' '\n' | paste - <(
    for q in 0.5 0.95 0.99; do awk -v q=$q '$1 == "ITL" && $3 >= q { print $2; exit }' <(cut -f 1,3,4 cdf.tsv); done) |
    awk '{ if (($1 - $2) ^ 2 > 1e-10) print "summary " $1 ", picture " $2 }'
done
echo "== replay of plans"
grep -v '"summary"' plain > planned
afore-serve replay planned > plain
afore-serve replay --report planned.html planned > with_report
cmp plain with_report
python3 "$page" < planned.html
for input in stream requests; do
  echo "== compare $input"
  # shellcheck disable=SC2086
  afore-serve compare --policies static,afore $cluster $input > plain 2> /dev/null
  # shellcheck disable=SC2086
  afore-serve compare --policies static,afore $cluster --report compare_$input.html $input > with_report 2> /dev/null
  cmp plain with_report
  python3 "$page" < compare_$input.html
done
# The page's numbers are the table's.
grep -o '<tr><td class="left">afore</td>.*' compare_stream.html | head -n 1
# shellcheck disable=SC2086
afore-serve compare --policies static,afore $cluster stream 2> /dev/null | grep '^afore'
echo "== run"
afore-serve run --workload mixed --num-prompts 6 --max-tokens 6 --json --report run.html > plain
jq -r .kind plain | sort | uniq -c
python3 "$page" < run.html
afore-serve run --host monolithic --workload mixed --num-prompts 2 --max-tokens 4 --json --report mono.html > /dev/null
python3 "$page" < mono.html
echo "== an existing file is not touched"
echo mine > mine.html
for command in 'replay stream' 'compare stream' 'run --prompt x'; do
  # shellcheck disable=SC2086
  afore-serve $command --report mine.html 2>&1 && echo "no error"
done
cat mine.html
