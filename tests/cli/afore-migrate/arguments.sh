#!/usr/bin/env bash
# What makes no sense is refused in one line, before memory is taken.
refused() {
  echo "\$ afore-migrate $*"
  afore-migrate "$@" 2>&1
  echo "exit $?"
}
refused -b 0
refused -b 2M -e 1M
refused -f 1
refused -n 0
refused -n
refused -n 1e3
refused -b 12KB
refused -b -5
refused -e 99999999T
refused -e 8000000T 2>&1 | sed -E 's/need .* of memory, and .* are/need N of memory, and M are/'
refused --workers 1
refused --workers 3
refused --pattern pear
refused --workers 4 calibrate
refused calibrate -b 1M -e 1M
refused calibrate --cost nowhere.json
refused -J no/such/folder.json
refused -J .
