#!/usr/bin/env bash
# Progress on a terminal alone, not under -q, not while lines go to the terminal, and gone at the end and before messages.
# The input pauses for longer than the second that goes before the first line, so that there is one however slow all is.
command -v script > /dev/null || { echo "no script(1)"; exit 77; }
export TERM=xterm
afore-trace synth --model gpt-oss-20b --layers 0 --steps 400 --tokens 64 > demand.jsonl
cat > slow << 'END'
#!/usr/bin/env bash
head -n 200 "$1"
sleep 1.3
tail -n +201 "$1"
END
chmod +x slow
on_terminal() { script -qec "$*" /dev/null < /dev/null; }
# Lines of progress, "TOOL: 123 records, ...", each from a carriage return to an erasure of the rest.
shown() { grep -aoE $'\r'"$1: [0-9,]+ [a-z]+, [0-9,.]+/s[^"$'\e]*\e''\[K' | wc -l; }
last_visible() { sed 's/.*\r\x1b\[K//; s/\r$//' | tail -n 1; }

has() {  # has TOOL COMMAND: progress, nothing of which stands at the end
  local out
  out=$(on_terminal "$2")
  (($(shown "$1" <<< "$out") > 0)) || echo "no progress: $2"
  [[ $out == *$'\r\e[K' || $out == *$'\r\e[K'*[!$'\e']* ]] || echo "not erased: $2"
  [[ $(last_visible <<< "$out") != *'/s'* ]] || echo "it stays: $2: $(last_visible <<< "$out")"
}
none() {  # none COMMAND
  local out
  out=$(on_terminal "$1")
  [[ $out != *$'\e[K'* ]] || echo "progress: $1"
}
has afore-plan './slow demand.jsonl | afore-plan -q --workers 4 > p.jsonl 2> /dev/null; ./slow demand.jsonl | afore-plan --workers 4 --model gpt-oss-20b > p.jsonl'
has afore-serve './slow demand.jsonl | afore-serve replay --workers 4 --policy static > r.jsonl'
has afore-serve './slow demand.jsonl | afore-serve compare --workers 4 --policies static,afore'
has afore-trace './slow demand.jsonl | afore-trace stat'
has afore-trace './slow demand.jsonl | afore-trace replay --interval-ms 0 > l.jsonl'
has afore-trace './slow demand.jsonl | afore-trace record -o l.afl'
none './slow demand.jsonl | afore-plan -q --workers 4 > p.jsonl'
none './slow demand.jsonl | afore-plan --workers 4 2> err > p.jsonl'
none './slow demand.jsonl | afore-plan --workers 4'

# In a pipe of tools, too.
out=$(on_terminal './slow demand.jsonl | afore-trace replay --interval-ms 0 | afore-plan --workers 4 > p.jsonl')
a=$(shown afore-trace <<< "$out") b=$(shown afore-plan <<< "$out")
((a > 0 || b > 0)) || echo "a pipe has no progress"

# A message takes the line away and has one of its own.
{ cat demand.jsonl; echo '{"kind":"demand"}'; } > bad.jsonl
out=$(on_terminal './slow bad.jsonl | afore-plan --workers 4 > p.jsonl')
grep -qaE $'\r\e''\[Kafore-plan: .*error:' <<< "$out" || { echo "a message in the line of progress:"; cat -v <<< "$out"; }
exit 0
