#!/usr/bin/env bash
# What /health/ready says when a plan or a copy hangs, and how the endpoint ends then; what clients hear when the
# pipeline dies. /health stays as it is all the time.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
ask() { post /v1/completions '{"prompt":"int main(","max_tokens":200,"temperature":0,"ignore_eos":true}' "$@"; }
until_red() {
  for ((i = 0; i < 600; ++i)); do
    [[ $(get -o ready.json -w '%{http_code}' "$url/health/ready") == 503 ]] && break
    sleep 0.05
  done
  jq -r .reason ready.json | sed -E 's/[0-9.]+ s/N s/g; s/expert [0-9]+ of layer [0-9]+ to F[0-9]+/expert E of layer L to FW/; s/[0-9]+ targets? waits?/N targets wait/'
  get -o /dev/null -w '%{http_code}\n' "$url/health"
}

for fault in hang-plan hang-copy; do
  echo "= $fault"
  start_server --inject "$fault@0" --drain-s 1 --ffn-workers 4 --slots 4 --microbatches 3
  get -o /dev/null -w '%{http_code}\n' "$url/health/ready"
  for i in 1 2 3 4 5 6; do ask > "answer.$i" 2> /dev/null & done
  until_red
  stop_server
  wait
done

echo '= fail-scheduler'
start_server --inject fail-scheduler@0
ask -o answer -w '%{http_code}\n'
jq -c .error answer
code=0 && wait "$server" || code=$?
server=''
echo "exit $code: $(tail -n 1 log)"
ls ready 2> /dev/null || echo 'no ready file'
