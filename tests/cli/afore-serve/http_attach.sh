#!/usr/bin/env bash
# A running endpoint's records, over the network: recorded, planned, verified; and recorders that are refused or stopped.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
head -c 24 /dev/urandom | base64 > token
head -c 24 /dev/urandom | base64 > wrong
start_server --token-file token --ffn-workers 3
auth=(-H "authorization: Bearer $(< token)")
load() {  # requests, until a file says so
  while [[ ! -e enough ]] && post /v1/completions '{"prompt":"int main(","max_tokens":64,"ignore_eos":true}' "${auth[@]}" > /dev/null; do :; done
}
load &
loader=$!

echo '= recorded and planned for four workers'
afore-trace record --attach "$url" --token-file token --steps 5 | tee recorded | afore-plan --workers 4 | tee planned |
  afore-plan verify > verified
jq -r .kind recorded | sort | uniq -c | awk '{ print $2 }'
jq -r .kind planned | grep -cx plan | awk '{ print ($1 > 0 ? "plans" : "no plans") }'
jq -c '[.kind, .source, .producer[0:11]]' <(head -n 1 recorded)
echo '= with another token, without one, where nobody listens'
code=0 && afore-trace record --attach "$url" --token-file wrong --steps 5 || code=$?
echo "exit $code"
code=0 && afore-trace record --attach "$url" --steps 5 || code=$?
echo "exit $code"
code=0 && afore-trace record --attach http://127.0.0.1:1 --steps 5 || code=$?
echo "exit $code"
echo '= Ctrl-C ends a recorder, with what it has'
: > stopped
afore-trace record --attach "$url" --token-file token > stopped &
recorder=$!
until (($(wc -l < stopped) > 20)); do sleep 0.05; done
kill -INT "$recorder"
code=0 && wait "$recorder" || code=$?
echo "exit $code"
afore-trace stat stopped > /dev/null && echo readable
echo '= the end of the endpoint is the end of streams: of a recorder, and of its records as they are, which hold'
afore-trace record --attach "$url" --token-file token -o whole.jsonl &
recorder=$!
: > live
get "${auth[@]}" "$url/v1/afore/demand" > live &
reader=$!
until (($(wc -l < live) > 100)); do sleep 0.05; done
: > enough
wait "$loader"
stop_server
code=0 && wait "$recorder" && wait "$reader" || code=$?
echo "exit $code"
afore-trace stat whole.jsonl > /dev/null && echo readable
afore-plan verify < live > verified
jq -r .kind live | sort -u | tr '\n' ' ' && echo
