#!/usr/bin/env bash
# The first targets, byte for byte, with what stands before the next one announces itself.
set -euo pipefail
cat > s.jsonl << 'END'
{"kind":"header","v":1, "producer":"test","via":[],"model":{"experts":2,"top_k":1},"cluster":{}}
{"kind":"batch","step":0,"microbatch":0,"sequences":2,"prefill_tokens":0,"kv_tokens":5}
{"kind":"demand","step":0,"layer":0,"microbatch":0,"phase":"decode","tokens":2,"counts":[1,1]}
{"kind":"note","text":"of the first target"}
{"kind":"batch","step":0,"microbatch":1,"sequences":2,"prefill_tokens":0,"kv_tokens":5}
{"kind":"demand","step":0,"layer":0,"microbatch":1,"phase":"decode","tokens":2,"counts":[2,0]}
{"kind":"note","text":"of the second target"}
END
afore-trace head -n 1 s.jsonl
echo --
afore-trace head -n 0 < s.jsonl
cmp s.jsonl <(afore-trace head s.jsonl) && echo "all of it"
