#!/usr/bin/env bash
# No source is longer than 600 lines.
set -euo pipefail
cd "$1"
dirs=()
for dir in lib tools tests bench kernels scripts; do [[ -d $dir ]] && dirs+=("$dir"); done
find "${dirs[@]}" -type f \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' -o -name '*.sh' -o \
  -name '*.cmake' -o -path 'scripts/*' \) -print0 | xargs -0 -n 1 wc -l |
  awk '$1 > 600 { print $2 ": " $1 " lines, over 600"; bad = 1 } END { exit bad }'
