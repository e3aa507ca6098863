#!/usr/bin/env bash
# What import refuses, with the exit code of each and nothing on standard output.
source "$AFORE_SOURCE_DIR/tests/data/make_routing.sh"
try() {
  afore-trace import "$@" 2>&1
  echo "= $?"
}
routing() { try --from routing-ids "$@"; }
head -c 23 small.ids.u8 > short.ids.u8
(cat small.ids.u8; printf '\0') > long.ids.u8
(head -c 20 small.ids.u8; printf '\4\0\0\2') > range.ids.u8
(head -c 20 small.ids.u8; printf '\1\1\0\2') > twice.ids.u8
sed 's/"experts":4/"experts":5/' small.json > other.json
routing small.ids.u8 --concurrent 2
routing small.ids.u8 --meta small.json
routing small.ids.u8 --meta small.json --concurrent 2 --prefill-chunk 2
routing small.ids.u8 --meta small.json --concurrent 2 --microbatches 3
routing small.ids.u8 --meta small.json --concurrent 2 --layers 1-2
routing small.ids.u8 --meta small.json --concurrent 2 --phases small
routing small.ids.u8 --meta small.json --concurrent 2 --phases big:3
routing small.ids.u8 --meta small.json --concurrent 2 --model none
routing small.ids.u8 --meta small.json --concurrent 2 --top-k 2
routing small.ids.u8 --meta small.json small.ids.u8 --meta small.json --concurrent 2
routing a=small.ids.u8 --meta small.json b=small.ids.u8 --meta other.json --concurrent 2
routing short.ids.u8 --meta small.json --concurrent 2
routing long.ids.u8 --meta small.json --concurrent 2
routing range.ids.u8 --meta small.json --concurrent 2
routing twice.ids.u8 --meta small.json --concurrent 2
routing none.ids.u8 --meta small.json --concurrent 2
