#!/usr/bin/env bash
# Summed counts: 2-D and 3-D, integral floats, dense rows dropped; as they are and as drawn steps.
set -euo pipefail
echo '{"logical_count":[[0.0,0.0,0.0],[4.0,2.0,2.0],[10000000.0,7000000,3000000]]}' > flat.json
echo '{"logical_count":[[[0,0,0],[1,1,0],[5000000,3500000,1500000]],[[0,0,0],[3,1,2],[5000000,3500000,1500000]]]}' > cube.json
afore-trace import --from sglang-count flat.json --top-k 2
afore-trace import --from sglang-count cube.json --top-k 2 --quiet |
  cmp - <(afore-trace import --from sglang-count flat.json --top-k 2 --quiet) && echo "3-D sums to the same"
draw() { afore-trace import --from sglang-count flat.json --top-k 2 --quiet --sample-steps 2 --tokens 100 "$@"; }
draw --seed 7 --microbatches 2
cmp <(draw --seed 7) <(draw --seed 7 --microbatches 3 | grep -v '"microbatch":[12]' | sed 's/"microbatches":3/"microbatches":1/') &&
  echo "another microbatch changes nothing for the first"
