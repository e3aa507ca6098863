#!/usr/bin/env bash
# Every C++ source is as clang-format leaves it.
set -euo pipefail
cd "$1"
command -v clang-format > /dev/null || { echo "clang-format is not installed"; exit 77; }
dirs=()
for dir in lib tools tests bench kernels; do [[ -d $dir ]] && dirs+=("$dir"); done
find "${dirs[@]}" \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 clang-format --dry-run --Werror
