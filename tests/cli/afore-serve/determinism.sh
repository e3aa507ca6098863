#!/usr/bin/env bash
# The bytes of a fixed list of pipelines. The expectation is the same for every preset, so that runs of this test
# under different optimisation levels and sanitizers prove the same bytes. `tests/cli/update` renews it.
set -euo pipefail
STEPS=10 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
hash() { printf '%s  %s\n' "$(sha256sum | cut -c 1-16)" "$1"; }
hash 'import' < stream
for shape in lognormal zipf; do
  afore-trace synth --model qwen3-30b-a3b --layers 3 --steps 6 --microbatches 2 --tokens 512 --seed 7 --popularity $shape > synth
  hash "synth $shape" < synth
  for policy in static eplb afore ideal; do
    for objective in time tiles; do
      flags="--policy $policy --objective $objective --workers 6 --slots 1 --tile-tokens 16 --eplb-interval 3 --window-us 200"
      for input in stream synth; do
        [[ $input == stream && $shape == zipf ]] && continue
        name=$input
        [[ $input == synth ]] && name="synth $shape"
        # shellcheck disable=SC2086
        afore-plan $flags --summary $input > planned
        hash "plan ${name} $policy $objective" < planned
        afore-plan verify planned > said
        afore-serve replay --timeline planned | hash "replay ${name} $policy $objective"
      done
    done
  done
done
for source in last_step window; do
  afore-plan --policy afore --demand-source $source --workers 6 --tile-tokens 16 stream | hash "plan from $source"
done
afore-serve compare --workers 6 --tile-tokens 16 --eplb-interval 3 --window-us 200 stream | hash 'compare'
afore-serve compare --workers 6 --tile-tokens 16 --eplb-interval 3 --format json --overlap off stream | hash 'compare, no overlap'
source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
hash 'import requests' < requests
for policy in static eplb afore ideal; do
  afore-serve replay --timeline --policy $policy --workers 6 --slots 1 --tile-tokens 16 --eplb-interval 3 --window-us 200 \
    --max-num-seqs 4 --max-queue-ms 20 --timeout-s 0.05 --goodput 'ttft:3 tpot:1' requests | hash "serve requests $policy"
done
afore-serve compare --workers 6 --tile-tokens 16 --eplb-interval 3 --format json requests | hash 'compare requests'
