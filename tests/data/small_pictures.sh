# Sourced: writes `small`, a run of two layers, four experts, two FFN workers and two steps, small enough to check by
# hand; the second step copies expert 0 to worker 1. Needs nothing but a shell.
step() {  # step STEP START_NS COPIES
  local step=$1 at=$2 layer=0 worker
  echo "{\"kind\":\"batch\",\"step\":$step,\"microbatch\":0,\"sequences\":8,\"prefill_tokens\":0,\"kv_tokens\":80}"
  for layer in 0 1; do
    echo "{\"kind\":\"demand\",\"step\":$step,\"layer\":$layer,\"microbatch\":0,\"phase\":\"decode\",\"tokens\":8,\"counts\":[6,2,0,0]}"
    local copies='' load='[4,0]'
    if ((step == 1)); then
      load='[2,2]'
      ((layer)) || copies='{"expert":0,"from":0,"to":1,"slot":2}'
    fi
    local assignment='[[0,0,3],[1,0,1]]'
    ((step == 0)) || assignment='[[0,0,1],[0,1,2],[1,0,1]]'
    echo "{\"kind\":\"plan\",\"seq\":$((2 * step + layer)),\"step\":$step,\"layer\":$layer,\"microbatch\":0,\"policy\":\"afore\",\"demand_source\":\"prefetch\",\"objective\":\"tiles\",\"copies\":[$copies],\"assignment\":$assignment,\"tile_load\":$load,\"max_tile_load_before\":4,\"max_tile_load\":2,\"lower_bound\":2,\"ffn_ns_before\":9000,\"ffn_ns\":5000,\"ffn_bound_ns\":5000,\"certified\":true,\"gain_ns\":4000,\"migration_ns\":3000,\"window_ns\":5000,\"window_source\":\"flag\",\"exposed_ns\":0}"
    operation A0 compute attention "$step" "$layer" "$at" $((at + 2000))
    [[ -z $copies ]] || operation F1 copy copy_expert "$step" "$layer" $((at + 100)) $((at + 3100))
    for worker in F0 F1; do
      operation "$worker" a2f receive "$step" "$layer" $((at + 2000)) $((at + 3000))
      operation "$worker" compute expert_ffn "$step" "$layer" $((at + 3200)) $((at + 8200))
      operation "$worker" f2a send "$step" "$layer" $((at + 8200)) $((at + 9000))
    done
    at=$((at + 9000))
  done
  operation A0 compute sampling "$step" 1 "$at" $((at + 1000))
}
operation() {
  echo "{\"kind\":\"operation\",\"worker\":\"$1\",\"lane\":\"$2\",\"op\":\"$3\",\"step\":$4,\"layer\":$5,\"microbatch\":0,\"start_ns\":$6,\"end_ns\":$7}"
}
{
  echo '{"kind":"header","v":1,"producer":"test","via":["afore-serve"],"seed":7,"model":{"name":"'"${MODEL:-small}"'","layers":2,"moe_layers":[0,1],"experts":4,"top_k":1,"expert_bytes":1048576},"cluster":{"attention_workers":1,"ffn_workers":2,"redundant_slots":1,"tile_tokens":2,"microbatches":1}}'
  step 0 0
  step 1 19000
} > small
