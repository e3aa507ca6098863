#!/usr/bin/env bash
# clang-tidy with .clang-tidy over every compiled source of lib/ and tools/.
set -euo pipefail
cd "$1"
command -v clang-tidy > /dev/null || { echo "clang-tidy is not installed"; exit 77; }
sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$2/compile_commands.json" | grep -E "^$PWD/(lib|tools)/.*\.cc$" | sort -u |
  xargs -P "$(nproc)" -n 1 clang-tidy -quiet -p "$2"
