#!/usr/bin/env bash
# Records while each write in turn finds the disk full: exit 4, and the log keeps whole frames and reads as truncated.
# Usage: full_disk_writes.sh LIBRARY STREAM, the tools on PATH, in a scratch folder. One line per way of failing.
set -euo pipefail
library=$1 stream=$2
bad=0
for way in '' :always :short :short:always; do
  runs=0
  for ((n = 1; n < 1000; n++)); do
    rm -f full*.afl got
    code=0
    LD_PRELOAD=$library AFORE_FAULT=write:$n$way afore-trace record "$stream" --fsync none --roll-bytes 64K \
      -o full.afl 2> err || code=$?
    # A short write alone is carried on; the run ends well. Otherwise no failure means there is no Nth write.
    grep -q 'cannot write' err || [[ $way == :short && $code == 0 ]] || break
    ((runs += 1))
    if [[ $way == :short ]]; then
      afore-trace merge full.afl $(ls full.?.afl 2> /dev/null) > got
      if cmp -s got "$stream"; then
        ((n < 40)) || break
        continue
      fi
    else
      [[ $code == 4 && $(wc -l < err) == 2 ]] || { echo "write $n$way: exit $code" && cat err && bad=1; }
      last=$(ls -v full*.afl | tail -n 1)
      [[ $last == full.afl ]] || last=$(ls -v full.?.afl | tail -n 1)
      code=0
      afore-trace check "$last" > facts 2> /dev/null || code=$?
      [[ $code == 1 ]] && grep -q ' 0 lines, 0 bytes, 0 damaged' facts || { echo "write $n$way: check $code" && bad=1; }
      afore-trace merge -q full.afl $(ls full.?.afl 2> /dev/null) > got
      size=$(stat -c %s got)
      cmp -s -n "$size" got "$stream" && ((size <= $(stat -c %s "$stream"))) && continue
    fi
    echo "write $n$way: the log holds other lines"
    bad=1
  done
  ((runs >= 8)) || bad=1
  echo "write${way:-:once}: $( ((runs >= 8)) && echo "every write tried" || echo "only $runs")"
done
exit "$bad"
