#!/usr/bin/env bash
# clang-tidy with .clang-tidy over every source of lib/ and tools/, each by itself: so each includes what it uses, which
# presets that compile several at a time or precompile headers do not show.
set -euo pipefail
cd "$1"
command -v clang-tidy > /dev/null || { echo "clang-tidy is not installed"; exit 77; }
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
grep -E '^AFORE_(CUDA|HTTP):' "$2/CMakeCache.txt" | sed 's/^/-D/' |
  xargs cmake -S . -B "$commands" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_TESTING=OFF > "$commands/log" 2>&1 ||
  { tail -n 20 "$commands/log"; exit 1; }
sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$commands/compile_commands.json" | grep -E "^$PWD/(lib|tools)/.*\.cc$" | sort -u |
  xargs -P "$(nproc)" -n 1 clang-tidy -quiet -p "$commands"
