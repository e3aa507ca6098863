#!/usr/bin/env bash
# Every exit code of every tool that its inputs can bring about. 5 is a bug of ours.
set -u
expect() {  # expect CODE COMMAND...
  local want=$1 code=0
  shift
  "$@" > out 2> err < /dev/null || code=$?
  [[ $code == "$want" ]] || { echo "$*: exit $code, not $want"; head -n 2 err; }
}
afore-trace synth --model gpt-oss-20b --layers 0,1 --steps 200 --tokens 256 > demand.jsonl
afore-plan --workers 4 demand.jsonl > planned.jsonl
sed '/"kind":"plan"/s/"max_tile_load":[0-9]*/"max_tile_load":1/' planned.jsonl > wrong.jsonl
afore-trace record -o whole.afl demand.jsonl
head -c 3000 whole.afl > cut.afl
echo '{"kind":"demand"}' > bad.jsonl
echo '{' > bad.json

for tool in $AFORE_TOOLS; do
  expect 0 "$tool" --version
  expect 2 "$tool" --no-such-flag
  [[ -c /dev/full ]] && { "$tool" --help > /dev/full 2> err; [[ $? == 4 ]] || echo "$tool: a full disk"; }
done
expect 1 afore-trace check cut.afl
expect 1 afore-trace compare --max-mape 1 --metrics output_throughput \
  <(afore-serve replay --workers 4 --policy static demand.jsonl) <(afore-serve replay --workers 2 --policy static demand.jsonl)
expect 1 afore-plan verify wrong.jsonl
expect 1 afore-plan advise --workers 4 <(afore-trace head -n 8 demand.jsonl)
expect 1 afore-serve run --prompt x --max-tokens 4 --json --pace --cost 'h200*0.001'
expect 1 afore-migrate -b 1K -e 1K -n 1 --min-bw 1e9
expect 3 afore-trace stat bad.jsonl
expect 3 afore-plan --workers 4 bad.jsonl
expect 3 afore-serve replay --workers 4 bad.jsonl
expect 3 afore-migrate calibrate --cost bad.json
expect 4 afore-trace stat missing.jsonl
expect 4 afore-plan --workers 4 missing.jsonl
expect 4 afore-serve replay --workers 4 missing.jsonl
expect 4 afore-migrate calibrate -b 1K -e 4K -n 1 -o missing/x.json

# A signal while the tool waits for input that does not come, or for work that takes long.
signalled() {  # signalled SIGNAL CODE COMMAND...: ended by it, whether the tool catches it or not
  local signal=$1 want=$2
  shift 2
  mkfifo wait.$$ && exec 9<> wait.$$ && rm wait.$$
  # A job in the background ignores SIGINT; env gives it back.
  env --default-signal=INT "$@" < /dev/fd/9 > out 2> err &
  local pid=$! code=0
  for _ in {1..200}; do
    [[ $(tr '\0' ' ' < /proc/$pid/cmdline 2> /dev/null) == "$1"* ]] && [[ $(< /proc/$pid/wchan) != 0 || -s out ]] && break
    sleep 0.05
  done
  sleep 0.2
  kill -"$signal" $pid
  wait $pid 2> /dev/null || code=$?
  exec 9>&-
  [[ $code == "$want" ]] || { echo "$*: $signal gave $code, not $want"; head -n 2 err; }
}
signalled INT 130 afore-trace stat -
signalled TERM 143 afore-trace replay - -o kept.jsonl
signalled INT 130 afore-plan --workers 4 --summary -
signalled TERM 143 afore-plan --workers 4 -
signalled INT 130 afore-serve replay --workers 4 -
signalled INT 130 afore-migrate -b 1K -e 1K -n 1000000
signalled TERM 143 afore-migrate -b 1K -e 1K -n 1000000

# A reader that has seen enough.
set -o pipefail
piped() {
  local code=0
  "$@" 2> err | head -n 1 > /dev/null || code=$?
  [[ $code == 141 && ! -s err ]] || { echo "$* | head: exit $code"; head -n 2 err; }
}
piped afore-trace replay --interval-ms 0 demand.jsonl
piped afore-plan --replan --workers 4 planned.jsonl
piped afore-serve replay planned.jsonl
piped afore-migrate -b 1K -e 4M -n 2000
exit 0
