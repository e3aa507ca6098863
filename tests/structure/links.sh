#!/usr/bin/env bash
# No tool needs CUDA or NCCL to start.
set -euo pipefail
found=0
for tool in "$2"/bin/afore-*; do
  found=1
  needed=$(ldd "$tool")
  if grep -E 'libcuda|libcudart|libnccl' <<< "$needed"; then
    echo "$tool links it"
    exit 1
  fi
  if grep 'not found' <<< "$needed"; then exit 1; fi
done
((found)) || { echo "no tools were built"; exit 1; }
