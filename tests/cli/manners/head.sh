#!/usr/bin/env bash
# Before a reader that has seen enough, a tool ends by SIGPIPE and says nothing.
set -o pipefail
afore-migrate -b 1K -e 4M -f 2 -n 2000 | head -n 1 | cut -c 1-15
exit "${PIPESTATUS[0]}"
