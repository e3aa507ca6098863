#!/usr/bin/env bash
# What a model was recorded doing is planned, verified, replayed, looked at and compared like any stream.
set -euo pipefail
afore-trace record --workload mixed --steps 50 --max-concurrency 48 --warmup-steps 5 > stream
afore-plan --policy afore --workers 8 --tile-tokens 8 --cost cpu < stream > planned
afore-plan verify planned | sed -E 's/[0-9]+ (copies|certified)/N \1/g'
afore-serve replay --host sim planned > served
grep '"kind":"summary"' served | jq -c '[.completed > 10, .total_output_tokens > 1000, .output_throughput > 0,
  .mean_tpot_ms > 0, .mean_itl_ms > 0, .mean_ttft_ms, (.afore | [.policy, .host, .targets, .itl_n > 1000])]'
echo '# no size is made up, and nothing is lost on the way'
cmp <(grep -E '"kind":"(batch|demand|completion)"' stream) <(grep -E '"kind":"(batch|demand|completion)"' served)
echo '# with routing records between'
afore-trace record --workload code --steps 4 --max-concurrency 12 --routing -o routed.afl
afore-trace check routed.afl | head -n 1 | sed -E 's/[0-9]+ (bytes|frames)/N \1/g'
afore-plan --workers 4 --tile-tokens 8 --cost cpu routed.afl > planned && afore-plan verify planned | sed -E 's/[0-9]+ (copies|certified)/N \1/g'
afore-serve replay planned | tail -n 1 | jq -c '[.kind, .afore.targets]'
afore-trace stat stream | awk 'NR > 1 && NF > 3 { print $1, $2 }'
afore-serve compare --policies static,afore,ideal --workers 8 --tile-tokens 8 --cost cpu --format json stream |
  jq -c '[.afore.policy, .afore.targets, .output_throughput > 0]'
