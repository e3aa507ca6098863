#!/usr/bin/env bash
# install.sh SOURCE_DIR BUILD_DIR CMAKE CC [FLAGS]: installed into a prefix of its own, a C program finds the library by
# CMake's find_package and by pkg-config, and runs; the prefix may move.
set -euo pipefail
source_dir=$1 build_dir=$2 cmake=$3 cc=$4 flags=${5:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cmake" --install "$build_dir" --component library --prefix "$scratch/first" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
mv "$scratch/first" "$scratch/prefix"
prefix=$scratch/prefix
pc=$(find "$prefix" -name afore.pc)
lib=$(dirname "$(dirname "$pc")")
[[ -L $lib/libafore.so && -L $lib/libafore.so.0 && -f $lib/libafore.so.0.1.0 && -f $prefix/include/afore.h ]]
[[ -f $prefix/share/afore/python/afore.py ]]
if grep -rlI -e "$source_dir" -e "$build_dir" "$prefix"; then echo "these name the folder they were built in"; exit 1; fi

mkdir "$scratch/consumer"
cp "$source_dir/tests/c/abi.c" "$scratch/consumer/"
cat > "$scratch/consumer/CMakeLists.txt" << 'END'
cmake_minimum_required(VERSION 3.16)
project(consumer LANGUAGES C)
find_package(afore 0.1 REQUIRED)
add_executable(consumer abi.c)
target_link_libraries(consumer PRIVATE afore::afore)
END
"$cmake" -S "$scratch/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_C_FLAGS="$flags" > "$scratch/log"
"$cmake" --build "$scratch/build" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
"$scratch/build/consumer"

if command -v pkg-config > /dev/null; then
  export PKG_CONFIG_PATH=$lib/pkgconfig
  # shellcheck disable=SC2046  # flags are words
  "$cc" $flags -o "$scratch/plain" "$scratch/consumer/abi.c" $(pkg-config --cflags --libs afore)
  LD_LIBRARY_PATH=$lib "$scratch/plain"
  [[ $(pkg-config --modversion afore) == 0.1.0 ]]
fi
