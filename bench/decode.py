#!/usr/bin/env python3
"""Decode throughput beside transformers and beside the time that reading the weights takes. Run it by bench/decode.

All contenders get the same prompts, all of one length, and generate the same number of tokens, greedily and past the
end-of-sequence token. They take turns, RUNS times. Decoding and prefill are told apart:

    decode tokens/s  = batch / (mean time between two tokens of a sequence, from its first token to its last)
    prefill tokens/s = prompt tokens / (time to the first token, all prompts begun at once)

For afore-serve those times are mean_tpot_ms and mean_ttft_ms of the summary, and the whole run's is output_throughput;
for transformers they lie between the start and the first and last call of a logits processor in generate(), or the same
places of a bare loop over the model. Its data types, implementations of experts and thread counts are all tried briefly
first, and the fastest measured. Before that, tokens of both are compared; a difference at a clear margin is an error.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
import transformers
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM, DynamicCache, LogitsProcessor, LogitsProcessorList

CLEAR = 1e-2  # logits that lie closer may come in another order in another implementation (models/tiny/README.md)


def make_prompts(model, workloads, count, length):
    """Texts of `length` tokens, cut from the bundled prompts in turn, where the text has the same tokens again."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    encode = lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    files = [[json.loads(line)["prompt"] for line in path.open()] for path in sorted(workloads.glob("*.jsonl"))]
    bundled = [encode(prompt) for row in zip(*files) for prompt in row]
    made = {}
    for first in range(len(bundled)):
        ids = bundled[first]
        for more in range(first + 1, first + 1 + length):
            if len(ids) >= length:
                break
            ids = ids + bundled[more % len(bundled)]
        text = tokenizer.decode(ids[:length], skip_special_tokens=False)
        if encode(text) == ids[:length]:
            made[text] = ids[:length]
    made = list(made.items())
    chosen = [made[i % len(made)] for i in range(count)]
    return [text for text, _ in chosen], [ids for _, ids in chosen]


class Watch(LogitsProcessor):
    """When each token's logits were there, and by how much the likeliest led."""

    def __init__(self, margins=False):
        self.times, self.margins = [], [] if margins else None

    def __call__(self, input_ids, scores):
        self.times.append(time.perf_counter())
        if self.margins is not None:
            top = scores.topk(2, dim=-1).values
            self.margins.append(top[:, 0] - top[:, 1])
        return scores


