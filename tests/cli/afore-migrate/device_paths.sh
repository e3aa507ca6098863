#!/usr/bin/env bash
# A path that the device has not, and a device that is not there, are one line each; each path is a table of its own.
export AFORE_CUDA_PLUGIN=no/such/plugin.so
refused() {
  echo "\$ afore-migrate $*"
  afore-migrate "$@" 2>&1
  echo "exit $?"
}
refused --path d2d
refused --path host,peer
refused --path pear
refused --path host,
refused --device cuda
refused --device gpu
afore-migrate --device auto --path host,host --path host -b 1K -e 1K -n 2 -J r.json 2>&1 |
  sed -E 's/(device: )cpu: .*/\1cpu: NAME/' | grep -E '^#.(device|path)|note'
jq -c '[.device.kind, (.device.name | length > 0), .device.units > 0], [.devices[] | .virtual]' r.json
jq -c '.paths[] | [.path, .virtual_workers, .workers_per_unit, .out_of_bounds.okay, .average_bus_bandwidth.okay]' r.json
jq -c '[.results[] | .path], .config.seed' r.json
