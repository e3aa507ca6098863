#!/usr/bin/env bash
# What cannot be drawn is one line and a way to what is missing; nothing is left behind.
source "$AFORE_SOURCE_DIR/tests/data/small_pictures.sh"
try() {
  "$@" 2>&1 | sed 's/^/  /'
  echo "exit ${PIPESTATUS[0]}: ${*:2}"
}
grep -v '"operation"' small > no_operations
head -n 1 small > header_only
sed 's/"decode"/"warmup"/' small > warmup
try afore-trace plot gantt no_operations -o out.svg
try afore-trace plot gantt --to chrome no_operations
try afore-trace plot cdf no_operations
try afore-trace plot heatmap header_only
try afore-trace plot load warmup
try afore-trace plot imbalance /dev/null
try afore-trace plot gantt small --step 9
try afore-trace plot gantt small --to chrome --step 9
try afore-trace plot gantt small --window-us 900:950
try afore-trace plot gantt small --window-us 9
try afore-trace plot gantt small --window-us 5:3
try afore-trace plot cdf small --slo e2el:3
try afore-trace plot heatmap small --step 1
try afore-trace plot all small --to svg
try afore-trace plot load small --to chrome
try afore-trace plot cdf small --layers 0
try afore-trace plot heatmap small --layers 200
try afore-trace plot load small --workers 4
try afore-trace plot nothing small
try afore-trace plot
try afore-trace plot heatmap missing.jsonl
try afore-trace plot heatmap small -o small
echo 'not json' >> small
try afore-trace plot heatmap small -o out.svg
ls out.svg 2> /dev/null
exit 0