class Peer:
    def __init__(self, folder, dtype, experts):
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, experts_implementation=experts).eval()
        self.model.generation_config.eos_token_id = None

    @torch.inference_mode()
    def generate(self, ids, tokens, watch):
        ids = torch.tensor(ids)
        return self.model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, do_sample=False,
                                   pad_token_id=0, logits_processor=LogitsProcessorList([watch]))[:, ids.shape[1]:]

    @torch.inference_mode()
    def loop(self, ids, tokens, watch):
        cache, last, out = DynamicCache(config=self.model.config), torch.tensor(ids), []
        for _ in range(tokens):
            logits = self.model(input_ids=last, past_key_values=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
            watch(None, logits)
            last = logits.argmax(dim=-1, keepdim=True)
            out.append(last)
        return torch.cat(out, dim=1)


class Rates:
    """tokens/s of decoding and of prefill, and those of whole runs where they are known."""

    def __init__(self):
        self.decode, self.prefill, self.whole = [], [], []


def measure_peer(way, ids, tokens, rates):
    peer, how, threads = way
    torch.set_num_threads(threads)
    watch, start = Watch(), time.perf_counter()
    getattr(peer, how)(ids, tokens, watch)
    rates.prefill.append(len(ids) * len(ids[0]) / (watch.times[0] - start))
    rates.decode.append(len(ids) * (tokens - 1) / (watch.times[-1] - watch.times[0]))


def fastest(ways, ids, tokens, count):
    """Names of the ways that decode fastest: the better of two short tries each."""
    tried = {name: Rates() for name in ways}
    for _ in range(2):
        for name, way in ways.items():
            measure_peer(way, ids, tokens, tried[name])
    order = sorted(ways, key=lambda name: -max(tried[name].decode))
    print(f"in {tokens} tokens:", "; ".join(f"{max(tried[name].decode):,.0f} {name}" for name in order))
    return order[:count]


class Afore:
    def __init__(self, options, work):
        self.command = [str(options.bin / "afore-serve"), "run", "--model", str(options.model), "--json",
                        "--ignore-eos", "--max-tokens", str(options.tokens)]
        self.work = work

    def run(self, texts, extra):
        """Completions by prompt, and the summary."""
        file = self.work / f"prompts-{len(texts)}.jsonl"
        if not file.exists():
            lines = (json.dumps({"id": f"p{i}", "prompt": text}) for i, text in enumerate(texts))
            file.write_text("\n".join(lines) + "\n")
        done = subprocess.run([*self.command, "--prompts", str(file), *extra.split()], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"decode.py: afore-serve run {extra}: {done.stderr}")
        records = [json.loads(line) for line in done.stdout.splitlines()]
        tokens = {r["id"]: r["token_ids"] for r in records if r["kind"] == "completion"}
        return [tokens[f"p{i}"] for i in range(len(texts))], next(r for r in records if r["kind"] == "summary")

    def measure(self, texts, extra, rates):
        summary = self.run(texts, extra)[1]
        rates.decode.append(len(texts) / summary["mean_tpot_ms"] * 1e3)
        rates.prefill.append(summary["total_input_tokens"] / summary["mean_ttft_ms"] * 1e3)
        rates.whole.append(summary["output_throughput"])


def check_tokens(peer, afore, texts, ids, tokens, contenders):
    """Ends the program where a clear margin was decided otherwise. How many tokens were compared."""
    torch.set_num_threads(1)
    watch = Watch(margins=True)
    want = peer.generate(ids, tokens, watch).tolist()
    margins = torch.stack(watch.margins, dim=1).tolist()
    clear = [next((t for t in range(tokens) if of[t] < CLEAR), tokens) for of in margins]
    for extra in contenders.values():
        got, _ = afore.run(texts, extra)
        for p, of in enumerate(clear):
            for t in range(of):
                if want[p][t] != got[p][t]:
                    sys.exit(f"decode.py: afore-serve run {extra}: prompt {p}, token {t}: {got[p][t]}, but transformers "
                             f"says {want[p][t]}, by {margins[p][t]:.4f}")
    return sum(clear)


def weight_bytes(config):
    """bf16 bytes that every step reads, and those of one routed expert."""
    h, dim = config["hidden_size"], config["head_dim"]
    attention = h * dim * (2 * config["num_attention_heads"] + 2 * config["num_key_value_heads"])
    expert = 3 * h * config["moe_intermediate_size"]
    dense_layers = config["first_k_dense_replace"]
    moe_layers = config["num_hidden_layers"] - dense_layers
    every = (config["num_hidden_layers"] * attention + dense_layers * 3 * h * config["intermediate_size"] +
             moe_layers * (config["n_routed_experts"] * h + config["n_shared_experts"] * expert) +
             config["vocab_size"] * h)
    return 2 * every, 2 * expert


def activated_experts(afore, texts, extra):
    """Experts with tokens, of all layers together: the mean over the steps that decode."""
    stream = afore.work / f"stream-{time.monotonic_ns()}.jsonl"
    afore.run(texts, f"{extra} --record {stream}")
    steps = {}
    for line in stream.open():
        record = json.loads(line)
        if record["kind"] == "demand" and record["phase"] == "decode" and record["tokens"] == len(texts):
            steps[record["step"]] = steps.get(record["step"], 0) + sum(c > 0 for c in record["counts"])
    return statistics.mean(steps.values())


def read_rates(options, megabytes):
    """GB/s by (threads, buffer): the medians that cpu_bench measures."""
    rates = {}
    done = subprocess.run([str(options.bin / "cpu_bench"), "--read", megabytes], capture_output=True, text=True,
                          check=True)
    for line in done.stdout.splitlines()[1:]:
        threads, size, median, _ = line.split("\t")
        rates[int(threads), size] = float(median)
    return rates


def show(batch, rates, bounds, cores):
    middle = lambda of: f"{statistics.median(of):,.0f}" if of else ""
    peers = [of.decode for name, of in rates.items() if not name.startswith("afore")]
    peer, peer_best = max(statistics.median(of) for of in peers), max(max(of) for of in peers)
    print(f"| batch {batch} | decode tokens/s, median | best | x peer, medians | x peer, bests | of the bound | prefill | "
          "whole run |\n|:--|--:|--:|--:|--:|--:|--:|--:|")
    for name, of in rates.items():
        median, bound = statistics.median(of.decode), bounds[1 if name.endswith(" 1 thread") else cores]
        print(f"| {name} | {median:,.0f} | {max(of.decode):,.0f} | {median / peer:.1f} | "
              f"{max(of.decode) / peer_best:.1f} | {median / bound:.2f} | {middle(of.prefill)} | {middle(of.whole)} |")
    print(flush=True)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt-tokens", type=int, default=16)
    parser.add_argument("--peers", type=int, default=4, help="how many ways of transformers to measure")
    return parser.parse_args()


AFORE = {
    "monolithic, 1 thread": "--host monolithic --microbatches 1 --threads 1",
    "monolithic, {cores} threads": "--host monolithic --microbatches 1 --threads {cores}",
    **{f"threads, 1A:{f}F, {m} microbatch{'es' if m > 1 else ''}, {policy}":
       f"--host threads --attention-workers 1 --ffn-workers {f} --microbatches {m} --policy {policy}"
       for f in (1, 2) for m in (1, 2) for policy in ("static", "afore")},
}


def compare(batch, options, afore, peers, contenders, cores):
    texts, ids = make_prompts(options.model, options.model.parents[1] / "data/workloads", batch, options.prompt_tokens)
    compared = check_tokens(peers["float32, eager"], afore, texts, ids, options.tokens, contenders)
    print(f"batch {batch}: the same tokens; {compared} of {batch * options.tokens} compared, each prompt's up to its "
          "first margin that is not clear")
    ways = {f"transformers {how}, {name}, {threads} thread{'s' if threads > 1 else ''}": (peer, how, threads)
            for name, peer in peers.items() for how in ("generate", "loop") for threads in sorted({1, cores})}
    chosen = fastest(ways, ids, min(options.tokens, 9), options.peers)
    rates = {name: Rates() for name in [f"afore {name}" for name in contenders] + chosen}
    megabytes = f"{(options.model / 'model.safetensors').stat().st_size / 1e6:.1f}"
    reads = []
    for _ in range(options.runs):
        reads.append(read_rates(options, megabytes))
        for name, extra in contenders.items():
            afore.measure(texts, extra, rates[f"afore {name}"])
        for name in chosen:
            measure_peer(ways[name], ids, options.tokens, rates[name])
    every, expert = weight_bytes(json.loads((options.model / "config.json").read_text()))
    activated = activated_experts(afore, texts, contenders["monolithic, 1 thread"])
    step_bytes = every + activated * expert
    print(f"a step reads {step_bytes / 1e6:.2f} MB of weights: {every / 1e6:.2f} in every step and {activated:.1f} "
          f"experts of {expert / 1e3:.1f} kB")
    bounds = {}
    for threads, size in reads[0]:
        rate = statistics.median(read[threads, size] for read in reads)
        bound = batch * rate * 1e9 / step_bytes
        print(f"{threads} thread{'s' if threads > 1 else ''} read {size} MB at {rate:.1f} GB/s: {bound:,.0f} tokens/s")
        if size == megabytes:
            bounds[threads] = bound
    show(batch, rates, bounds, cores)


def main():
    options = parse_options()
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    cores = len(os.sched_getaffinity(0))
    peers = {f"{str(dtype)[6:]}, {experts}": Peer(options.model, dtype, experts)
             for dtype in (torch.float32, torch.bfloat16) for experts in ("eager", "batched_mm", "grouped_mm")}
    contenders = {name.format(cores=cores): extra.format(cores=cores) for name, extra in AFORE.items()}
    print(f"{cores} cores, load {os.getloadavg()[0]:.1f}; torch {torch.__version__}, transformers "
          f"{transformers.__version__}; {options.prompt_tokens} prompt and {options.tokens} new tokens, medians of "
          f"{options.runs} runs\n")
    with tempfile.TemporaryDirectory() as work:
        for batch in options.batches:
            compare(batch, options, Afore(options, Path(work)), peers, contenders, cores)


if __name__ == "__main__":
    main()
