#!/usr/bin/env bash
# clang-tidy with .clang-tidy over every compiled source of lib/ and tools/.
set -euo pipefail
cd "$1"
command -v clang-tidy > /dev/null || { echo "clang-tidy is not installed"; exit 77; }
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
# Without the precompiled headers, which are another compiler's, and hide what a source forgets to include.
sed -E 's/-Winvalid-pch|-fpch-preprocess|-include [^ "]*cmake_pch\.hxx//g' "$2/compile_commands.json" > "$commands/compile_commands.json"
sed -nE 's/^ *"file": "(.*)",?$/\1/p' "$2/compile_commands.json" | grep -E "^$PWD/(lib|tools)/.*\.cc$" | sort -u |
  xargs -P "$(nproc)" -n 1 clang-tidy -quiet -p "$commands"
