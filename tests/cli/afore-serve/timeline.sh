#!/usr/bin/env bash
# A worker does one thing at a time on each lane, and everything a target needs happens once.
set -euo pipefail
STEPS=4 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
for flags in '--policy afore --window-us 400' '--policy eplb --eplb-interval 2' '--policy afore --overlap off --gain-rule off'; do
  # shellcheck disable=SC2086
  afore-serve replay --timeline $flags --workers 4 --attention-workers 2 --tile-tokens 16 stream > out
  kind operation out | jq -r '[.worker, .lane, .start_ns, .end_ns] | @tsv' | sort -k1,1 -k2,2 -k3,3n -k4,4n |
    awk -v flags="$flags" '
      $3 > $4 { print flags ": ends before it starts: " $0 }
      $1 == worker && $2 == lane && $3 < end { print flags ": overlap: " $0 " before " end }
      { worker = $1; lane = $2; end = $4 }'
  targets=$(kind demand out | wc -l)
  copies=$(kind plan out | jq '.copies | length' | awk '{ n += $1 } END { print n }')
  count() { kind operation out | jq -r 'select(.op == "'"$1"'") | .op' | wc -l; }
  (($(count attention) == 2 * targets)) || echo "$flags: attention"
  (($(count expert_ffn) == 4 * targets)) || echo "$flags: experts"
  (($(count copy_expert) == copies)) || echo "$flags: copies"
  ((copies > 0)) || echo "$flags: nothing is copied"
done
kind operation out | jq -r '.worker[:1] + " " + .lane + " " + .op' | sort -u
afore-serve replay --timeline --only operation --policy static --workers 4 stream | jq -r .kind | sort -u
