#!/usr/bin/env python3
"""afore.py as an engine uses it: buffers, errors, maps, EPLB, and the ring between processes. AFORE_LIBRARY names the
library."""

import copy
import multiprocessing
import multiprocessing.shared_memory
import os
import random
import signal
import unittest
from array import array

import afore

SECOND = 1_000_000_000


def counts_of(rng, tokens=200, experts=32, top_k=4):
    counts = [0] * experts
    for _ in range(tokens):
        for expert in rng.sample(range(experts), top_k):
            counts[expert] += 1
    return counts


def tiny(**fields):
    return afore.Config("afore-tiny", **{"ffn_workers": 4, "tile_tokens": 4, "copy_ns": 10, **fields})


def values(plan):
    return plan.seq, plan.copies, plan.shares, plan.tile_load, plan.ffn_ns, plan.gain_ns


class PlannerTest(unittest.TestCase):
    def test_buffers_and_lists_are_the_same(self):
        rng = random.Random(1)
        planners = [afore.Planner(tiny()) for _ in range(5)]
        for step in range(20):
            counts = counts_of(rng)
            forms = [counts, array("q", counts), array("i", counts), memoryview(array("q", counts)),
                     bytes_of_q(counts)]
            plans = [values(p.plan(step, 1, 0, 200, form)) for p, form in zip(planners, forms)]
            for plan in plans:
                self.assertEqual(plan, plans[0])
        self.assertEqual(sum(tokens for *_, tokens in plans[0][2]), 800)

    def test_errors_have_codes_and_lines(self):
        with self.assertRaises(afore.AforeError) as caught:
            afore.Planner(afore.Config("afore-tiny"))
        self.assertEqual(caught.exception.status, -2)
        self.assertIn("ffn_workers", str(caught.exception))
        with self.assertRaises(TypeError):
            tiny(worker=3)
        planner = afore.Planner(tiny())
        with self.assertRaises(afore.AforeError) as caught:
            planner.plan(0, 1, 0, 5, [1] * 32)
        self.assertEqual(caught.exception.status, -3)
        with self.assertRaises(ValueError):
            planner.plan(0, 1, 0, 1, [1] * 4)
        with self.assertRaises(TypeError):
            planner.plan(0, 1, 0, 8, array("d", [1.0] * 32))
        planner.close()
        planner.close()
        with self.assertRaises(afore.AforeError):
            planner.plan(0, 1, 0, 8, [1] * 32)

    def test_maps(self):
        planner = afore.Planner(tiny(redundant_slots=0))
        self.assertEqual(planner.placement(2), list(range(32)))
        planner.set_placement(2, list(reversed(range(32))))
        self.assertEqual(planner.placement(2), list(reversed(range(32))))
        with self.assertRaises(afore.AforeError):
            planner.set_placement(2, list(range(32)))
        with self.assertRaises(afore.AforeError):
            planner.set_placement(1, array("i", [0] * 32))
        self.assertEqual(planner.plan(0, 2, 0, 8, [1] * 32).shares[0][:2], (0, 3))

    def test_eplb_is_the_published_example(self):
        weights = [[90, 132, 40, 61, 104, 165, 39, 4, 73, 56, 183, 86],
                   [20, 107, 104, 64, 19, 197, 187, 157, 172, 86, 16, 27]]
        phy2log, log2phy, count = afore.place_eplb(weights, 16, 4, 2, 8)
        self.assertEqual(phy2log.tolist(), [[5, 6, 5, 7, 8, 4, 3, 4, 10, 9, 10, 2, 0, 1, 11, 1],
                                            [7, 10, 6, 8, 6, 11, 8, 9, 2, 4, 5, 1, 5, 0, 3, 1]])
        self.assertEqual(log2phy.tolist()[0][5], [0, 2, -1, -1, -1])
        self.assertEqual(sum(count.tolist()[1]), 16)
        lying = memoryview(array("d", weights[0] + weights[1])).cast("B").cast("d", [2, 12])
        self.assertEqual(afore.place_eplb(lying, 16, 4, 2, 8)[0], phy2log)
        with self.assertRaises(afore.AforeError):
            afore.place_eplb(weights, 11, 4, 2, 8)


def bytes_of_q(counts):
    return memoryview(array("q", counts).tobytes()).cast("q")  # read-only


def read_all(name, reader, count, results):
    memory = multiprocessing.shared_memory.SharedMemory(name)
    with afore.Ring(memory.buf) as ring:
        results.put((reader, [values(ring.take(reader, 30 * SECOND)) for _ in range(count)]))
    memory.close()


class FormsTest(unittest.TestCase):
    def test_a_plan_can_be_copied(self):
        plan = afore.Planner(tiny()).plan(0, 1, 0, 8, [1] * 32)
        self.assertEqual(copy.copy(plan).tokens, 8)

    def test_weights_have_two_dimensions(self):
        for weights in ([], array("d", [1, 2, 3, 4])):
            with self.assertRaisesRegex(ValueError, "weights of"):
                afore.place_eplb(weights, 4, 1, 1, 2)


class RingTest(unittest.TestCase):
    def setUp(self):
        self.planner = afore.Planner(tiny())
        most = self.planner.plan_bytes()
        self.memory = multiprocessing.shared_memory.SharedMemory(create=True, size=afore.Ring.bytes(4, 2, most))
        self.ring = afore.Ring(self.memory.buf, create=(4, 2, most))
        self.results = multiprocessing.Queue()

    def tearDown(self):
        self.ring.close()
        self.memory.close()
        self.memory.unlink()

    def start(self, reader, count):
        process = multiprocessing.Process(target=read_all, args=(self.memory.name, reader, count, self.results))
        process.start()
        return process

    def test_plans_arrive_whole_in_other_processes(self):
        processes = [self.start(reader, 50) for reader in range(2)]
        rng, plans = random.Random(2), []
        for step in range(50):
            plan = self.planner.plan(step, 1, 0, 200, counts_of(rng))
            self.assertTrue(self.ring.publish(plan, 30 * SECOND))
            plans.append(values(plan))
        for _ in processes:
            self.assertEqual(self.results.get(timeout=30)[1], plans)
        for process in processes:
            process.join()
            self.assertEqual(process.exitcode, 0)

    def test_a_killed_reader_is_named_and_dropped(self):
        victim = self.start(1, 1 << 30)
        os.kill(victim.pid, signal.SIGKILL)
        victim.join()
        plan = self.planner.plan(0, 1, 0, 8, [1] * 32)
        published = 0
        while self.ring.publish(plan, SECOND // 100):
            published += 1
            self.assertIsNotNone(self.ring.take(0, 0))
            self.assertLess(published, 10)
        self.assertEqual(self.ring.slowest(), 1)
        self.ring.drop(1)
        self.assertTrue(self.ring.publish(plan, 0))
        self.assertIsNotNone(self.ring.take(0, 0))
        self.assertIsNone(self.ring.take(0, 1000))
        with self.assertRaises(afore.AforeError) as caught:
            self.ring.take(1, 0)
        self.assertEqual(caught.exception.status, afore.LOST)

    def test_memory_that_cannot_be(self):
        with self.assertRaises(afore.AforeError):
            afore.Ring(bytearray(100), create=(4, 2, 1000))
        with self.assertRaises(afore.AforeError):
            afore.Ring(bytearray(4096))


if __name__ == "__main__":
    unittest.main()
