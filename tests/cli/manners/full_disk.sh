#!/usr/bin/env bash
# A full output is exit 4 and one line.
[[ -c /dev/full ]] || { echo "no /dev/full"; exit 77; }
for tool in $AFORE_TOOLS; do
  for flag in --help --version --print-completion=bash --print-man; do
    "$tool" $flag > /dev/full 2> err
    code=$?
    [[ $code == 4 ]] || echo "$tool $flag: exit $code"
    grep -qE "^$tool: error: .*(stdout|standard output)" err || cat err
    [[ $(wc -l < err) == 1 ]] || cat err
  done
done
afore-migrate -b 1K -e 1K -n 1 > /dev/full 2> err
code=$?
cat err >&2
exit "$code"
