#!/usr/bin/env bash
# scripts/load with both of its clients: nothing fails, and the server counts what the client does.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
load="$AFORE_SOURCE_DIR/scripts/load"
run() {
  local code=0
  "$load" --json "$@" > report.json 2> err || code=$?
  ((code == 0)) || { cat err && exit "$code"; }
  jq -c '[.by, .client.completed, .client.failed, .server.completed, .server.total_output_tokens == .client.total_output_tokens,
    .client.mean_ttft_ms >= .server.mean_ttft_ms, .client.mean_e2el_ms >= .server.mean_e2el_ms]' report.json
}
run -n 20 -k 4 -o 16
run -c aiperf -n 20 -k 4 -o 16
head -c 24 /dev/urandom | base64 > token
start_server --token-file token
run -u "$url" -t token -n 20 -k 8 -r 50 -o 8
stop_server
for flags in '-c nosuch' '-n 0' '-x' '-u http://127.0.0.1:1 -f x'; do
  code=0
  # They are several words.
  # shellcheck disable=SC2086
  "$load" $flags 2> err || code=$?
  echo "$code: $(head -n 1 err)"
done
"$load" --help | head -n 1
