#!/usr/bin/env bash
# Domains by steps: at an abrupt change every live request ends and as many begin; a gradual one has no such step.
set -euo pipefail
cd "$AFORE_SOURCE_DIR/data/tiny-routing"
run() {
  afore-trace import --from routing-ids math=math.ids.u8.zst --meta math.index.json \
    code=code.ids.u8.zst --meta code.index.json --concurrent 40 --microbatches 2 --warmup-steps 2 "$@"
}
# Steps in which all 40 live requests end.
turnovers() {
  awk '/"kind":"batch"/ {
         match($0, /"step":[0-9]+/); step = substr($0, RSTART + 7, RLENGTH - 7)
         match($0, /"finished":\[[^]]*\]/); list = substr($0, RSTART, RLENGTH)
         finished[step] += gsub(/"r[0-9]+"/, "", list)
       }
       END { for (s = 0; s < 40; ++s) if (finished[s] == 40) printf "%d ", s; print "" }'
}
run --phases math:5,code:5,mixed:10 | sed -n 1p | grep -o '"workload".*'
run --phases math:5,code:5,mixed:10 | turnovers
run --phases math:5,code:5,mixed:10 --phase-change gradual | turnovers
# A pure phase is that domain's own workload: the same demand as from its file alone.
demand() { grep '"kind":"demand"' | sed 's/.*"step"/"step"/'; }
cmp <(run --phases math:8 | demand) \
  <(afore-trace import --from routing-ids math.ids.u8.zst --meta math.index.json --concurrent 40 --microbatches 2 \
    --warmup-steps 2 --steps 8 | demand) && echo "math is math"
