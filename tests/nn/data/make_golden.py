#!/usr/bin/env python3
"""Writes golden_ids.json: ids that Hugging Face's tokenizers gives to awkward texts, with the vocabulary of models/tiny
under other pre-tokenizers and added tokens. No test runs it.

    pip install tokenizers==0.23.3 && tests/nn/data/make_golden.py
"""
import json
import pathlib
import random

import tokenizers

ROOT = pathlib.Path(__file__).resolve().parents[3]
TINY = json.loads((ROOT / "models/tiny/tokenizer.json").read_text())
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
GPT2 = dict(BYTES, use_regex=True)


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def steps(*splits, last=BYTES):
    return {"type": "Sequence", "pretokenizers": [*splits, last]}


def added(id, content, special=False, normalized=False):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
            "normalized": normalized, "special": special}


# The forms of published models: Llama 3 and GLM-4.5, o200k, DeepSeek-V3, cl100k as tiktoken has it today.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
            r"""| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"""]
POSSESSIVE = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
              r"|\s*[\r\n]|\s+(?!\S)|\s")

CASES = {
    "as bundled": {},
    "gpt2": {"pre_tokenizer": GPT2},
    "no regex": {"pre_tokenizer": BYTES},
    "llama3": {"pre_tokenizer": steps(split(LLAMA3))},
    "llama3, pieces of the vocabulary first": {"pre_tokenizer": steps(split(LLAMA3)), "ignore_merges": True},
    "llama3, only matches": {"pre_tokenizer": steps(split(LLAMA3, "Removed", True))},
    "only letters": {"pre_tokenizer": steps(split(r"\p{L}+|\s+", "Removed", True))},
    "o200k": {"pre_tokenizer": steps(split(O200K))},
    "deepseek": {"pre_tokenizer": steps(*map(split, DEEPSEEK))},
    "possessive": {"pre_tokenizer": steps(split(POSSESSIVE))},
    "inverted": {"pre_tokenizer": steps(split(r"\p{L}+", invert=True))},
    "texts": {"pre_tokenizer": steps(split(" a", kind="String"), split(".+*?\n", kind="String"))},
    "split, then gpt2": {"pre_tokenizer": steps(split(r"\p{N}"), last=GPT2)},
    "empty matches": {"pre_tokenizer": steps(split(r"\s*"))},
    "ends of lines": {"pre_tokenizer": steps(split(r"(?<=a)b|^x|y$|.z"))},
    "scripts": {"pre_tokenizer": steps(split(r"[\p{Han}]+|\p{Latin}+|\S\s|\v"))},
    "composed": {"normalizer": {"type": "NFC"}, "pre_tokenizer": steps(split(LLAMA3)),
                 "added_tokens": TINY["added_tokens"] + [
                     added(4068, "A\u030a"), added(4069, "e\u0301b", special=True, normalized=True)]},
    "added tokens": {"added_tokens": TINY["added_tokens"] + [
        added(4068, "<|user|>b"), added(4069, "<th", normalized=True), added(4070, "<think>"),
        added(4071, "  ", normalized=True), added(4072, "h><"), added(4073, "<｜x▁y｜>", special=True),
        added(4080, "<|user|><", normalized=True)]},
}

WORDS = ["'s", "'S", "'ſ", "'ll", "'LL", "'ve", "<|endoftext|>", "<|user|>", "<|user|>b", "<|user|><", "<th", "<think>",
         "  ", "h><", "<｜x▁y｜>", "<|assist", "\r\n", "\n\n", "\t", "    ", " a", " b", "ab", "xyz", ".+*?\n", "12345",
         "hello", " world", "don't", "Don'T", "HelloWorld", "日本語", "カタカナ", "々", "e\u0301", "A\u030a",
         "q\u0307\u0323", "\u1112\u1161\u11ab", "\u212b", "\u0958", "e\u0301b"]
ODD = [0x180E, 0x85, 0xA0, 0x2028, 0x3000, 0x200B, 0x17F, 0x212A, 0x130, 0x301, 0x3005, 0x4E00, 0x3042, 0xAC00, 0x1F1EA,
       0x1F600, 0x200D, 0xFE0F, 0x661, 0x2155, 0x2160, 0xAA, 0xB5, 0xFB06, 0xDF, 0x1E9E, 0xFFFD, 0xFEFF, 0xE000, 0x10FFFF,
       0xFF10, 0x627, 0x903, 0x94D, 0x1D7D8, 0xB2, 0x203F, 0xE9, 0x100, 0x120, 0xFF5C, 0x2581, 0x01C5]


def text(rng):
    parts = []
    for _ in range(rng.choice([1, 2, 3, 5, 8, 13, 21])):
        kind = rng.random()
        if kind < 0.45:
            parts.append(rng.choice(WORDS))
        elif kind < 0.7:
            parts.append(chr(rng.randrange(32, 127)))
        elif kind < 0.9:
            parts.append(chr(rng.choice(ODD)))
        else:
            parts.append(rng.choice(" \n\r\t\x0b\x0c\0\x1c"))
    return "".join(parts)


def main():
    rng = random.Random(20)
    written = []
    for name, change in CASES.items():
        file = json.loads(json.dumps(TINY))
        file["model"]["ignore_merges"] = change.get("ignore_merges", False)
        file.update({k: v for k, v in change.items() if k != "ignore_merges"})
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(file))
        texts = ["", " ", *(text(rng) for _ in range(24))]
        encoded = [tokenizer.encode(t, add_special_tokens=False).ids for t in texts]
        case = {"name": name, **change, "texts": texts, "ids": encoded}
        if "normalizer" not in change:  # there, decoding gives added tokens in their composed form, and not as special
            case["decoded"] = [tokenizer.decode(ids) for ids in encoded]
        written.append(case)
    lines = ",\n".join(json.dumps(case, ensure_ascii=True, separators=(",", ":")) for case in written)
    made_by = f"tokenizers {tokenizers.__version__}, tests/nn/data/make_golden.py"
    out = pathlib.Path(__file__).with_name("golden_ids.json")
    out.write_text(f'{{"made_by":"{made_by}","cases":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
