#!/usr/bin/env bash
# docs/http.md and the README's section on HTTP do what they show, on a port that is free.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
trap 'kill -9 $(jobs -p) $(cat pid 2> /dev/null) 2> /dev/null || true' EXIT
# Below the ports that clients are given, where one could come between.
port=$((20000 + RANDOM % 12000))
while (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; do port=$((20000 + RANDOM % 12000)); done

awk '/^## Over HTTP/ { on = 1; next } /^## / { on = 0 } on && sub(/^    /, "")' "$AFORE_SOURCE_DIR/README.md" |
  sed "s/8000/$port/g" > readme.sh
grep -q 'afore-serve http' readme.sh && grep -q attach readme.sh && grep -q metrics readme.sh
{ cat readme.sh; echo wait; } > all.sh
timeout 60 bash -euo pipefail all.sh > out.txt 2> err.txt || { cat out.txt err.txt; exit 1; }
grep -q '"finish_reason"' out.txt && grep -q '^ok: ' out.txt && grep -q '^afore_requests_injected_total' out.txt
jq -e '.kind == "summary"' summary.json > /dev/null
[[ ! -e ready ]]

source "$AFORE_SOURCE_DIR/tests/support/run_page.bash"
sed "s/8000/$port/g" "$AFORE_SOURCE_DIR/docs/http.md" > page.md
code=0
run_page page.md || code=1
[[ -z ${UPDATE_PAGE:-} ]] || sed -i "s/$port/8000/g" "$UPDATE_PAGE"
exit "$code"
