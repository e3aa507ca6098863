#!/usr/bin/env bash
# The endpoint as clients see it, its text beside that of `run`, and its end.
set -euo pipefail
afore-serve http --port 0 --ready-file ready --ffn-workers 3 > summary.jsonl 2> log &
server=$!
trap 'kill -9 $server 2> /dev/null || true' EXIT
for ((i = 0; i < 1200; ++i)); do
  [[ -e ready ]] && break
  sleep 0.05
done
url=$(< ready)
get() { curl -sS --max-time 60 "$@"; }
post() { get -H 'content-type: application/json' -d "$2" "$url$1"; }

echo '= models, health'
get "$url/v1/models" | jq -c '.data[0] | [.id, .root, .object]'
get -o /dev/null -w '%{http_code}\n' "$url/health"
get -o /dev/null -w '%{http_code}\n' "$url/health/ready"

echo '= the same text as run, greedy and drawn, whole and streamed'
prompt='int main(int argc,'
for draw in '"temperature":0' '"temperature":0.8,"seed":7'; do
  flags=(--temperature "$(jq -r .temperature <<< "{$draw}")" --seed "$(jq -r '.seed // 0' <<< "{$draw}")")
  afore-serve run --host monolithic --prompt "$prompt" --max-tokens 24 "${flags[@]}" --json |
    jq -j 'select(.kind == "completion").text' > want
  body="{\"model\":\"tiny\",\"prompt\":\"$prompt\",\"max_tokens\":24,$draw}"
  post /v1/completions "$body" | jq -j '.choices[0].text' > whole
  post /v1/completions "${body%\}},\"stream\":true}" | sed -n 's/^data: //p' | grep -v DONE |
    jq -j '.choices[0].text // ""' > streamed
  cmp want whole && cmp want streamed && echo "same: $(wc -c < want) bytes"
done

echo '= token ids as a prompt; usage at the end of a stream'
ids=$(post /tokenize "{\"prompt\":\"$prompt\"}" | jq -c .tokens)
post /v1/completions "{\"prompt\":$ids,\"max_tokens\":5,\"temperature\":0}" | jq -c .usage
post /v1/completions "{\"prompt\":$ids,\"max_tokens\":5,\"temperature\":0,\"stream\":true,
  \"stream_options\":{\"include_usage\":true}}" | grep -v '^$' | tail -n 2 | sed 's/^data: //' |
  sed 's/^{/[&/;s/}$/&]/' | jq -c 'if type == "array" then [.[0].choices, .[0].usage] else . end' 2> /dev/null || true
post /detokenize "{\"tokens\":$ids}" | jq -r .prompt

echo '= chat by the template of the model, which is that of the prompt it becomes'
post /v1/chat/completions '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":8,"temperature":0}' |
  jq -r '.choices[0].message.content' > chat
post /v1/completions '{"prompt":"<|user|>\nHello<|assistant|>\n","max_tokens":8,"temperature":0}' |
  jq -r '.choices[0].text' > completion
cmp chat completion && echo same

echo '= refusals'
for body in '{' '{"prompt":"x","max_tokens":-1}' '{"prompt":"x","model":"gpt"}' '{"prompt":"x","max_tokens":99999999}'; do
  get -w '%{http_code}\n' -d "$body" "$url/v1/completions" | jq -c 'if type == "object" then .error else . end'
done

echo '= plans: another policy, none, what stands'
post /v1/afore/policy '{"policy":"nosuch"}' | jq -r .error.type
post /v1/afore/policy '{"policy":"eplb"}' > /dev/null
post /v1/afore/freeze '{"frozen":true}' > /dev/null
get "$url/v1/afore/placement" | jq -c '[.policy, .frozen, (.placements | length)]'

echo '= the end'
kill -TERM $server
code=0
wait $server || code=$?
echo "exit $code; ready file: $(ls ready 2> /dev/null || echo gone)"
jq -c '[.kind, .afore.injected == .completed, .completed > 8]' summary.jsonl
