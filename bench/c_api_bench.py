#!/usr/bin/env python3
"""What a call takes from Python (ctypes): the sizes of c_api_bench, TSV of us per plan. AFORE_LIBRARY names the library.

counts_us: a list of counts is made into a buffer with every call; buffer_us: the router's counts are one already.
lists_us: reading copies and shares of a plan as lists of tuples.
"""

import os
import random
import sys
import time
from array import array

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib/c/python"))
import afore  # noqa: E402

TARGETS, ROUNDS, TOKENS, TOP_K = 128, 4, 4096, 8


def targets_of(experts):
    """Lognormal popularity that drifts from target to target, each expert with at most every token."""
    rng, logs, targets = random.Random(1), None, []
    for _ in range(TARGETS):
        fresh = [rng.gauss(0, 1) for _ in range(experts)]
        logs = fresh if logs is None else [0.95 * a + (1 - 0.95**2) ** 0.5 * b for a, b in zip(logs, fresh)]
        weights = [2.718281828**x for x in logs]
        counts = [min(TOKENS, int(TOKENS * TOP_K * w / sum(weights))) for w in weights]
        rest = TOKENS * TOP_K - sum(counts)
        for expert in range(experts):
            more = min(rest, TOKENS - counts[expert])
            counts[expert] += more
            rest -= more
        targets.append(counts)
    return targets


def both(ns):
    ns = sorted(ns)
    return f"{ns[len(ns) // 2] / 1e3:.2f}\t{ns[len(ns) * 99 // 100] / 1e3:.2f}"


def measure(policy, experts, workers):
    config = lambda: afore.Config(
        "glm-4.5-air", experts=experts, top_k=TOP_K, layers=[0], ffn_workers=workers, policy=policy
    )
    lists, buffers = afore.Planner(config()), afore.Planner(config())
    list_ns, buffer_ns, read_ns = [], [], []
    targets = targets_of(experts)
    for i in range(TARGETS * ROUNDS):
        counts = targets[i % TARGETS]
        lying = array("q", counts)
        start = time.perf_counter_ns()
        lists.plan(i, 0, 0, TOKENS, counts, 100_000)
        middle = time.perf_counter_ns()
        plan = buffers.plan(i, 0, 0, TOKENS, lying, 100_000)
        end = time.perf_counter_ns()
        _ = plan.copies, plan.shares
        read_ns.append(time.perf_counter_ns() - end)
        list_ns.append(middle - start)
        buffer_ns.append(end - middle)
    print(policy, experts, workers, both(list_ns), both(buffer_ns), both(read_ns), sep="\t", flush=True)


print("policy\texperts\tworkers\tcounts_us\tcounts_p99\tbuffer_us\tbuffer_p99\tlists_us\tlists_p99")
for policy in ("static", "afore"):
    for experts, workers in ((32, 4), (128, 8), (256, 32)):
        measure(policy, experts, workers)
