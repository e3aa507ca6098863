#!/usr/bin/env bash
# record, check, repair and merge on whole, cut and damaged logs, and what they refuse.
STEPS=40 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
flip() { { head -c "$2" "$1"; printf '\377\0'; tail -c +"$(($2 + 3))" "$1"; } > "$3"; }
try() {
  "$@"
  echo "= $?" >&2
}
afore-trace record stream -o whole.afl
try afore-trace record stream -o whole.afl
try afore-trace record stream -o whole.jsonl
try afore-trace record stream -o roll.afl --roll-bytes 1000
try afore-trace synth --model glm-4.5-air --tokens 64 --steps 2 -o stream
afore-trace record - -o again.afl < stream && cmp whole.afl again.afl && echo "the same bytes"
afore-trace head -n 100000 stream -o copy.afl && afore-trace merge copy.afl | cmp - stream && echo "the same lines"
afore-trace head -n 100000 whole.afl -o copy.jsonl && cmp stream copy.jsonl && echo "the same lines from the log"

size=$(stat -c %s whole.afl)
head -c $((size - 1000)) whole.afl > cut.afl
flip whole.afl $((size / 2)) bad.afl
for log in whole cut bad; do
  afore-trace check $log.afl > facts 2> /dev/null
  echo "$log: check = $?, $(head -n 1 facts)"
  for recover in strict tail skip; do
    afore-trace head -n 100000 --recover $recover $log.afl > got 2> err
    echo "  $recover = $?, $(wc -l < err) messages," \
      "$(cmp -s -n "$(stat -c %s got)" got stream && echo prefix || echo "not a prefix")"
  done
  afore-trace repair $log.afl -o $log.fixed.afl > said
  echo "  repair = $?, kept and lost add up: $(($(tr -dc '0-9 ' < said | awk '{print $1 + $2}') == $(wc -l < stream)))"
  afore-trace check $log.fixed.afl | head -n 1
done
try afore-trace repair bad.afl -o bad.fixed.afl
try afore-trace check stream
try afore-trace check none.afl
: > empty.afl
try afore-trace check empty.afl
ls | grep unfinished

afore-trace synth --model glm-4.5-air --layers 1-4 --tokens 512 --steps 150 > stream
rm whole.afl
afore-trace record stream -o whole.afl
afore-trace record stream -o roll.afl --roll-bytes 64K
ls roll*
try afore-trace merge roll.afl roll.1.afl roll.2.afl -o all.jsonl && cmp all.jsonl stream && echo "merged"
cat roll.afl roll.1.afl roll.2.afl | afore-trace head -n 100000 | cmp - stream && echo "joined"
try afore-trace merge roll.1.afl roll.2.afl > /dev/null
try afore-trace merge roll.afl whole.afl > /dev/null
try afore-trace merge roll.afl > /dev/null
try afore-trace merge --recover skip roll.afl roll.2.afl > /dev/null
afore-trace synth --model glm-4.5-air --tokens 64 --steps 2 -o other.afl
try afore-trace merge whole.afl other.afl > /dev/null

grep -v header stream > headless
try afore-trace record headless -o h.afl --roll-bytes 64K --top-k 8
sed 30s/layer/liar/ stream > broken
try afore-trace record broken -o broken.afl
afore-trace check broken.afl | sed -n '1p;/^  lines/p'
