#!/usr/bin/env bash
# OpenAI's own Python client, as PyPI has it, against the endpoint: tests/http_clients/openai_client.py.
source "$AFORE_SOURCE_DIR/tests/support/http_server.bash"
set -euo pipefail
need_endpoint
venv=$("$AFORE_SOURCE_DIR/scripts/clients" openai 2>&1) || { code=$? && echo "$venv" && exit $code; }
head -c 24 /dev/urandom | base64 > token
start_server --token-file token --max-queue 1 --max-concurrency 1 --microbatches 1 --pace --cost 'cpu*20'
slow=$server slow_url=$url
trap 'kill -9 "$slow" $server 2> /dev/null || true' EXIT
start_server
"$venv/bin/python3" "$AFORE_SOURCE_DIR/tests/http_clients/openai_client.py" "$url" "$slow_url" token 2> times ||
  { cat times && exit 1; }
echo '= docs/http.md'
sed -n '/^```python/,/^```/p' "$AFORE_SOURCE_DIR/docs/http.md" | grep -v '^```' | sed "s#http://127.0.0.1:8000#$url#" > page.py
grep -q "$url" page.py
"$venv/bin/python3" page.py | wc -w | awk '{ print ($1 > 0 ? "text" : "no text") }'
stop_server
server=$slow
stop_server
