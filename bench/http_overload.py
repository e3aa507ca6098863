#!/usr/bin/env python3
"""What the HTTP endpoint does under clients that are slow, or far too many. Needs Linux and Python, nothing else.

slow      CONNECTIONS that send a byte of their header every 2 s, while /health is asked: its latency
overload  the most requests per second that closed loops of 16, 64 and 256 clients get done; then ten times that rate,
          open loop (Poisson), for SECONDS: what is still done, how soon the rest is refused, memory, and whether the
          counts of /metrics add up in every scrape
requests  10,000 short requests: file descriptors and memory before and after

Clients run on the cores that the endpoint runs on. Latencies are measured by a process of its own that does nothing else
(probe), and for refusals also by the load generator itself. Memory is the resident set (VmRSS). A table goes to standard
output, or JSON.
"""
import argparse
import asyncio
import collections
import contextlib
import json
import multiprocessing
import os
import random
import resource
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("slow", "overload", "requests")
LOOPS = (16, 64, 256)  # clients
CLIENTS = 32
# Answers of 32 tokens to prompts of 32.
BODY = json.dumps({"prompt": list(range(100, 132)), "max_tokens": 32, "temperature": 0, "ignore_eos": True})
SHORT = json.dumps({"prompt": list(range(100, 104)), "max_tokens": 1, "temperature": 0})


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=ROOT / "build/release/bin", help="folder of afore-serve")
    parser.add_argument("--flags", default="--ffn-workers 2 --max-concurrency 128 --max-queue 128", help="of afore-serve http (%(default)s)")
    parser.add_argument("--parts", default=",".join(PARTS), help="(%(default)s)")
    parser.add_argument("--connections", type=int, default=1000, help="slow ones (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="of overload (%(default)s); a third of it for slow")
    parser.add_argument("--requests", type=int, default=10_000, help="(%(default)s)")
    parser.add_argument("--json", action="store_true", help="JSON on standard output")
    args = parser.parse_args()
    args.parts = args.parts.split(",")
    if unknown := set(args.parts) - set(PARTS):
        parser.error(f"--parts: {', '.join(unknown)}: none of {', '.join(PARTS)}")
    return args


class Endpoint:
    """afore-serve http on a free port, with what the system says of its process."""

    def __init__(self, args, folder):
        ready = folder / "ready"
        command = [args.bin / "afore-serve", "http", "--port", "0", "--ready-file", ready, *shlex.split(args.flags)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not ready.exists():
            if self.process.poll() is not None:
                sys.exit(f"http_overload: the endpoint does not start: {self.process.stderr.read()}")
            time.sleep(0.05)
        self.port = int(ready.read_text().rsplit(":", 1)[1])

    def rss_kib(self):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        self.process.terminate()
        out, _ = self.process.communicate(timeout=60)
        return {"exit": self.process.returncode, "summary": json.loads(out.splitlines()[-1])}


def quantiles(seconds):
    ordered = sorted(seconds)
    at = lambda share: round(1e3 * ordered[min(len(ordered) - 1, int(share * len(ordered)))], 3)
    return {"n": len(ordered), "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1)} if ordered else {"n": 0}


def count_of(statuses):
    return {str(status): count for status, count in sorted(collections.Counter(statuses).items())}


# --- the probe


def probe(port, path, body, every_s, patience_s, stopped, ends):
    """Asks again and again on one connection, in a process of its own; sends (status, seconds) of all.

    Status 0: no answer in `patience_s`, after which it goes away.
    """
    seen = []
    message = request(path, body)
    connection = None
    while not stopped.is_set():
        begin = time.perf_counter()
        try:
            if connection is None:
                connection = socket.create_connection(("127.0.0.1", port), timeout=patience_s)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                begin = time.perf_counter()
            connection.sendall(message)
            head = b""
            while b"\r\n\r\n" not in head:
                more = connection.recv(65536)
                if not more:
                    raise ConnectionError
                head += more
            head, _, rest = head.partition(b"\r\n\r\n")
            left = length_of(head) - len(rest)
            while left > 0:
                more = len(connection.recv(65536))
                if more == 0:
                    raise ConnectionError
                left -= more
            seen.append((int(head.split(b" ", 2)[1]), time.perf_counter() - begin))
        except OSError:
            seen.append((0, time.perf_counter() - begin))
            if connection is not None:
                connection.close()
            connection = None
        time.sleep(max(0.0, every_s - (time.perf_counter() - begin)))
    ends.send(seen)


@contextlib.contextmanager
def probing(port, path, body, every_s, patience_s=60.0):
    """A list that has the probe's findings once the block is left."""
    seen = []
    stopped = multiprocessing.Event()
    receiver, sender = multiprocessing.Pipe(False)
    process = multiprocessing.Process(target=probe, args=(port, path, body, every_s, patience_s, stopped, sender))
    process.start()
    try:
        yield seen
    finally:
        stopped.set()
        seen += receiver.recv()
        process.join()


# --- HTTP, as little as there need be


def request(path, body=None):
    if body is None:
        return f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode()
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()


def length_of(head):
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.split(b":")[1])
    return 0


class Connections:
    """Kept alive; as many as there are requests under way."""

    def __init__(self, port):
        self.port, self.idle, self.opened = port, [], 0

    async def ask(self, message):
        """Status and body."""
        reader, writer = self.idle.pop() if self.idle else await self.open()
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(length_of(head))
        self.idle.append((reader, writer))
        return int(head.split(b" ", 2)[1]), body

    async def open(self):
        self.opened += 1
        return await asyncio.open_connection("127.0.0.1", self.port)

    def close(self):
        for _, writer in self.idle:
            writer.close()


async def closed_loop(port, message, clients, *, seconds=None, requests=None):
    """Requests done, how many were not, and the seconds it took."""
    connections = Connections(port)
    left = requests if requests is not None else float("inf")
    done, other = 0, 0
    begin = time.perf_counter()

    async def client():
        nonlocal left, done, other
        while left > 0 and (seconds is None or time.perf_counter() - begin < seconds):
            left -= 1
            status, _ = await connections.ask(message)
            done += status == 200
            other += status != 200

    await asyncio.gather(*(client() for _ in range(clients)))
    connections.close()
    return done, other, time.perf_counter() - begin


# --- the parts


async def slow_clients(port, count, seconds):
    """Connections that send a byte of their header every 2 s, and come again when they are thrown out."""
    end = time.perf_counter() + seconds
    header = b"GET /health HTTP/1.1\r\nhost: " + b"x" * 1000
    thrown_out = 0

    async def client(number):
        nonlocal thrown_out
        await asyncio.sleep(2 * number / count)
        while time.perf_counter() < end:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    for i in range(len(header)):
                        writer.write(header[i : i + 1])
                        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
                            await asyncio.wait_for(reader.read(1), 2)  # an answer: thrown out
                            thrown_out += 1
                            break
                        if time.perf_counter() > end:
                            break
                finally:
                    writer.close()

    await asyncio.gather(*(client(number) for number in range(count)))
    return thrown_out


def slow(args, endpoint):
    seconds = max(12.0, args.seconds / 3)  # longer than a header may take
    with probing(endpoint.port, "/health", None, 0.02) as alone:
        time.sleep(2)
    with probing(endpoint.port, "/health", None, 0.02) as seen:
        thrown_out = asyncio.run(slow_clients(endpoint.port, args.connections, seconds))
    ok = [seconds for status, seconds in seen if status == 200]
    return {
        "connections": args.connections, "seconds": seconds, "thrown_out": thrown_out,
        "health_alone": quantiles([seconds for _, seconds in alone]), "health": quantiles(ok),
        "health_failed": len(seen) - len(ok),
    }  # fmt: skip


COUNTS = ("completed", "queued", "running", "rejected", "timed_out", "cancelled")


def counts_of(page):
    """afore_requests_*, and whether they add up."""
    samples = dict(line.rsplit(" ", 1) for line in page.decode().splitlines() if line[:1] not in ("", "#"))
    of = lambda name: int(float(samples[f"afore_requests_{name}" + ("" if name in ("queued", "running") else "_total")]))
    counts = {name: of(name) for name in ("injected", *COUNTS)}
    return counts, counts["injected"] == sum(counts[name] for name in COUNTS)


async def open_loop(endpoint, rate, seconds):
    """Requests at drawn times, whatever becomes of those before; with a scrape and the memory every second."""
    drawn = random.Random(1)
    message = request("/v1/completions", BODY)
    connections, watch = Connections(endpoint.port), Connections(endpoint.port)
    statuses, refusals, rss, scrapes, tasks = [], [], [], [], set()
    begin = time.perf_counter()

    async def one():
        sent = time.perf_counter()
        try:
            status, _ = await connections.ask(message)
        except (OSError, asyncio.IncompleteReadError):
            status = 0
        if time.perf_counter() - begin <= seconds:
            statuses.append(status)
        if status == 429:
            refusals.append(time.perf_counter() - sent)

    async def look():
        while True:
            _, page = await watch.ask(request("/metrics"))
            scrapes.append(counts_of(page))
            rss.append(endpoint.rss_kib())
            await asyncio.sleep(1)

    looking = asyncio.create_task(look())
    due, offered = 0.0, 0
    while due < seconds:
        now = time.perf_counter() - begin
        if now < due:
            await asyncio.sleep(due - now)
        while due <= time.perf_counter() - begin and due < seconds:
            tasks.add(task := asyncio.create_task(one()))
            task.add_done_callback(tasks.discard)
            offered += 1
            due += drawn.expovariate(rate)
        await asyncio.sleep(0)
    took = time.perf_counter() - begin
    await asyncio.gather(*tasks)
    looking.cancel()
    if looking.done() and not looking.cancelled():
        looking.result()
    _, page = await watch.ask(request("/metrics"))
    scrapes.append(counts_of(page))
    connections.close()
    watch.close()
    return {"offered": offered, "took": took, "statuses": statuses, "refusals": refusals, "rss": rss, "scrapes": scrapes,
            "opened": connections.opened}  # fmt: skip


def overload(args, endpoint):
    message = request("/v1/completions", BODY)
    asyncio.run(closed_loop(endpoint.port, message, CLIENTS, seconds=3))  # warm
    loops = {}
    for clients in LOOPS:
        done, other, took = asyncio.run(closed_loop(endpoint.port, message, clients, seconds=max(4.0, args.seconds / 6)))
        loops[str(clients)] = {"per_s": done / took, "failed": other}
    peak = max(loop["per_s"] for loop in loops.values())
    before = endpoint.rss_kib()
    with probing(endpoint.port, "/v1/completions", BODY, 0.02, 0.2) as seen:
        cpu = time.process_time()
        run = asyncio.run(open_loop(endpoint, 10 * peak, args.seconds))
        cpu = time.process_time() - cpu
    warm = run["rss"][min(10, len(run["rss"]) // 2)]
    goodput = run["statuses"].count(200) / args.seconds
    return {
        "closed_loop": loops, "peak_per_s": peak,
        "wanted_per_s": 10 * peak, "offered_per_s": run["offered"] / run["took"], "seconds": args.seconds,
        "generator_cores": cpu / args.seconds, "statuses": count_of(run["statuses"]),
        "goodput_per_s": goodput, "goodput_over_peak": goodput / peak,
        "probe_statuses": count_of(status for status, _ in seen),
        "refusal_probe": quantiles([seconds for status, seconds in seen if status == 429]),
        "refusal_generator": quantiles(run["refusals"]), "connections": run["opened"],
        "rss_before_kib": before, "rss_10s_kib": warm, "rss_end_kib": run["rss"][-1],
        "rss_growth_after_10s": run["rss"][-1] / warm - 1, "rss_kib_every_10s": run["rss"][::10],
        "scrapes": len(run["scrapes"]), "scrapes_that_add_up": sum(holds for _, holds in run["scrapes"]),
        "counts": run["scrapes"][-1][0],
    }  # fmt: skip


def requests(args, endpoint):
    message = request("/v1/completions", SHORT)
    asyncio.run(closed_loop(endpoint.port, message, CLIENTS, requests=500))  # warm
    time.sleep(1)
    before = {"descriptors": endpoint.descriptors(), "rss_kib": endpoint.rss_kib()}
    done, other, took = asyncio.run(closed_loop(endpoint.port, message, CLIENTS, requests=args.requests))
    time.sleep(1)  # for the server to see that connections were closed
    after = {"descriptors": endpoint.descriptors(), "rss_kib": endpoint.rss_kib()}
    return {"requests": args.requests, "done": done, "failed": other, "per_s": done / took, "before": before, "after": after}


def flat(value, name=""):
    if not isinstance(value, dict):
        yield name, value
        return
    for key, inner in value.items():
        yield from flat(inner, f"{name} {key}".strip())


def main():
    args = arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # the endpoint inherits it
    report = {"flags": args.flags, "cores": os.cpu_count()}
    with tempfile.TemporaryDirectory() as folder:
        for part in args.parts:
            # One for each part: they do not find each other's traces.
            endpoint = Endpoint(args, Path(folder))
            try:
                report[part] = globals()[part](args, endpoint)
            finally:
                end = endpoint.end()
                report.setdefault(part, {})["exit"] = end["exit"]
    if args.json:
        print(json.dumps(report))
    else:
        for name, value in flat(report):
            print(f"{name:<44} {value:.4g}" if isinstance(value, float) else f"{name:<44} {value}")


if __name__ == "__main__":
    main()
