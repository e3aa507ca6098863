#!/usr/bin/env bash
# calibrate writes a cost file that --cost takes, and leaves an existing one alone unless it is told to.
set -euo pipefail
numbers() { sed -E 's/measured on cpu: .*; workers/measured on cpu: NAME; workers/; s/-?[0-9]+\.[0-9]+/N/g; s/: [0-9]+ (\+|ns)/: N \1/; s,/ [0-9]+ bytes,/ N bytes,; s/[0-9]+ (tiles of|activated)/N \1/g'; }
afore-migrate calibrate -q --model afore-tiny -b 64K -e 1M -n 5 -o cost.json | numbers
jq -c '[.name, .copy_bytes_per_s > 0, .copy_latency_ns >= 0, .flops_per_s > 0, .ffn_c0_ns >= 0, .ffn_c1_ns > 0, .ffn_c2_ns > 0,
        .ffn_tile_tokens]' cost.json
jq -c '.measured | [.command, .seed, .device, (.device_name | length > 0), .workers, .virtual_workers]' cost.json
jq -c '.measured.copies[] | [.path, .points, .r2 <= 1, .p95_error <= .worst_error]' cost.json
jq -c '. as $c | .measured.copies[0] | [.latency_ns == $c.copy_latency_ns, .bytes_per_s == $c.copy_bytes_per_s]' cost.json
jq -c '.measured.ffn | [.hidden, .intermediate, .tile_tokens, .threads, .points, .r2 <= 1, .p95_error <= .worst_error]' cost.json
# The planner and the simulator take it.
afore-trace synth --model afore-tiny --steps 4 --tokens 256 --microbatches 3 > demand.jsonl
afore-plan --workers 4 --tile-tokens 8 --cost cost.json demand.jsonl > planned.jsonl
jq -c --slurpfile cost cost.json 'select(.kind == "header") | .planner.cost |
  [.c0_ns == $cost[0].ffn_c0_ns, .c1_ns == $cost[0].ffn_c1_ns, .c2_ns == $cost[0].ffn_c2_ns]' planned.jsonl
afore-serve replay --cost cost.json --only summary planned.jsonl | jq -c .afore.targets
# Measured for one size of expert, planned for another: that is said.
afore-trace synth --model glm-4.5-air --steps 1 --tokens 64 |
  afore-plan --workers 4 --tile-tokens 8 --cost cost.json 2>&1 > /dev/null | sed 's/of .* are/of NAME are/'
# Copies measured anew leave what the FFN's times rest on.
afore-migrate calibrate -q --cost cost.json -b 64K -e 256K -n 5 | jq -c '[.name, .ffn_c1_ns > 0, .measured.ffn.hidden]'
# A base that was measured before keeps its name; what it rests on is the new measurement.
afore-migrate calibrate -q --cost cost.json --model afore-tiny -b 64K -e 256K -n 5 --seed 9 |
  jq -c '[.name, .measured.seed, .measured.copies[0].points]'
cp cost.json before.json
afore-migrate calibrate -q -b 64K -e 1M -n 5 -o cost.json && exit 1
cmp cost.json before.json
# Without a model only the copies are measured, and a note says so.
afore-migrate calibrate --cost h200 -b 64K -e 1M -n 5 -o cost.json --force 2> notes | grep -c copies
grep -c 'only copies were measured' notes
jq -c '[.name, .ffn_c0_ns, has("ffn_c1_ns"), (.measured | has("ffn"))]' cost.json
ls
