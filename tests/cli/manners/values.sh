#!/usr/bin/env bash
# Values that no command takes: none at all, flags that are given twice, and files that would be written over one another.
try() {
  echo "\$ $*"
  "$@" < /dev/null 2>&1
  echo "= $?"
}
mkdir folder && ln -s folder link
try afore-serve run --prompt x --record ''
try afore-serve run --prompt ''
try afore-serve compare --report '' stream
try afore-serve replay ''
try afore-plan --workers 4 --cost ''
try afore-trace head -o ''
try afore-migrate -J ''
try afore-serve run --prompt x --record
try afore-serve run --prompt x --record a --record b
try afore-plan --workers 4 --workers 8 --workers 4
try afore-serve run --prompt x --record same --report same
try afore-serve run --prompt x --report ./same --record same
try afore-serve run --prompt x --record link/same --report ./folder/../folder/same
try afore-serve compare --summaries s --report s stream
try afore-serve run --prompt x --record - --report -
try afore-serve run --prompt x --report -
try afore-serve compare --summaries - stream
try afore-migrate -J -
try afore-migrate overlap --model afore-tiny -J - --json
try afore-trace fit-cost -o - table.csv
ls folder *same* 2> /dev/null
exit 0
