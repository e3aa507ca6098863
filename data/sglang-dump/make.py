#!/usr/bin/env python3
"""Makes expert_distribution_recorder.pt beside it: what SGLang's recorder dumps in mode stat, of models/tiny.

afore-trace record --workload mixed --max-concurrency 240 --microbatches 1 --steps 96 --warmup-steps 8 | make.py
Needs torch (Debian's python3-torch). Rows are all 5 hidden layers of the model, layer 0 is dense.
"""
import json
import os
import sys

import torch

steps = {}
for line in sys.stdin:
    record = json.loads(line)
    if record["kind"] == "demand" and record["phase"] != "warmup":
        counts = steps.setdefault(record["step"], torch.zeros(5, 32, dtype=torch.int32))
        counts[record["layer"]] += torch.tensor(record["counts"], dtype=torch.int32)
dump = {
    "rank": 0,
    "logical_count": torch.stack([steps[step] for step in sorted(steps)]),
    "average_utilization_rate_over_window": None,
}
torch.save(dump, os.path.join(os.path.dirname(os.path.abspath(__file__)), "expert_distribution_recorder.pt"))
