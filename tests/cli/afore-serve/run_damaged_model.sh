#!/usr/bin/env bash
# A damaged model folder is named in one line, whatever is wrong with it, before anything goes out.
set -euo pipefail
tiny=$AFORE_SOURCE_DIR/models/tiny

# Another copy of the model, with a file of its own at $1 (standard input).
folder() {
  rm -rf model
  mkdir model
  for file in config.json generation_config.json tokenizer.json model.safetensors; do ln -s "$tiny/$file" model; done
  for file in "$@"; do rm "model/$file"; done
}
header_bytes() { od -An -tu8 -N8 "$tiny/model.safetensors" | tr -d ' '; }
header() { head -c "$((8 + $(header_bytes)))" "$tiny/model.safetensors" | tail -c +9; }
data() { tail -c "+$((9 + $(header_bytes)))" "$tiny/model.safetensors"; }
# The header given on standard input, over the same data.
reheaded() {
  cat > header
  size=$(stat -c %s header)
  for ((i = 0; i < 8; ++i)); do printf "\\x$(printf %02x $((size >> 8 * i & 255)))"; done
  cat header
  data
}
# Two bytes, 0x7FC0: a NaN, into element 5 of the tensor.
with_nan() {
  folder model.safetensors
  cp "$tiny/model.safetensors" model/
  chmod +w model/model.safetensors
  at=$((8 + $(header_bytes) + $(header | jq ".[\"$1\"].data_offsets[0]") + 10))
  printf '\xc0\x7f' | dd of=model/model.safetensors bs=1 seek=$at conv=notrunc status=none
}
try() {
  code=0
  afore-serve run --model model --prompt x --max-tokens 2 "${@:2}" > said 2> err || code=$?
  echo "# $1: $code, $(wc -l < said) lines out"
  cat err
}
rehead() {  # what, jq filter
  folder model.safetensors
  header | jq -c "$2" | reheaded > model/model.safetensors
  try "$1"
}

whole=$(stat -Lc %s "$tiny/model.safetensors")
for size in 0 4 100 $((8 + $(header_bytes))) $((whole / 2)) $((whole - 1)); do
  folder model.safetensors
  head -c "$size" "$tiny/model.safetensors" > model/model.safetensors
  try "cut at $size"
done
folder model.safetensors
(cat "$tiny/model.safetensors"; echo) > model/model.safetensors
try 'a byte more'
rehead 'overlapping' '.["model.norm.weight"].data_offsets = .["model.layers.0.input_layernorm.weight"].data_offsets'
rehead 'another dtype' '.["model.norm.weight"].dtype = "I16"'
rehead 'a dtype of another size' '.["model.norm.weight"].dtype = "F32"'
rehead 'an unknown dtype' '.["model.norm.weight"].dtype = "Q4"'
rehead 'another shape' '.["model.norm.weight"].shape = [16, 16]'
rehead 'a missing tensor' 'with_entries(if .key == "model.norm.weight" then .key = "model.norm.bias" else . end)'
rehead 'a missing expert' 'with_entries(if .key == "model.layers.3.mlp.experts.7.up_proj.weight" then .key = "x" else . end)'
rehead 'not JSON' '"text"'
for host in threads monolithic; do
  with_nan model.layers.2.self_attn.q_proj.weight
  try "NaN in attention, $host" --host $host
  with_nan model.layers.3.mlp.experts.7.up_proj.weight
  try "NaN in an expert, $host" --host $host
done
with_nan model.layers.3.mlp.experts.7.up_proj.weight
afore-trace record --model model --prompt x > said 2> err || echo "# record: $?, $(wc -l < said) lines out"
cat err
folder model.safetensors
header | jq -c '{weight_map: (with_entries(.value = "model-00001-of-00002.safetensors") + {"model.norm.weight": "model-00002-of-00002.safetensors"} | del(.__metadata__))}' \
  > model/model.safetensors.index.json
ln -s "$tiny/model.safetensors" model/model-00001-of-00002.safetensors
try 'a missing shard'
ln -s "$tiny/config.json" model/model-00002-of-00002.safetensors
try 'a shard that is none'
rm model/model-00002-of-00002.safetensors
ln -s "$tiny/model.safetensors" model/model-00002-of-00002.safetensors
try 'two shards'
rm -r model/model.safetensors.index.json
try 'no weights'
config() {  # what, jq filter
  folder config.json
  jq "$2" "$tiny/config.json" > model/config.json
  try "$1"
}
config 'an unknown architecture' '.architectures = ["LlamaForCausalLM"]'
config 'an activation that is not computed' '.hidden_act = "gelu"'
config 'quantized' '.quantization_config = {"quant_method": "fp8"}'
config 'more layers than weights' '.num_hidden_layers = 6'
config 'no experts' 'del(.n_routed_experts)'
folder config.json
head -c 200 "$tiny/config.json" > model/config.json
try 'config.json is cut'
folder config.json
try 'no config.json'
folder tokenizer.json
try 'no tokenizer.json'
folder tokenizer.json
jq '.model.type = "Unigram"' "$tiny/tokenizer.json" > model/tokenizer.json
try 'another tokenizer'
