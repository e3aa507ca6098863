#!/usr/bin/env bash
# What the model itself foretells while it is recorded: the next layer's gate, and a 4-bit replica.
set -euo pipefail
record=(afore-trace record --workload mixed --isa scalar --microbatches 2 --max-concurrency 8 --max-tokens 6 --steps 12
  --max-num-batched-tokens 64 --routing)
"${record[@]}" > plain
"${record[@]}" --predict gate --predict replica > both
echo '# the recording is the same, and the guesses do not depend on threads, spelling or company'
grep -v '"kind":"prediction"' both | cmp - plain
"${record[@]}" --threads 1 --predict replica,gate --quiet | cmp - both
"${record[@]}" --threads 3 --predict gate | cmp - <(grep -v '"predictor":"replica"' both)
echo '# every target has one of the replica, and all but the first MoE layer one of the gate of the layer before'
jq -sc '[.[] | select(.kind == "prediction")] | group_by(.predictor)[] |
  [.[0].predictor, length, (map([.layer, .after_layer]) | unique)]' both
jq -sc 'map(select(.kind == "demand")) | length' both
echo '# ahead of the demand at whose time they are known, behind the batch'
jq -c 'if .kind == "batch" then {b: [.step, .microbatch]} elif .kind == "demand" then {d: [.step, .microbatch, .layer]}
  elif .kind == "prediction" then {p: [.step, .microbatch, (.after_layer // 1)]} else empty end' both |
  jq -sc '[range(length) as $i | select(.[$i].p) | .[$i].p as $p |
    first(range($i; length) as $j | select((. as $all | $all[$j]).d) | .[$j].d) == $p] | unique' 
jq -sr '[.[] | .kind + (.predictor // "")] | .[1:6][]' both
echo '# they count what they name, and name as many as a token has'
jq -sc '[.[] | select(.kind == "prediction") | ((.experts | map(length) | unique) == [4]) and
  ([.experts[][]] | group_by(.) | map([.[0], length])) == (.counts | to_entries | map(select(.value > 0) | [.key, .value]))] |
  unique' both
echo '# most of what is asked for, by the replica; better than by chance (one in eight), by the gate'
jq -nc 'reduce (inputs | select(.kind == "prediction" or .kind == "routing")) as $r ({};
  "\($r.layer)/\($r.microbatch)" as $t | if $r.kind == "prediction" then .wait[$t] += [$r] else
    reduce (.wait[$t] // [])[] as $p (.; .found[$p.predictor] += ([range($r.experts | length) as $i |
      $p.experts[$i][] | select(. as $e | $r.experts[$i] | index([$e]))] | length) |
      .all[$p.predictor] += ($r.experts | length * 4)) | .wait[$t] = [] end) |
  [.found.replica > .all.replica * 0.8, .found.gate > .all.gate * 0.4]' both
echo '# without --routing, counts alone'
afore-trace record --prompt 'def f(x):' --max-tokens 3 --predict gate | grep -c '"kind":"prediction".*"experts"' || true
echo '# other tools pass them on, or plan without'
afore-plan --workers 4 --tile-tokens 8 --cost cpu both > planned
afore-plan verify -q planned > /dev/null && diff <(grep '"kind":"prediction"' both) <(grep '"kind":"prediction"' planned) && echo passed
"${record[@]}" --predict replica -o predicted.afl
afore-trace check -q predicted.afl | head -n 1 | sed -E 's/[0-9]+ (bytes|frames)/N \1/g'
for wrong in '--predict oracle' 'stream --predict gate'; do
  # shellcheck disable=SC2086
  afore-trace record $wrong 2>&1 > out || echo "= $?, $(wc -c < out) bytes"
done
