#!/usr/bin/env bash
# A bad line in the middle: exit 3, one message, everything before it, nothing from it, no summary.
STEPS=6 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
afore-plan --workers 4 stream > planned
at=$(grep -n '"kind":"demand"' planned | sed -n '40s/:.*//p')
for flags in '' '--timeline'; do
  # shellcheck disable=SC2086
  afore-serve replay $flags planned > whole
  # shellcheck disable=SC2086
  sed "${at}s/\"counts\":\[/\"counts\":[-/" planned | afore-serve replay $flags > out
  echo "= $?"
  # What was out before the bad line is the beginning of what comes out for the whole stream.
  cmp out <(head -c "$(stat -c %s out)" whole)
  grep -v '^{"kind":"\(observed\|operation\)"' out | tail -n +2 | cmp - <(head -n $((at - 1)) planned | tail -n +2)
  (($(kind observed out | wc -l) > 20)) || echo "too few results"
done
sed '40s/^./x/' stream > bad
afore-serve compare --workers 4 bad > out
echo "= $?, $(wc -l < out) lines"
