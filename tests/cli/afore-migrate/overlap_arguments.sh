#!/usr/bin/env bash
# What makes no sense is refused in one line, before memory is taken.
refused() {
  echo "\$ afore-migrate $*"
  afore-migrate "$@" 2>&1 | sed -E 's/need .* of memory, and .* are/need N of memory, and M are/'
  echo "exit ${PIPESTATUS[0]}"
}
refused overlap
refused overlap --hidden 64
refused overlap --model nowhere
refused overlap --model afore-tin
touch weights.bin
refused overlap --model weights.bin
refused overlap --model afore-tiny --tokens 0
refused overlap --model afore-tiny --tokens 8,x
refused overlap --model afore-tiny --workers 3
refused overlap --model afore-tiny --copies 0
refused overlap --hidden 1048576 --intermediate 1048576
refused overlap --model afore-tiny -n 1 -J .
refused --workers 4 overlap --model afore-tiny
refused calibrate --hidden 64 -b 64K -e 128K
