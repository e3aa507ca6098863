#!/usr/bin/env bash
# On the CUDA device's stand-in: settings are refused before anything is on standard output.
plugin=$(dirname "$(command -v afore-migrate)")/../lib/libafore_cuda_shim.so
[[ -e $plugin ]] || { echo "no $plugin"; exit 77; }
export AFORE_CUDA_PLUGIN=$plugin
refused() {
  echo "\$ afore-migrate $*"
  afore-migrate "$@" 2> err
  echo "= $?: $(cat err)"
}
refused overlap --device cuda --hidden 63 --intermediate 64
refused overlap --device cuda --hidden 64 --intermediate 64 --tile-tokens 8
refused overlap --device cuda --hidden 64 --intermediate 64 --threads 2
refused overlap --device auto --hidden 64 --intermediate 64 --threads 2
refused calibrate --device cuda --hidden 64 --intermediate 64 --threads 2 -b 64K -e 128K
overlap() { afore-migrate overlap -q --hidden 64 --intermediate 64 --tokens 8 -n 1 --json "$@" | jq -c .config.tile_tokens; }
overlap --device cuda --tile-tokens 32
overlap --device cuda
overlap --device cpu
