#!/usr/bin/env bash
# The floors check finds what it is for: each planted violation is named, and the clean tree passes.
set -euo pipefail
source_dir=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$source_dir/FLOORS" "$scratch/"
mkdir -p "$scratch/lib/core" "$scratch/lib/wire" "$scratch/tools/common" "$scratch/tools/afore-plan" "$scratch/kernels"
printf '#include "util/error.h"\n' > "$scratch/lib/core/good.cc"
printf '#include <nlohmann/json.hpp>\n' > "$scratch/lib/wire/good.cc"
"$source_dir/tests/check_floors.sh" "$scratch"

expect() {  # expect FILE INCLUDE MESSAGE: planted alone, it is found
  printf '%s\n' "$2" > "$scratch/$1"
  local out
  if out=$("$source_dir/tests/check_floors.sh" "$scratch"); then
    echo "not found: $2 in $1"
    exit 1
  fi
  [[ $out == *"$3"* ]] || { echo "wrong message: $out"; exit 1; }
  rm "$scratch/$1"
}
expect lib/core/bad.cc '#include "wire/wire.h"' 'lib/core/bad.cc:1: core may not include wire'
expect lib/core/bad.h '  # include <nlohmann/json.hpp>' 'nlohmann/json.hpp belongs in'
expect tools/common/bad.h '#include <CLI/CLI.hpp>' 'CLI/CLI.hpp belongs in'
expect tools/afore-plan/bad.cc '#include <zstd.h>' 'zstd.h belongs in'
expect lib/core/bad.cc '#include <cuda_runtime.h>' 'cuda_runtime.h belongs in'
