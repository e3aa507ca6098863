#!/usr/bin/env bash
# What a message repeats of its input never reaches the terminal raw.
for tool in $AFORE_TOOLS; do
  message=$("$tool" $'--no\e[31m-such\n-flag\x7f\xc2\x9b' 2>&1 > /dev/null)
  [[ $message == *'\x1B[31m'* ]] || echo "$tool: $message"
  [[ $message != *[$'\e\x7f']* && $message != *$'\xc2\x9b'* ]] || echo "$tool: raw control characters"
done
