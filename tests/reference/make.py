#!/usr/bin/env python3
"""Writes the checkpoints of checkpoints.py and what transformers computes from them. README.md says what is in them.

    make.py          writes every folder
    make.py --check  computes from the weights that are there, and compares: with other versions of transformers, say
"""
import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

from checkpoints import CHECKPOINTS, VOCAB

HERE = Path(__file__).resolve().parent
PROMPT_TOKENS = (5, 18, 40)
GREEDY_TOKENS = 12


def write_weights(folder, tensors, files):
    if files == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return
    names = sorted(tensors)
    weight_map = {}
    for i in range(files):
        file = f"model-{i + 1:05}-of-{files:05}.safetensors"
        part = names[len(names) * i // files:len(names) * (i + 1) // files]
        save_file({name: tensors[name] for name in part}, folder / file, metadata={"format": "pt"})
        weight_map |= {name: file for name in part}
    size = sum(t.numel() * t.element_size() for t in tensors.values())
    index = {"metadata": {"total_size": size}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")


def load(folder):
    """The model in float32, of the values that the bf16 nearest to each weight has; the gate's bias as it is."""
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors |= load_file(file)
    for name, tensor in tensors.items():
        exact = name.endswith("e_score_correction_bias")
        tensors[name] = tensor.float() if exact else tensor.to(torch.bfloat16).float()
    with tempfile.TemporaryDirectory() as rounded:
        shutil.copy(folder / "config.json", rounded)
        save_file(tensors, Path(rounded) / "model.safetensors", metadata={"format": "pt"})
        options = {} if transformers.__version__ < "5" else {"experts_implementation": "eager"}
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            rounded, dtype=torch.float32, attn_implementation="eager", output_loading_info=True, **options)
    extra = f"model.layers.{model.config.num_hidden_layers}."  # the layer that predicts further tokens
    assert not info["missing_keys"] and not info["mismatched_keys"], info
    assert all(name.startswith(extra) for name in info["unexpected_keys"]), info
    return model.eval()


def selection(config, x, gate):
    """Sorted experts per row of x, and by how much the choice is clear: the least gap in score, between groups too."""
    logits = torch.nn.functional.linear(x, gate.weight)
    k = config.num_experts_per_tok
    if config.model_type != "glm4_moe":
        scores, group_gap = torch.softmax(logits, dim=-1), torch.full(x.shape[:1], torch.inf)
    else:
        scores = torch.sigmoid(logits) + gate.e_score_correction_bias
        by_group = scores.view(len(x), config.n_group, -1)
        best, order = by_group.topk(2, dim=-1).values.sum(dim=-1).sort(dim=-1, descending=True)
        kept = config.topk_group
        group_gap = best[:, kept - 1] - best[:, kept] if kept < config.n_group else torch.full(x.shape[:1], torch.inf)
        out = torch.ones_like(best, dtype=torch.bool).scatter(1, order[:, :kept], False)
        scores = by_group.masked_fill(out.unsqueeze(-1), -torch.inf).view(len(x), -1)
    top = scores.topk(k + 1, dim=-1)
    # Versions before 5 score experts of groups that are out as 0, not -inf: the same while the chosen are above 0.
    assert (top.values[:, k - 1] > 0).all()
    gap = torch.minimum(top.values[:, k - 1] - top.values[:, k], group_gap)
    return top.indices[:, :k].sort(dim=-1).values, gap


class Routing:
    """Watches the gates while the model runs: `experts` and `gap`, by layer."""

    def __init__(self, model):
        self.config, self.layers = model.config, {}
        for name, module in model.named_modules():
            match = re.search(r"layers\.(\d+)\.\w+\.gate$", name)
            if match:
                module.register_forward_hook(lambda m, x, y, layer=int(match[1]): self.saw(layer, m, x[0], y))

    def saw(self, layer, gate, x, y):
        experts, gap = selection(self.config, x.reshape(-1, x.shape[-1]).float(), gate)
        for part in y if isinstance(y, tuple) else ():
            if part.dtype == torch.int64:  # what the gate itself chose, where it says so
                assert torch.equal(part.sort(dim=-1).values, experts)
        self.layers[layer] = (experts, gap)


def margins(logits):
    top = logits.topk(2, dim=-1).values
    return (top[..., 0] - top[..., 1]).tolist()


@torch.no_grad()
def golden(model, routing, ids):
    logits = lambda tokens: model(torch.tensor([tokens]), use_cache=False).logits[0]
    prompt = logits(ids)
    moe_layers = sorted(routing.layers)
    experts = torch.stack([routing.layers[layer][0] for layer in moe_layers], dim=1)
    gap = torch.stack([routing.layers[layer][1] for layer in moe_layers], dim=1)
    greedy, greedy_margin = [], []
    for _ in range(GREEDY_TOKENS):
        last = logits(ids + greedy)[-1]
        greedy.append(int(last.argmax()))
        greedy_margin.append(margins(last))
    return {"ids": ids, "argmax": prompt.argmax(dim=-1).tolist(), "margin": margins(prompt),
            "experts": experts.tolist(), "gap": gap.tolist(), "greedy_ids": greedy, "greedy_margin": greedy_margin,
            "last_logits": prompt[-1].tolist()}, moe_layers


def compact(value):
    if isinstance(value, list):
        return "[" + ",".join(compact(v) for v in value) + "]"
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def golden_text(prompts, moe_layers):
    objects = [" {" + ",\n  ".join(f'"{key}": {compact(value)}' for key, value in prompt.items()) + "}"
               for prompt in prompts]
    return f'{{"moe_layers": {compact(moe_layers)}, "prompts": [\n' + ",\n".join(objects) + "]}\n"


def goldens(folder, seed):
    model, rng = load(folder), np.random.default_rng(1000 + seed)
    routing = Routing(model)
    results = [golden(model, routing, rng.integers(0, VOCAB, n).tolist()) for n in PROMPT_TOKENS]
    return [prompt for prompt, _ in results], results[0][1]


def make(folder, seed, build, files):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    config, weights = build()
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    write_weights(folder, weights.tensors, files)
    prompts, moe_layers = goldens(folder, seed)
    (folder / "golden.json").write_text(golden_text(prompts, moe_layers))
    flat = lambda key: np.concatenate([np.ravel(prompt[key]) for prompt in prompts])
    margin, gap = np.concatenate([flat("margin"), flat("greedy_margin")]), flat("gap")
    print(f"{folder.name}: {sum(f.stat().st_size for f in folder.iterdir()) / 1024:.0f} KiB; "
          f"margin median {np.median(margin):.3f}, {np.mean(margin < 0.01):.1%} under 0.01; "
          f"gap median {np.median(gap):.3f}, {np.mean(gap < 0.001):.1%} under 0.001; "
          f"distinct argmax {len(set(flat('argmax')))}, experts {len(set(flat('experts')))}")


def check(folder, seed):
    there = json.loads((folder / "golden.json").read_text())
    prompts, moe_layers = goldens(folder, seed)
    assert there["moe_layers"] == moe_layers
    worst = 0
    for a, b in zip(there["prompts"], prompts, strict=True):
        for key in "ids", "argmax", "experts", "greedy_ids":
            assert a[key] == b[key], f"{folder.name}: {key}: {a[key]} is now {b[key]}"
        for key in "margin", "gap", "greedy_margin", "last_logits":
            worst = max(worst, float(np.abs(np.array(a[key]) - np.array(b[key])).max()))
    print(f"{folder.name}: the same; numbers differ by {worst:.1e} at most")
    return worst < 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("name", nargs="*", help=f"folders, of {', '.join(CHECKPOINTS)} (default: all)")
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    good = True
    for seed, (name, (build, files)) in enumerate(CHECKPOINTS.items()):
        if options.name and name not in options.name:
            continue
        if options.check:
            good &= check(HERE / name, seed)
        else:
            make(HERE / name, seed, build, files)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
