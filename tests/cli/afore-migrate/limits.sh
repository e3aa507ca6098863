#!/usr/bin/env bash
# --min-bw asks whether the copies are fast enough; -T ends a run with what it has. Both answer with exit 1.
afore-migrate -b 64K -e 128K -n 5 --min-bw 0.000001 > out && tail -n 1 out | cut -c 1-20
afore-migrate -b 64K -e 128K -n 5 --min-bw 1e8 -J slow.json 2>&1 > out | sed -E 's/is [0-9.]+ GB/is N GB/'
echo "exit ${PIPESTATUS[0]}"
jq -c '[.min_bus_bandwidth, .average_bus_bandwidth.okay, .paths[0].average_bus_bandwidth.okay, (.results | length)]' slow.json
afore-migrate -b 1M -e 1M -n 1000000 -w 1 -T 1 -J late.json > out 2>&1
echo "exit $?"
grep error out
grep -c -E '^# (Time limit|Avg)' out
jq -c '[.interrupted, .timed_out]' late.json
afore-migrate calibrate -q -b 1M -e 2M -n 1000000 -w 1 -T 1 -o cost.json
echo "exit $?"
afore-migrate -b 4K -e 4K -n 2 -T 600 > out
echo "exit $?"
ls
