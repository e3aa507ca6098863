#!/usr/bin/env bash
# What HarMoEny's, Lina's, Libra's and FasterMoE's rules plan passes the checker. Computing is slow beside copies here,
# so that all of them copy.
STEPS=12 source "$AFORE_SOURCE_DIR/tests/data/tiny_stream.sh"
cat > slow.json <<'END'
{"name":"slow","flops_per_s":1e+15,"flops_efficiency":1,"memory_bytes_per_s":3e+12,"memory_efficiency":1,
 "link_bytes_per_s":4e+11,"link_efficiency":1,"link_latency_ns":10000,"copy_bytes_per_s":4e+12,"copy_latency_ns":1000,
 "ffn_c0_ns":5000,"attention_c0_ns":5000,"control_latency_ns":2000,"scheduler_ns":10000,"sampling_ns":20000,
 "ffn_c1_ns":20000,"ffn_c2_ns":15000}
END
for policy in harmoeny lina libra fastermoe; do
  for objective in time tiles; do
    for split in own exact; do
      for source in prefetch last_step window; do
        afore-plan --policy $policy --objective $objective --split $split --demand-source $source --cost slow.json \
          --workers 5 --slots 1 --tile-tokens 16 stream > planned
        echo "$policy $objective $split $source: $(afore-plan verify planned 2>&1)"
      done
    done
  done
done
