#!/usr/bin/env bash
# Text over HTTP is that of `run` for the same seed, whatever policies, freezing and copies do while it is made: eight
# requests at once, greedy and drawn, while plans are changed all the time.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
for ((i = 0; i < 8; ++i)); do
  jq -cn --argjson i "$i" '{id: "p\($i)", prompt: "int f\($i)(int a, char *b) {", max_tokens: 96, ignore_eos: true,
    temperature: (if $i % 2 == 0 then 0 else 0.9 end), seed: (100 + $i)}'
done > prompts.jsonl
afore-serve run --host monolithic --prompts prompts.jsonl --json |
  jq -c 'select(.kind == "completion") | [.id, .text]' | sort > want
[[ $(wc -l < want) == 8 ]]

start_server --ffn-workers 4 --slots 2
switch() {  # until a file says so
  local policies=(static eplb afore split quota) i
  for ((i = 0; ; ++i)); do
    [[ ! -e enough ]] || break
    post /v1/afore/policy "{\"policy\":\"${policies[i % 5]}\"}" -f > /dev/null
    post /v1/afore/freeze "{\"frozen\":$( ((i % 3)) && echo false || echo true)}" -f > /dev/null
    echo >> switched
  done
}
: > switched
switch &
switcher=$!
for round in 1 2 3; do
  clients=()
  for ((i = 0; i < 8; ++i)); do
    body=$(sed -n "$((i + 1))p" prompts.jsonl | jq -c 'del(.id) + {stream: (.seed % 3 == 0)}')
    post /v1/completions "$body" > "answer.$i" &
    clients+=($!)
  done
  wait "${clients[@]}"
  for ((i = 0; i < 8; ++i)); do
    if grep -q '^data: ' "answer.$i"; then texts < "answer.$i" > text; else jq -j '.choices[0].text' "answer.$i" > text; fi
    jq -Rsc --arg id "p$i" '[$id, .]' text
  done | sort > "got.$round"
  cmp want "got.$round" && echo "round $round: the same"
done
: > enough
wait "$switcher"
(($(wc -l < switched) >= 3)) && echo switched
stop_server
jq -c '[.completed, .afore.injected, .afore.copies > 0]' summary.jsonl
