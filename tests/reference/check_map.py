#!/usr/bin/env python3
"""An independent look at exported map files: no code shared with the tools, each format by its engine's own rules.

check_map.py FORMAT FILE --ranks N --experts E --hidden-layers H --moe-layers 3,4,5
prints "ok" and one line per MoE layer, "LAYER: ids", or "bad: why" and exits 1.
"""
import argparse
import ast
import json
import struct
import sys


class Bad(Exception):
    pass


def need(condition, why):
    if not condition:
        raise Bad(why)


def no_duplicate_keys(pairs):
    keys = [key for key, _ in pairs]
    need(len(keys) == len(set(keys)), "a key twice")
    return dict(pairs)


def load_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, object_pairs_hook=no_duplicate_keys)


def sglang(path, a):
    data = load_json(path)
    need(list(data) == ["physical_to_logical_map"], f"keys {list(data)}: passed on as arguments, any other raises TypeError")
    rows = data["physical_to_logical_map"]
    need(len(rows) == a.hidden_layers, f"{len(rows)} rows for {a.hidden_layers} hidden layers")
    need(len({len(row) for row in rows}) == 1, "not a rectangular tensor")
    for row in rows:  # dense ones included: logical_to_all_physical is built for every row
        check_row(row, a)
    return {layer: rows[layer] for layer in a.moe_layers}


def vllm_model(model, a):
    for key in ("model_name", "model_class", "num_moe_layers", "num_logical_experts", "num_physical_experts",
                "num_redundant_experts", "physical_to_logical_map"):
        need(key in model, f"no {key}")
    rows = model["physical_to_logical_map"]
    need(model["num_moe_layers"] == len(rows) == len(a.moe_layers), "number of MoE layers")
    need(model["num_logical_experts"] == a.experts, "number of experts")
    need(all(len(row) == model["num_physical_experts"] for row in rows), "number of physical experts")
    need(model["num_redundant_experts"] == model["num_physical_experts"] - a.experts, "number of redundant experts")
    for row in rows:
        check_row(row, a)
    return dict(zip(a.moe_layers, rows))


def vllm(path, a):
    data = load_json(path)
    if data["version"] == 1:
        need(data["format"] == "vllm_offline_eplb_physical_to_logical", "format")
        return vllm_model(data, a)
    need(data["version"] == 2 and data["format"] == "vllm_offline_eplb_physical_to_logical_by_model", "format")
    need(len(data["model_maps"]) == 1, "one model")
    return vllm_model(next(iter(data["model_maps"].values())), a)


def trtllm(path, a):
    import yaml  # Debian's python3-yaml

    with open(path, encoding="utf-8") as file:
        text = file.read()
    need("&" not in text and "*" not in text, "anchors")
    data = yaml.safe_load(text)
    need(set(data) == {"num_slots", "layer_updates_per_iter", "initial_global_assignments"}, f"keys {sorted(data)}")
    layers = data["initial_global_assignments"]
    need(sorted(layers) == a.moe_layers, "layers are not the MoE layers, absolute")
    for slots in layers.values():
        need(len(slots) == data["num_slots"], "num_slots")
        check_row(slots, a)
    return layers


def ascend(path, a):
    data = load_json(path)
    need(set(data) == {"moe_layer_count", "layer_list"}, "keys")
    need(data["moe_layer_count"] == len(data["layer_list"]) == len(a.moe_layers), "moe_layer_count")
    result = {}
    for ordinal, layer in enumerate(data["layer_list"]):
        need(layer["layer_id"] == ordinal, "layer_id is not the ordinal of a MoE layer")
        need(layer["device_count"] == len(layer["device_list"]) == a.ranks, "device_count")
        row = []
        for index, device in enumerate(layer["device_list"]):
            need(device["device_id"] == index, "device_id")
            experts = device["device_expert"]
            need(len(set(experts)) == len(experts), "an expert twice on a device: the loader keeps one")
            row += experts
        check_row(row, a)
        result[a.moe_layers[ordinal]] = row
    return result


def eplb(path, a):
    data = load_json(path)
    rows = data["phy2log"]
    need(len(rows) == len(a.moe_layers), "layers")
    most = max(row.count(expert) for row in rows for expert in range(a.experts))
    for layer, row in enumerate(rows):
        check_row(row, a)
        for expert in range(a.experts):
            slots = [slot for slot, logical in enumerate(row) if logical == expert]
            need(data["logcnt"][layer][expert] == len(slots), "logcnt")
            need(data["log2phy"][layer][expert] == slots + [-1] * (most - len(slots)), "log2phy")
    return dict(zip(a.moe_layers, rows))


def eplb_npy(path, a):
    with open(path, "rb") as file:
        bytes_ = file.read()
    need(bytes_[:8] == b"\x93NUMPY\x01\x00", "magic")
    length = struct.unpack("<H", bytes_[8:10])[0]
    need((10 + length) % 64 == 0, "alignment")
    header = ast.literal_eval(bytes_[10:10 + length].decode("latin1"))
    need(header["descr"] == "<i8" and header["fortran_order"] is False, "dtype and order")
    layers, slots = header["shape"]
    need(layers == len(a.moe_layers) and len(bytes_) == 10 + length + 8 * layers * slots, "size")
    values = struct.unpack(f"<{layers * slots}q", bytes_[10 + length:])
    rows = [list(values[i * slots:(i + 1) * slots]) for i in range(layers)]
    for row in rows:
        check_row(row, a)
    return dict(zip(a.moe_layers, rows))


def check_row(row, a):
    need(all(type(id_) is int and 0 <= id_ < a.experts for id_ in row), "an id out of range")
    need(set(row) == set(range(a.experts)), "an expert without a replica")
    need(len(row) % a.ranks == 0, "slots that the ranks do not divide")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("format", choices=["sglang", "vllm", "trtllm", "ascend", "eplb", "eplb-npy"])
    parser.add_argument("file")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--experts", type=int, required=True)
    parser.add_argument("--hidden-layers", type=int, required=True)
    parser.add_argument("--moe-layers", required=True, type=lambda text: [int(part) for part in text.split(",")])
    a = parser.parse_args()
    try:
        layers = globals()[a.format.replace("-", "_")](a.file, a)
    except (Bad, KeyError, ValueError, TypeError) as error:
        print(f"bad: {error}")
        return 1
    print("ok")
    for layer, row in layers.items():
        print(f"{layer}: {' '.join(map(str, row))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
