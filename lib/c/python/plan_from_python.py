#!/usr/bin/env python3
"""Plans a stream of demand from Python and prints, by layer, what was copied and gained, and the time per plan.

    afore-trace import ... | plan_from_python.py --workers 8 [--policy afore] [--readers N]

--readers N shares every plan with N processes over the plan ring, as an engine's scheduler and workers would.
"""

import argparse
import json
import multiprocessing
import multiprocessing.shared_memory
import sys
import time
from array import array

import afore

CAPACITY = 16  # plans in the ring
SECOND = 1_000_000_000


def read_plans(name, reader, count, results):
    """A worker: takes `count` plans, and says how many copies they had."""
    memory = multiprocessing.shared_memory.SharedMemory(name)
    copies = 0
    with afore.Ring(memory.buf) as ring:
        for _ in range(count):
            plan = ring.take(reader, 30 * SECOND)
            if plan is None:
                raise SystemExit("the planner says nothing any more")
            copies += len(plan.copies)
    memory.close()
    results.put((reader, copies))


class Readers:
    """Reader processes, and the ring to them."""

    def __init__(self, readers, plan_bytes, count):
        size = afore.Ring.bytes(CAPACITY, readers, plan_bytes)
        self.memory = multiprocessing.shared_memory.SharedMemory(create=True, size=size)
        self.ring = afore.Ring(self.memory.buf, create=(CAPACITY, readers, plan_bytes))
        self.results = multiprocessing.Queue()
        self.processes = [
            multiprocessing.Process(target=read_plans, args=(self.memory.name, reader, count, self.results))
            for reader in range(readers)
        ]
        for process in self.processes:
            process.start()

    def publish(self, plan):
        while not self.ring.publish(plan, SECOND):
            slowest = self.ring.slowest()
            if not self.processes[slowest].is_alive():
                print(f"reader {slowest} has ended: going on without it", file=sys.stderr)
                self.ring.drop(slowest)

    def finish(self):
        told = sorted(self.results.get(timeout=60) for _ in self.processes)
        for process in self.processes:
            process.join()
        self.ring.close()
        self.memory.close()
        self.memory.unlink()
        for reader, copies in told:
            print(f"reader {reader}: {copies} copies")


def read_stream(lines):
    """The header, and the demand records with counts as one buffer each, the form that is handed over as it lies."""
    header, demands = {}, []
    for line in lines:
        record = json.loads(line)
        if record["kind"] == "header":
            header = record
        elif record["kind"] == "demand":
            record["counts"] = array("q", record["counts"])
            demands.append(record)
    return header, demands


def config_of(header, options):
    model = header["model"]
    sizes = {name: model[name] for name in ("hidden", "moe_intermediate", "expert_bytes") if name in model}
    return afore.Config(
        options.model,
        experts=model["experts"],
        top_k=model["top_k"],
        layers=model["moe_layers"],
        ffn_workers=options.workers,
        redundant_slots=options.slots,
        tile_tokens=options.tile_tokens,
        microbatches=header.get("cluster", {}).get("microbatches", 1),
        policy=options.policy,
        **sizes,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stream", nargs="?", help="records, as afore-trace writes them (default: standard input)")
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--slots", type=int, default=2)
    parser.add_argument("--tile-tokens", type=int, default=64)
    parser.add_argument("--policy", default="afore")
    parser.add_argument("--model", help="preset with the sizes that the header lacks")
    parser.add_argument("--readers", type=int, default=0)
    options = parser.parse_args()
    with open(options.stream) if options.stream else sys.stdin as lines:
        header, demands = read_stream(lines)

    layers, times = {}, []
    with afore.Planner(config_of(header, options)) as planner:
        readers = Readers(options.readers, planner.plan_bytes(), len(demands)) if options.readers else None
        for demand in demands:
            start = time.perf_counter_ns()
            plan = planner.plan(
                demand["step"], demand["layer"], demand["microbatch"], demand["tokens"], demand["counts"]
            )
            times.append(time.perf_counter_ns() - start)
            if readers:
                readers.publish(plan)
            of_layer = layers.setdefault(plan.layer, [0, 0, 0])
            of_layer[0] += 1
            of_layer[1] += len(plan.copies)
            of_layer[2] += plan.gain_ns
        if readers:
            readers.finish()
    for layer, (plans, copies, gain_ns) in sorted(layers.items()):
        print(f"layer {layer}: {plans} plans, {copies} copies, {gain_ns / 1e3 / plans:.2f} us gained per plan")
    times.sort()
    if times:
        median, p99 = times[len(times) // 2], times[min(len(times) - 1, len(times) * 99 // 100)]
        print(f"{len(times)} plans: median {median / 1e3:.1f} us, p99 {p99 / 1e3:.1f} us per call", file=sys.stderr)


if __name__ == "__main__":
    main()
