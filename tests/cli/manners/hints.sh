#!/usr/bin/env bash
# The nearest flag, command or value, and where a flag belongs; exit 2 every time.
say() {
  echo "\$ $*"
  "$@" 2>&1 < /dev/null
  local code=$?
  ((code == 2)) || echo "exit $code"
}
say afore-trace stat --wokers 4 x
say afore-trace syth
say afore-plan --objective tmie x
say afore-trace import --from azure-cvs x
say afore-trace stat --steps 4 x
say afore-trace --steps 4 synth
say afore-plan verify --workers 4 x
say afore-migrate --cost a100
say afore-serve compare --policies statc,afore x
say afore-trace synth --model gpt-oss-2b --tokens 5
say afore-migrate calibrate --cost h10
exit 0
