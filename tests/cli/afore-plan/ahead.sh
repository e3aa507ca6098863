#!/usr/bin/env bash
# Plans ahead, by a predictor: the same bytes whether it predicts while planning or before, and whoever plans; verified;
# only with a predictor does director copy. Where nothing can be predicted it says so, or plans from the demand itself.
set -euo pipefail
tiny=$AFORE_SOURCE_DIR/data/tiny-routing
routed() {
  afore-trace import -q --from routing-ids --rows "$tiny/code.ids.u8.zst" --meta "$tiny/code.index.json" \
    --model gpt-oss-20b "$@"
}
routed --concurrent 12 --steps 60 --warmup-steps 0 > learn
afore-trace train-predictor -q --epochs 2 -o predictor learn > /dev/null
routed --concurrent 600 --microbatches 2 --steps 8 --warmup-steps 2 > stream
afore-trace predict --predictor predictor --layers-ahead 2 stream > predicted

flags=(--workers 6 --layers-ahead 2)
kind() { grep "^{\"kind\":\"$1\"" "$2"; }
for policy in director joined libra; do
  of=(--policy $policy "${flags[@]}")
  [[ $policy != libra ]] || of+=(--demand-source prediction)
  afore-plan "${of[@]}" --predictor predictor stream > planned
  afore-plan "${of[@]}" predicted | sed '1s/"afore-trace [^"]*",//2' > again
  tail -n +2 again | cmp - <(tail -n +2 planned)
  kind plan planned > plans
  afore-serve replay "${of[@]}" --predictor predictor stream > replayed
  kind plan replayed | cmp - plans
  afore-serve replay planned > /dev/null
  echo "$policy: $(afore-plan verify planned | cut -d, -f1), $(grep -c '"ahead"' plans | sed 's/^[1-9].*/some/') ahead"
done
afore-serve compare --policies static,director,joined "${flags[@]}" --predictor predictor --format json stream |
  jq -r .afore.policy

echo '--- no predictions'
afore-plan --policy director "${flags[@]}" stream 2>&1 > bare | sed 's/^/stderr: /'
kind plan bare | grep -c '"copies":\[\]'
grep -v '"kind":"routing"\|"kind":"batch"' stream > unrouted
afore-plan --policy director "${flags[@]}" --predictor predictor unrouted 2>&1 > /dev/null | sed 's/^/stderr: /'
afore-serve compare --policies static,director "${flags[@]}" unrouted 2>&1 > /dev/null | sed 's/^/stderr: /'
afore-plan --policy director --demand-source prefetch "${flags[@]}" stream > own
kind plan own | grep -c '"ahead"' || true
GAP_MS=1 source "$AFORE_SOURCE_DIR/tests/data/tiny_requests.sh"
code=0
afore-serve replay --policy director --predictor predictor --workers 4 requests || code=$?
afore-serve replay --policy director --demand-source prediction --workers 4 requests || code=$code,$?
echo "exit $code"
afore-serve replay --policy director --workers 4 requests > served
head -n 1 served | jq -r .planner.demand_source
