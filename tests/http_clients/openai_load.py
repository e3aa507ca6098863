#!/usr/bin/env python3
"""Load by OpenAI's asynchronous client; one JSON object with the keys of `vllm bench serve`, by its formulas.

    openai_load.py URL MODEL --requests N --concurrency N [--rate R] [--input-tokens N] [--output-tokens N] [--seed N]

Streams of drawn token ids. A closed loop of --concurrency clients; with --rate they start at drawn times (Poisson), still
at most --concurrency at once.
"""
import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time

import openai


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--concurrency", type=int, required=True)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--input-tokens", type=int, default=64)
    parser.add_argument("--output-tokens", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


async def ask(client, args, prompt):
    """Seconds to each chunk with text, and the tokens; an exception for what failed."""
    begin = time.perf_counter()
    chunks, usage = [], None
    stream = await client.completions.create(
        model=args.model, prompt=prompt, max_tokens=args.output_tokens, temperature=0, stream=True,
        stream_options={"include_usage": True}, extra_body={"ignore_eos": True},
    )  # fmt: skip
    async for chunk in stream:
        if chunk.usage is not None:
            usage = chunk.usage
        elif chunk.choices:
            chunks.append(time.perf_counter() - begin)
    if not chunks or usage is None:
        raise RuntimeError("a stream without text or usage")
    return chunks, usage.prompt_tokens, usage.completion_tokens


async def load(args):
    drawn = random.Random(args.seed)
    prompts = [[drawn.randrange(args.vocabulary) for _ in range(args.input_tokens)] for _ in range(args.requests)]
    starts, now = [], 0.0
    for _ in prompts:
        starts.append(now)
        now += drawn.expovariate(args.rate) if args.rate else 0.0
    slots = asyncio.Semaphore(args.concurrency)
    begin = time.perf_counter()

    async def one(client, prompt, start):
        await asyncio.sleep(max(0.0, begin + start - time.perf_counter()))
        async with slots:
            try:
                return await ask(client, args, prompt)
            except (openai.OpenAIError, RuntimeError) as error:
                return error

    key = os.environ.get("OPENAI_API_KEY", "none")
    async with openai.AsyncOpenAI(base_url=args.url + "/v1", api_key=key, max_retries=0, timeout=600) as client:
        ends = await asyncio.gather(*(one(client, prompt, start) for prompt, start in zip(prompts, starts)))
    return ends, time.perf_counter() - begin


def quantile(values, share):
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def report(args, ends, duration):
    done = [end for end in ends if not isinstance(end, Exception)]
    for error in {str(end) for end in ends if isinstance(end, Exception)}:
        print(f"openai_load: {error}", file=sys.stderr)
    result = {
        "num_prompts": args.requests,
        "request_rate": args.rate or "inf",
        "max_concurrency": args.concurrency,
        "duration": duration,
        "completed": len(done),
        "failed": len(ends) - len(done),
        "total_input_tokens": sum(end[1] for end in done),
        "total_output_tokens": sum(end[2] for end in done),
        "request_throughput": len(done) / duration,
        "output_throughput": sum(end[2] for end in done) / duration,
    }
    samples = {
        "ttft": [chunks[0] for chunks, _, _ in done],
        "tpot": [(chunks[-1] - chunks[0]) / (tokens - 1) for chunks, _, tokens in done if tokens > 1],
        "itl": [later - sooner for chunks, _, _ in done for sooner, later in zip(chunks, chunks[1:])],
        "e2el": [chunks[-1] for chunks, _, _ in done],
    }
    for name, values in samples.items():
        if not values:
            continue
        result[f"mean_{name}_ms"] = 1e3 * statistics.fmean(values)
        result[f"median_{name}_ms"] = 1e3 * quantile(values, 0.5)
        result[f"p99_{name}_ms"] = 1e3 * quantile(values, 0.99)
    return result


def main():
    args = arguments()
    result = report(args, *asyncio.run(load(args)))
    print(json.dumps(result))
    return 0 if result["failed"] == 0 else 1


sys.exit(main())
