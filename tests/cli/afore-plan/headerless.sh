#!/usr/bin/env bash
# One demand record and flags are enough.
echo '{"kind":"demand","step":0,"layer":3,"microbatch":0,"phase":"decode","tokens":512,"counts":[448,32,16,16,0,0,0,0]}' |
  afore-plan --workers 8 --top-k 1 --model gpt-oss-20b
