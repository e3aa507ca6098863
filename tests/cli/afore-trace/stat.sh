#!/usr/bin/env bash
# Statistics of a stream small enough to check by hand.
set -euo pipefail
cat > s.jsonl << 'END'
{"kind":"header","v":1,"producer":"test","via":[],"model":{"experts":4,"top_k":1,"moe_layers":[0,2]},"cluster":{"ffn_workers":2}}
{"kind":"demand","step":0,"layer":0,"microbatch":0,"phase":"warmup","tokens":4,"counts":[4,0,0,0]}
{"kind":"demand","step":1,"layer":0,"microbatch":0,"phase":"decode","tokens":4,"counts":[3,1,0,0]}
{"kind":"demand","step":1,"layer":2,"microbatch":0,"phase":"decode","tokens":4,"counts":[1,1,1,1]}
{"kind":"demand","step":2,"layer":0,"microbatch":0,"phase":"decode","tokens":4,"counts":[2,0,1,1]}
END
afore-trace stat s.jsonl
LC_ALL=C.UTF-8 afore-trace stat --include-warmup s.jsonl
afore-trace stat --format tsv < s.jsonl
afore-trace stat --format json --workers 4 --hot 2 s.jsonl
echo '{"kind":"demand","step":0,"layer":0,"microbatch":0,"phase":"decode","tokens":2,"counts":[2,2]}' |
  afore-trace stat --top-k 2 --format tsv
