#!/usr/bin/env bash
# -o: a file of lines has its name only when it is whole, nothing that is there is replaced, and special files least.
synth() { afore-trace synth --model afore-tiny --tokens 64 --steps 20 "$@"; }
synth > lines
synth -o file.jsonl && cmp lines file.jsonl
{
  synth -o file.jsonl
  echo "= $?"
  mkfifo pipe
  ln -s nowhere link
  for name in pipe link . missing/file; do
    synth -o "$name"
    echo "= $?"
  done
  [[ -p pipe && -L link && ! -e nowhere ]] || echo "something was replaced"
  head -n 5 lines > bad
  echo '{"kind":"demand"}' >> bad
  afore-trace head -n 99 bad -o cut.jsonl
  echo "= $?"
  # To standard output what was whole goes out.
  afore-trace head -n 99 bad | cmp - <(head -n 5 lines) && echo same
  printf 'framework,device,op_name,nccl_dtype,num_gpus,message_size,latency\nx,h100,all_gather,half,2,256,0.005\n' > t.csv
  for latency in 1e305 1e9 0 -1 nan; do
    sed "s/0.005/$latency/" t.csv > bad.csv
    afore-trace fit-cost bad.csv
    echo "= $?"
  done
} 2>&1
ls
# Ctrl-C leaves nothing.
afore-trace synth --model deepseek-v3 --tokens 4096 --steps 100000 -o endless.jsonl &
sleep 0.3
kill -INT $!
wait $!
echo "= $?"
ls | grep -c endless || true
