#!/usr/bin/env bash
# How the endpoint starts and ends: its ready file, refusals at the start, signals, and what a drain waits for.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
fails() {  # COMMAND...: its exit code and its one line
  local code=0
  timeout 60 "$@" > out 2> err || code=$?
  ((code != 124 && $(wc -l < err) <= 2)) || cat err
  [[ ! -s out && ! -e never ]] || echo "something was put out"
  echo "$code: $(sed "s/port $port\b/port N/" err)"
}

echo '= the ready file: whole when it is there, and gone at the end'
start_server
[[ $(wc -l < ready) == 1 && $url == http://127.0.0.1:* ]] && echo whole
port=${url##*:}
echo '= a port that is taken'
fails afore-serve http --port "$port" --ready-file never
echo '= the network, without a token'
fails afore-serve http --listen 0.0.0.0 --port 0 --ready-file never
fails afore-serve http --listen :: --port 0 --ready-file never
fails afore-serve http --listen localhost --port 0 --ready-file never
echo '= tokens that are none'
fails afore-serve http --port 0 --ready-file never --token-file nosuch
: > empty && fails afore-serve http --port 0 --ready-file never --token-file empty
echo short > short && fails afore-serve http --port 0 --ready-file never --token-file short
echo 'sixteen and more with spaces' > spaces && fails afore-serve http --port 0 --ready-file never --token-file spaces
echo '= a ready file where there can be none'
fails afore-serve http --port 0 --ready-file nosuch/ready
stop_server INT
[[ ! -e ready ]] && echo 'the first server ended with 0 and its ready file is gone'

# begin_streams COUNT BODY: curl's processes in `curls`, a file of events each; returns when all of them have text.
begin_streams() {
  local i
  rm -f events.* && curls=()
  for ((i = 0; i < $1; ++i)); do
    get -N -H 'content-type: application/json' -d "$2" "$url/v1/completions" > "events.$i" 2> "curl.$i" &
    curls+=($!)
  done
  for ((i = 0; i < $1; ++i)); do
    until grep -qs '"text"' "events.$i"; do sleep 0.02; done
  done
}
until_drains() { until grep -q draining log; do sleep 0.02; done; }
stream='"stream":true,"stream_options":{"include_usage":true},"ignore_eos":true,"temperature":0'
# 20 ms a step, whatever the machine: time to send a signal in
slow=(--pace --cost 'cpu*20')

echo '= SIGTERM while four streams run: all are whole'
start_server "${slow[@]}"
begin_streams 4 "{\"prompt\":\"a\",\"max_tokens\":60,$stream}"
kill -TERM "$server"
until_drains
code=0
get "$url/v1/models" > /dev/null 2>&1 || code=$?
echo "a new connection meanwhile: curl's exit $code"
wait "${curls[@]}"
code=0 && wait "$server" || code=$?
server=''
for i in 0 1 2 3; do
  sed -n 's/^data: {/{/p' "events.$i" | jq -c '.usage.completion_tokens // empty'
  tail -n 2 "events.$i" | grep -v '^$'
done | sort | uniq -c | sed 's/^ *//'
echo "exit $code, $(jq -c '[.completed, .afore.cancelled // 0]' summary.jsonl)"

echo '= no time to drain: streams are cut, the summary says so'
start_server "${slow[@]}" --drain-s 0
begin_streams 2 "{\"prompt\":\"a\",\"max_tokens\":900,$stream}"
stop_server
for pid in "${curls[@]}"; do wait "$pid" || true; done
grep -c DONE events.0 events.1 || true
jq -c '[.completed, .afore.injected, .afore.cancelled]' summary.jsonl

echo '= a second signal ends it at once'
start_server "${slow[@]}"
begin_streams 1 "{\"prompt\":\"a\",\"max_tokens\":900,$stream}"
kill -TERM "$server"
until_drains
begin=$(date +%s%N)
kill -TERM "$server"
code=0 && wait "$server" || code=$?
(($(date +%s%N) - begin < 2000000000)) || echo "slow to end"
server=''
for pid in "${curls[@]}"; do wait "$pid" || true; done
echo "exit $code"
[[ ! -e ready ]] && echo 'and its ready file is gone'
