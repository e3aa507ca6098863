#!/usr/bin/env bash
# One row per window with what the copies take, what the FFN takes, and what of the copies is exposed.
set -euo pipefail
afore-migrate overlap -q --model afore-tiny --tokens 4,16 --copies 2 -n 4 -J r.json --seed 5 > out
awk '!/^#/ { print $1, NF, $(NF) }' out
sed -nE 's/^# path: (.*)/\1/p' out
jq -c 'keys_unsorted, .args, .config.seed' r.json
jq -c '.results[] | [.path, .virtual_workers, .tokens_per_expert, .nwrong, (.exposed_times_us | length)]' r.json
jq -c '.results[] | [.copy_us, .ffn_us, .ffn_beside_us, .copy_beside_us] | [.[] | .p50 > 0 and .p50 <= .p95]' r.json
jq -c '.results[] | [.hidden_share >= 0 and .hidden_share <= 1, .exposed_us.p50 >= 0,
                     (.ffn_slowdown - .ffn_beside_us.p50 / .ffn_us.p50 | fabs) < 1e-9]' r.json
# The checkpoint's own sizes are those of its preset.
afore-migrate overlap -q --model "$AFORE_SOURCE_DIR/models/tiny" --tokens 4 -n 1 --json |
  jq -c '.config | [.hidden, .intermediate, .experts, .copies]'
# More threads than any machine of ours has processors.
afore-migrate overlap --model afore-tiny --tokens 1 -n 1 -w 0 --workers 4 --threads 256 --json 2> err |
  jq -c '[.config.enough_processors, .config.threads]'
sed -E 's/on [0-9]+ processors?/on N processors/' err
