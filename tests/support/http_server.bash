# Sourced by tests of the HTTP endpoint. start_server [FLAG...] starts one on a free port with its summary in
# summary.jsonl and its messages in log, and sets `server` (the process) and `url`; stop_server ends it, and fails unless
# it exits with 0. What still runs when the script ends is killed.
server=''
trap '[[ -z $server ]] || kill -9 "$server" 2> /dev/null || true' EXIT

start_server() {
  rm -f ready
  afore-serve http --port 0 --ready-file ready "$@" > summary.jsonl 2> log &
  server=$!
  until [[ -e ready ]]; do
    kill -0 "$server" 2> /dev/null || { cat log && return 1; }
    sleep 0.05
  done
  url=$(< ready)
}

stop_server() {
  local code=0
  kill "-${1:-TERM}" "$server"
  wait "$server" || code=$?
  server=''
  ((code == 0)) || { echo "the server's exit: $code" && cat log; }
  return "$code"
}

need_endpoint() {
  command -v curl > /dev/null || { echo "curl is missing" && exit 77; }
  afore-serve http --help > /dev/null 2>&1 || { echo "built without the HTTP endpoint" && exit 77; }
}
get() { curl -sS --max-time 60 "$@"; }
post() { get -H 'content-type: application/json' -d "$2" "${@:3}" "$url$1"; }  # PATH BODY [CURL_ARGUMENT...]
# The texts of a stream's events, joined.
texts() { sed -n 's/^data: {/{/p' | jq -j '.choices[]? | .text // .delta.content // ""'; }
metric() { get "$url/metrics" | awk -v name="$1" '$1 == name { print $2 }'; }
