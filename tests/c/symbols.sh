#!/usr/bin/env bash
# symbols.sh LIBRARY LIST HEADER: the library shows what the list says, and every function of the header is in it.
set -euo pipefail
library=$1 list=$2 header=$3
nm -D --defined-only "$library" | awk '{ print $3 }' | LC_ALL=C sort | diff -u "$list" - ||
  { echo "what libafore.so shows has changed: what was there may not go; docs/embedding.md, 'Versions'"; exit 1; }
grep -oE '^AFORE_API [^(]*\b(afore_[a-z0-9_]+)\(' "$header" | grep -oE 'afore_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort |
  diff -u "$list" - || { echo "afore.h and libafore.so differ"; exit 1; }
readelf -d "$library" | grep -q 'SONAME.*\[libafore\.so\.0\]' || { echo "another soname"; exit 1; }
