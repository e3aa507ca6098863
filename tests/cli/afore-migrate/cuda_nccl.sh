#!/usr/bin/env bash
# Copies by NCCL's send and receive, over the stand-ins for CUDA and NCCL: a table, JSON, overlap and a cost file of the
# path, and why it is not there.
plugin=$(dirname "$(command -v afore-migrate)")/../lib/libafore_cuda_shim.so
[[ -e $plugin ]] || { echo "no $plugin"; exit 77; }
export AFORE_CUDA_PLUGIN=$plugin AFORE_SHIM_DEVICES=4
sizes=(-b 1K -e 4K -n 3 -w 1)
afore-migrate -q --device cuda "${sizes[@]}" --workers 4 --pattern fanout --json > all.json
jq -c '.paths[] | [.path, .virtual_workers, .workers_per_unit, .out_of_bounds.okay]' all.json
jq -c '.results[] | select(.path == "nccl") | [.size, .out_of_place.nwrong]' all.json
afore-migrate -q --device cuda "${sizes[@]}" --path nccl | grep -E '^# path'
afore-migrate overlap -q --device cuda --path nccl --workers 4 --hidden 32 --intermediate 16 --experts 2 --copies 3 \
  --tokens 1,4 -n 1 -w 0 --json | jq -c '.results[] | [.path, .tokens_per_expert, .nwrong]'
afore-migrate calibrate -q --device cuda -b 256K -e 4M -f 4 -n 5 -w 1 --path nccl,peer 2> calibrate.log |
  jq -c '.measured.copies[] | [.path, .bytes_per_s > 0]'
for flags in "cuda --workers 8" "cuda --workers 6 --path peer" "cpu"; do
  # shellcheck disable=SC2086  # flags are words
  afore-migrate -q --path nccl --device $flags 2>&1
  echo "= $?"
done
