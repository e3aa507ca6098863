#!/usr/bin/env bash
# A disk that is full at each write in turn.
set -euo pipefail
library=$(dirname "$(command -v afore-trace)")/libafore_fault.so
[[ -e $library ]] || { echo "no fault library in this build"; exit 77; }
afore-trace synth --model glm-4.5-air --layers 1-4 --tokens 512 --steps 200 > stream
"$AFORE_SOURCE_DIR/tests/fault/full_disk_writes.sh" "$library" stream
rm -f x.afl
LD_PRELOAD=$library AFORE_FAULT=write:4:always afore-trace record stream -o x.afl || echo "= $?"
rm -f x.afl
LD_PRELOAD=$library AFORE_FAULT=fsync:1 afore-trace record stream -o x.afl || echo "= $?"
afore-trace merge x.afl | cmp - stream && echo "all lines are there"
