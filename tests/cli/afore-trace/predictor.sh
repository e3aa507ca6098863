#!/usr/bin/env bash
# From a recording to a predictor and to predictions in its stream.
set -euo pipefail
model=$AFORE_SOURCE_DIR/models/tiny
afore-trace record --isa scalar --workload math --microbatches 2 --max-concurrency 8 --max-tokens 16 --num-prompts 24 \
  --temperature 1 --routing > routed
train=(afore-trace train-predictor -q math=routed --hidden 16 --token-dims 16 --epochs 3)
echo '# the same bytes on any number of threads; another seed, others'
"${train[@]}" --features "$model" --threads 1 -o one > printed
"${train[@]}" --features "$model" --threads 3 -o three | cmp - printed
cmp one three && ! cmp -s one <("${train[@]}" --features "$model" --seed 1 -o other > /dev/null; cat other) && echo same
cut -c 1-14 printed | head -n 6
tail -n 2 printed
echo '# as one object; better than the experts that are popular'
"${train[@]}" --features "$model" --force -o one --json > object
jq -c '[.requests, .rows, (.layers | map(.layer)), .bytes, .mean.recall > .mean.popular_recall]' object
echo '# predictions: one per target, ahead of its demand and of whatever tells of it'
afore-trace predict routed --predictor one > predicted
jq -c 'select(.kind == "header") | [.via, .source]' predicted
diff <(grep -v '"kind":"prediction"' predicted | tail -n +2) <(tail -n +2 routed) && echo 'all other lines as they were'
awk "NR <= 5" predicted | jq -c '[.kind, .layer, .microbatch, .after_layer, .predictor]'
jq -sc '[.[] | select(.kind == "prediction" or .kind == "demand")] | group_by([.step, .layer, .microbatch]) |
  [(map(map(.kind)) | unique), (map(select((.[0].counts | add) != (.[1].counts | add))) | length)]' predicted
jq -r 'select(.kind == "prediction" or .kind == "demand") | "\(.kind[0:1])\(.layer)/\(.microbatch)"' predicted |
  awk 'NR <= 16' | tr '\n' ' '
echo
echo '# two layers ahead: told again when more is known'
afore-trace predict routed --predictor one --layers-ahead 2 | jq -r 'select(.kind == "prediction" or .kind == "demand") |
  "\(.kind[0:1])\(.layer)/\(.microbatch)"' | awk 'NR <= 16' | tr '\n' ' '
echo
echo '# how well they met the demand: of the file, or of what is in the stream'
afore-trace predict --stat routed --predictor one > stat
afore-trace predict --stat predicted | cmp - stat
head -n 6 stat | cut -c 1-25
afore-trace predict --stat --json predicted | jq -c '[(.layers | map(.predicted == .targets) | all), .total.met > 0.5,
  .total.counts_error < 1]'
echo '# a prefix of the input gives a prefix of the output'
head -n 60 routed | afore-trace predict --predictor one > prefix
head -n "$(($(wc -l < prefix) - 1))" prefix | cmp - <(head -n "$(($(wc -l < prefix) - 1))" predicted) && echo prefix
echo '# routing ids without tokens'
routing=$AFORE_SOURCE_DIR/data/tiny-routing
for domain in math code; do
  afore-trace import -q --from routing-ids "$routing/$domain.ids.u8.zst" --meta "$routing/$domain.index.json" --rows \
    --concurrent 8 --microbatches 2 --steps 30 --warmup-steps 0 > $domain
done
jq -c 'select(.kind == "batch") | .rows[:2]' math | awk 'NR == 1 || NR == 60'
jq -c 'select(.kind == "routing") | .experts[:2]' math | awk 'NR == 1'
train=(afore-trace train-predictor -q math=math code=code --test-domain code --epochs 2 --hidden 0)
"${train[@]}" -o ids --json | jq -c '[.rows, .bytes]'
afore-trace predict code --predictor ids | grep -c '"kind":"prediction"'
