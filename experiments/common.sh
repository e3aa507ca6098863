#!/usr/bin/env bash
# What the experiments share: where tools and inputs are, and how a command is shown and run. Source it.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
inputs=${AFORE_SHARED:-$root/../shared}/data
out=$root/build/experiments
export PATH=$root/build/release/bin:$PATH

die() {
  printf '%s: error: %s\n' "${0##*/}" "$*" >&2
  exit 1
}

# need_tools: the three tools of the pipe, and jq, which makes tables of summary records.
need_tools() {
  local tool
  for tool in afore-trace afore-plan afore-serve; do
    [[ -x $root/build/release/bin/$tool ]] || die "$tool is not built: run scripts/quickstart"
  done
  command -v jq > /dev/null || die "jq is missing"
  mkdir -p "$out"
}

# have FILE...: 1 and a line that says which input is missing.
have() {
  local file
  for file in "$@"; do
    [[ -e $file ]] && continue
    printf 'skipped: %s is absent (set AFORE_SHARED to the folder that has data/)\n\n' "${file#"$inputs"/}"
    return 1
  done
}

# show FILE COMMAND...: prints a command as it can be typed in the repository's root, with the inputs in $inputs.
show() {
  local file=$1 word text='   '
  shift
  for word in "$@"; do
    word=${word//"$inputs"/'$inputs'}
    [[ $word =~ ^[[:alnum:]_./,:=\$+-]+$ ]] || printf -v word '%q' "$word"
    text+=" ${word//"$root"\//}"
  done
  printf '%s > %s\n' "$text" "${file#"$root"/}" >&2
}

# run_to FILE COMMAND...: shows the command and puts its output into FILE.
run_to() {
  local file=$1
  shift
  show "$file" "$@"
  "$@" > "$file"
}

# The cluster of the AFORE paper (arXiv 2610.03203) as far as it is known: 8 FFN workers with A100 rates. Not in the paper,
# so assumed: 2 redundant slots (with one, a slot in use cannot be rebound for the next target), tiles of 64 rows, 3
# microbatches. Live requests by Little's law from its case study: 11,357 tokens/s x 0.342 s = 3,884, here 3,840.
paper_cluster=(--workers 8 --slots 2 --tile-tokens 64 --cost a100)
paper_live=3840
paper_warmup=40  # steps before the 60 that count

# workload NAME FILE [MICROBATCHES]: a stream of 3,840 tokens in 3 microbatches, or as many as are given, with the shape of
# GLM-4.5-Air where the routing does not bring a model of its own. 1 when its inputs are absent.
#   glm[:SKEW[:TOKENS[:DRIFT]]]   synthetic popularity, 128 experts, top 8, eight of 45 layers
#   gpt-oss, v2-lite      recorded routing and sizes of gpt-oss-20b and DeepSeek-V2-Lite, twelve layers each
#   math, code, conversation, documents   recorded routing of the bundled tiny model (32 experts, top 4), GLM's sizes
workload() {
  local name=$1 file=$2 microbatches=${3:-3} skew tokens drift meta
  local routing=(afore-trace import --from routing-ids)
  local decode=(--concurrent "$paper_live" --microbatches "$microbatches" --warmup-steps "$paper_warmup" --steps 60)
  case $name in
    glm*)
      IFS=: read -r _ skew tokens drift <<< "$name"
      run_to "$file" afore-trace synth --model glm-4.5-air --layers 1-8 --warmup-steps "$paper_warmup" --steps 60 \
        --microbatches "$microbatches" --tokens "${tokens:-$((paper_live / microbatches))}" --skew "${skew:-1.4}" \
        --drift "${drift:-0.05}" --seed 1
      ;;
    gpt-oss)
      meta=$inputs/gptoss20b_routing/mmlu_test
      have "$meta.ids.u8.zst" "$meta.index.json" || return 1
      run_to "$file" "${routing[@]}" "$meta.ids.u8.zst" --meta "$meta.index.json" --layers 0-11 "${decode[@]}"
      ;;
    v2-lite)
      meta=$inputs/esft_dsv2lite_routing
      have "$meta/law.ids.u8.zst" "$meta/intent.ids.u8.zst" || return 1
      run_to "$file" "${routing[@]}" "law=$meta/law.ids.u8.zst" --meta "$meta/law.json" \
        "intent=$meta/intent.ids.u8.zst" --meta "$meta/intent.json" --layers 1-12 "${decode[@]}"
      ;;
    *)
      meta=$root/data/tiny-routing/$name
      run_to "$file" "${routing[@]}" "$meta.ids.u8.zst" --meta "$meta.index.json" --model glm-4.5-air "${decode[@]}"
      ;;
  esac
}

# summary NAME STREAM FLAG...: the summary records of a comparison, one a line, in NAME.jsonl of the output folder.
summary() {
  local file=$out/$1.jsonl stream=$2
  shift 2
  run_to "$file" afore-serve compare --format json --quiet "${paper_cluster[@]}" "$@" "$stream"
}
