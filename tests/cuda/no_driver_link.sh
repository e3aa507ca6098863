#!/usr/bin/env bash
# Nothing that is built needs the driver's library to start: it is looked for when a device is asked for.
# Usage: no_driver_link.sh BIN_DIR
set -euo pipefail
found=0
for file in "$1"/afore-* "$1"/../lib/lib*.so; do
  [[ -x $file ]] || continue
  needed=$(objdump -p "$file" | awk '$1 == "NEEDED" { print $2 }')
  all=$(ldd "$file")
  if grep -E 'libcuda[.]so' <<< "$needed$all"; then
    echo "$file names the driver's library"
    exit 1
  fi
  # A tool carries nothing of CUDA at all; the plugin does, and is loaded when asked for.
  if [[ $file == */afore-* ]] && grep -E 'cuda|nccl|cublas' <<< "$needed"; then
    echo "$file links CUDA"
    exit 1
  fi
  found=$((found + 1))
done
((found >= 4))
echo "$found files"
