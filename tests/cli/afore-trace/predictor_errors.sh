#!/usr/bin/env bash
# What train-predictor and predict refuse, each with its exit code.
refused() {
  "$@" > /dev/null 2> message
  local code=$?
  sed "s/^/$code /" message
}
routing=$AFORE_SOURCE_DIR/data/tiny-routing
ids=(afore-trace import -q --from routing-ids "$routing/math.ids.u8.zst" --meta "$routing/math.index.json")
import=("${ids[@]}" --concurrent 8 --steps 4 --warmup-steps 0)
"${import[@]}" --rows > routed
"${import[@]}" > plain
train=(afore-trace train-predictor -q --epochs 1 --hidden 0)
"${train[@]}" routed -o good > /dev/null || exit
echo '# learning'
refused "${train[@]}" plain -o new
refused "${train[@]}" routed -o good
refused "${train[@]}" routed -o -
refused afore-trace train-predictor routed -o new --hidden 17
refused "${train[@]}" a=routed -o new --test-domain b
refused "${train[@]}" a=routed -o new --test-domain a
refused "${train[@]}" routed -o new --test-domain a --test-share 0.1
refused "${train[@]}" routed <("${import[@]}" --rows --layers 1-2) -o new | sed 's|/dev/fd/[0-9]*|OTHER|'
sed 's/"tokens":1}/"tokens":2}/' routed > twice
refused "${train[@]}" twice -o new
refused "${train[@]}" missing -o new
sed '1s/"experts":32/"experts":70000/' routed > many
refused "${train[@]}" many -o new
cp routed own
refused "${train[@]}" name=./own -o own --force
cmp own routed
refused "${train[@]}" routed -o new --features missing
refused "${train[@]}" routed -o missing/new
ls new 2> /dev/null
echo '# predicting'
refused afore-trace predict routed
refused afore-trace predict routed --predictor good --json
refused afore-trace predict routed --predictor routed
refused afore-trace predict routed --predictor missing
head -c 3000 good > cut
refused afore-trace predict routed --predictor cut
refused afore-trace predict twice --predictor good
"${import[@]}" --rows --layers 1-2 | refused afore-trace predict --predictor good
tail -n +2 routed | refused afore-trace predict --predictor good
echo '# without a request to test with there is no accuracy, rather than one of 0'
"${ids[@]}" --rows --concurrent 1 --steps 4 --warmup-steps 0 > alone
"${train[@]}" alone -o untested | head -n 2
"${train[@]}" alone -o untested --force --json | jq -c .mean
grep -ac '"recall"' untested
echo '# nothing to predict from is no error'
refused afore-trace predict plain --predictor good
refused afore-trace import --from azure-csv x --rows
