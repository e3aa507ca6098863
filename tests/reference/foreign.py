#!/usr/bin/env python3
"""Writes tests/wire/data/foreign: small files as other systems' own libraries write them, from made-up tables.

Needs torch, numpy, safetensors and pyyaml: `foreign.py FOLDER` writes what the installed ones can (without torch no .pt,
without safetensors no .safetensors). The tables are those that tests/wire/foreign_*_test.cc expects.
"""

import collections
import io
import json
import os
import pickle
import struct
import sys
import zipfile

import numpy as np
import yaml

P2L = [[0, 1, 2, 3, 0, 1], [0, 1, 2, 3, 2, 3], [3, 2, 1, 0, 1, 1]]


def table(*shape, start=0):
    """Numbers that are all different, so that no transposition goes unnoticed."""
    return np.arange(start, start + np.prod(shape), dtype=np.int64).reshape(shape)


def write(name, data):
    with open(os.path.join(sys.argv[1], name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def torch_files():
    import torch

    def save(name, value, **options):
        torch.save(value, os.path.join(sys.argv[1], name), **options)

    p2l = torch.tensor(P2L)
    save("sglang_map.pt", {"physical_to_logical_map": p2l})
    save("sglang_map_lists.pt", {"physical_to_logical_map": P2L, "note": "x"}, pickle_protocol=4)
    save("sglang_count_2d.pt", {"logical_count": torch.from_numpy(table(3, 4)).float()})
    save("sglang_stat.pt", {"rank": 0, "logical_count": torch.from_numpy(table(2, 3, 4)).int(),
                            "average_utilization_rate_over_window": None})
    for rank in (0, 1):
        records = [{"forward_pass_id": 7 + i, "rank": rank, "gatherer_key": "primary",
                    "global_physical_count": torch.from_numpy(table(3, 6, start=100 * rank + 20 * i)).int()}
                   for i in range(2)]
        save(f"sglang_per_pass_{rank}.pt", {"records": records, "last_physical_to_logical_map": p2l})
        records = []
        for i, tokens in enumerate((2 + rank, 0, 1)):
            ids = torch.from_numpy(table(3, tokens, 3, start=rank + i) % 6).int()
            ids[:, :, 2] = -1  # a top-2 model: the recorder's width is fixed
            records.append({"forward_pass_id": 10 * i, "rank": rank, "gatherer_key": "primary",
                            "input_ids": list(range(tokens)), "positions": list(range(tokens)),
                            "extend_seq_lens": [tokens] if i == 0 else None, "forward_mode": 1 + i,
                            "topk_ids_of_layer": ids,
                            "misc_objects": [{"layer_id": 1, "num_tokens_per_rank": [1, 2]}],
                            "global_physical_count": torch.zeros(3, 6, dtype=torch.int32)})
        save(f"sglang_per_token_{rank}.pt", {"records": records, "last_physical_to_logical_map": p2l})

    base = torch.arange(24)
    values = collections.OrderedDict()
    for name, dtype in (("u8", torch.uint8), ("i8", torch.int8), ("i16", torch.int16), ("i32", torch.int32),
                        ("i64", torch.int64), ("f16", torch.float16), ("bf16", torch.bfloat16),
                        ("f32", torch.float32), ("f64", torch.float64)):
        values[name] = (base[:6].reshape(2, 3) - (0 if name == "u8" else 3)).to(dtype)
    values["bool"] = torch.tensor([[True, False, True]])
    values["transposed"] = base.reshape(4, 6).T
    values["slice"] = base.reshape(4, 6)[1:3, ::2]
    values["expanded"] = base[:3].expand(4, 3)
    values["scalar"] = torch.tensor(5)
    values["empty"] = torch.zeros(0, 3)
    values["half"] = torch.tensor([0.5])
    values["infinite"] = torch.tensor([float("inf")])
    values["other"] = [1, -1, 256, 65536, 1 << 40, -(1 << 62), 2.5, None, True, (), (1,), (1, 2, 3, 4)]
    save("torch_values.pt", values)
    save("torch_legacy.pt", {"a": base[:3]}, _use_new_zipfile_serialization=False)
    save("torch_parameter.pt", torch.nn.Parameter(torch.ones(2)))
    with zipfile.ZipFile(os.path.join(sys.argv[1], "sglang_map.pt")) as source:
        entries = {i.filename: source.read(i) for i in source.infolist()}
    zips(entries)


def zips(entries):
    """The archive of sglang_map.pt, written as torch.save does not."""
    def pack(name, entries, compression=zipfile.ZIP_STORED):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", compression) as archive:
            for path, data in entries:
                archive.writestr(zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), data, compression)
        write(name, out.getvalue())

    root = "sglang_map/"
    big = [(p, struct.pack(">18q", *sum(P2L, [])) if p == root + "data/0" else d) for p, d in entries.items()]
    pack("torch_big_endian.pt", big + [(root + "byteorder", b"big")])
    pack("torch_little_endian.pt", list(entries.items()) + [(root + "byteorder", b"little")])
    pack("torch_order.pt", list(entries.items()) + [(root + "byteorder", b"middle")])
    pack("torch_deflated.pt", [(root + "data.pkl", b"\0" * 4_000_000)], zipfile.ZIP_DEFLATED)  # 1000 times its size
    pack("torch_twice.pt", list(entries.items()) + [(root + "data/0", b"x")])
    pack("torch_no_storage.pt", [(root + "data.pkl", entries[root + "data.pkl"])])
    pack("zip_other.pt", [("a.txt", b"hello")])


class Calls:
    """Pickles as a call of `function`."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def pickles():
    write("os_system.pkl", pickle.dumps({"records": Calls(os.system, "true")}, 2))
    write("eval.pkl", pickle.dumps(Calls(eval, "1+1"), 4))
    write("getattr.pkl", pickle.dumps([Calls(getattr, "a", "upper")], 2))
    write("object.pkl", pickle.dumps(collections.Counter("ab"), 2))
    loop = []
    loop.append(loop)
    write("cycle.pkl", pickle.dumps(loop, 2))
    shared = []
    for _ in range(60):  # 2^60 paths
        shared = [shared, shared]
    write("shared.pkl", pickle.dumps(shared, 2))
    deep = []
    for _ in range(200):
        deep = [deep]
    write("deep.pkl", pickle.dumps(deep, 2))


def arrays():
    def save(name, array, version=None):
        out = io.BytesIO()
        np.lib.format.write_array(out, array, version=version)
        write(name, out.getvalue())

    save("c_i4.npy", table(2, 3, 4).astype("<i4"))
    save("fortran_i8.npy", np.asfortranarray(table(2, 3, 4)))
    for name, dtype in (("u1", "u1"), ("i1", "i1"), ("u2", "<u2"), ("i2", "<i2"), ("u4", "<u4"), ("u8", "<u8"),
                        ("f2", "<f2"), ("f4", "<f4"), ("f8", "<f8"), ("b1", "?")):
        save(f"dtype_{name}.npy", table(2, 3).astype(dtype))
    save("v2.npy", table(2, 3), (2, 0))
    save("v3.npy", table(2, 3), (3, 0))
    save("one.npy", table(3))
    save("scalar.npy", np.array(7))
    save("empty.npy", np.zeros((0, 3)))
    save("big_endian.npy", table(2, 3).astype(">i4"))
    save("half.npy", np.array([[1, 2.5]]))
    save("record.npy", np.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))


def trtllm():
    assignments = {layer: row for layer, row in zip((1, 2, 5), P2L)}
    balancer = {"num_slots": 6, "layer_updates_per_iter": 0, "initial_global_assignments": assignments}
    write("trtllm_flow.yaml", yaml.dump(balancer, default_flow_style=None))
    write("trtllm_block.yaml", yaml.dump(balancer, default_flow_style=False))
    write("trtllm_config.yaml", yaml.dump({"enable_attention_dp": True, "cuda_graph_config": {},
                                           "moe_config": {"backend": "WIDEEP", "load_balancer": balancer}}))
    # yaml.dump writes an anchor and aliases where one list stands twice
    write("trtllm_alias.yaml", yaml.dump({"num_slots": 6, "initial_global_assignments": {1: P2L[0], 2: P2L[0]}}))


def statistics():
    from safetensors.numpy import save

    write("trtllm_meta_info.json", json.dumps({"num_experts": 4, "num_experts_per_token": 2}))
    for rank in (0, 1):
        tensors = {f"{iteration}_{layer}": table(4, start=100 * rank + 10 * iteration + layer)
                   for iteration in (100, 101) for layer in (3, 4, 10)}
        write(f"trtllm_rank{rank}.safetensors", save(tensors))
        if rank == 1:
            del tensors["101_4"]
            write("trtllm_rank1_short.safetensors", save(tensors))
    raw = {"100_3": np.zeros((5, 2), dtype=np.int32)}
    write("trtllm_rank0_raw.safetensors", save(raw))


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    pickles()
    arrays()
    trtllm()
    for part in (torch_files, statistics):
        try:
            part()
        except ImportError as error:
            print(f"{part.__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
