#!/usr/bin/env bash
# The endpoint as clients see it, its text beside that of `run`, and its end.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
start_server --ffn-workers 3

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
  post /v1/completions "${body%\}},\"stream\":true}" | texts > streamed
  cmp want whole && cmp want streamed && echo "same: $(wc -c < want) bytes"
done

echo '= token ids as a prompt; usage at the end of a stream'
ids=$(post /tokenize "{\"prompt\":\"$prompt\"}" | jq -c .tokens)
post /v1/completions "{\"prompt\":$ids,\"max_tokens\":5,\"temperature\":0}" | jq -c .usage
post /v1/completions "{\"prompt\":$ids,\"max_tokens\":5,\"temperature\":0,\"stream\":true,
  \"stream_options\":{\"include_usage\":true}}" > streamed
sed -n 's/^data: {/{/p' streamed | tail -n 1 | jq -c '[.choices, .usage]'
grep . streamed | tail -n 1
post /detokenize "{\"tokens\":$ids}" | jq -r .prompt

echo '= chat by the template of the model, which is that of the prompt it becomes'
post /v1/chat/completions '{"messages":[{"role":"user","content":"Hello"}],"max_tokens":8,"temperature":0}' |
  jq -r '.choices[0].message.content' > chat
post /v1/completions '{"prompt":"<|user|>\nHello<|assistant|>\n","max_tokens":8,"temperature":0}' |
  jq -r '.choices[0].text' > completion
cmp chat completion && echo same

echo '= refusals'
for body in '{' '{"prompt":"x","max_tokens":-1}' '{"prompt":"x","model":"gpt"}' '{"prompt":"x","max_tokens":99999999}'; do
  post /v1/completions "$body" -w '%{http_code}\n' | jq -c 'if type == "object" then .error else . end'
done

echo '= plans: another policy, none, what stands'
post /v1/afore/policy '{"policy":"nosuch"}' | jq -r .error.type
post /v1/afore/policy '{"policy":"eplb"}' > /dev/null
post /v1/afore/freeze '{"frozen":true}' > /dev/null
get "$url/v1/afore/placement" | jq -c '[.policy, .frozen, (.placements | length)]'

echo '= the end'
stop_server
echo "ready file: $(ls ready 2> /dev/null || echo gone)"
jq -c '[.kind, .afore.injected == .completed, .completed]' summary.jsonl
