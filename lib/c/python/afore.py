"""Plans of AFORE from Python: a thin class over each object of afore.h, standard library only.

    config = Config("deepseek-v3", ffn_workers=32, policy="afore")
    with Planner(config) as planner:
        plan = planner.plan(step, layer, microbatch, tokens, counts, window_ns)
        plan.copies            # [(expert, from, to, slot)]
        plan.shares            # [(expert, worker, tiles, tokens)]

Counts and maps are lists, or anything with the buffer protocol: C-contiguous int64 counts (int32 works too) and int32
maps are read where they lie. Failures are AforeError, with the code and the line of afore_last_error(). One thread per
object; a call gives up the interpreter's lock. docs/embedding.md is the guide.
"""

import ctypes
import ctypes.util
import math
import os
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64, c_uint32, c_void_p

ABI_VERSION = 0
OK, TIMEOUT, LOST = 0, -6, -8


class AforeError(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class _Copy(ctypes.Structure):
    _fields_ = [(name, c_int32) for name in ("expert", "source", "to", "slot")]


class _Share(ctypes.Structure):
    _fields_ = [("expert", c_int32), ("worker", c_int32), ("tiles", c_int64), ("tokens", c_int64)]


class _Plan(ctypes.Structure):
    _fields_ = (
        [("struct_size", c_uint32), ("flags", c_uint32), ("seq", c_int64), ("step", c_int64)]
        + [(name, c_int32) for name in ("layer", "microbatch", "experts", "workers", "slots_per_worker", "reserved")]
        + [("tokens", c_int64), ("copies", POINTER(_Copy)), ("copy_count", c_int64)]
        + [("shares", POINTER(_Share)), ("share_count", c_int64), ("tile_load", POINTER(c_int64))]
        + [
            (name, c_int64)
            for name in (
                "max_tile_load_before", "max_tile_load", "lower_bound", "ffn_ns_before", "ffn_ns", "ffn_bound_ns",
                "gain_ns", "migration_ns", "window_ns", "exposed_ns", "completion_ns",
            )
        ]
    )


class _Config(ctypes.Structure):
    _fields_ = (
        [("struct_size", c_uint32), ("experts", c_int32), ("top_k", c_int32), ("layer_count", c_int32)]
        + [("layers", POINTER(c_int32)), ("hidden", c_int64), ("moe_intermediate", c_int64), ("expert_bytes", c_int64)]
        + [(name, c_int32) for name in ("ffn_workers", "redundant_slots", "tile_tokens", "microbatches")]
        + [("cost", c_char_p), ("c0_ns", c_int64), ("c1_ns", c_int64), ("c2_ns", c_int64), ("copy_ns", c_int64)]
        + [("policy", c_char_p)]
        + [
            (name, c_int32)
            for name in (
                "cost_rule", "objective", "demand_source", "gain_rule", "overlap", "level", "exact_split",
                "window_steps",
            )
        ]
        + [("copy_budget", c_int64), ("node_budget", c_int64), ("eplb_step_bytes", c_int64)]
        + [(name, c_int32) for name in ("eplb_interval", "eplb_groups", "eplb_nodes", "eplb_duplicates")]
    )


def _load():
    """$AFORE_LIBRARY, else the library beside an installed share/afore/python, else where the loader looks."""
    here = os.path.dirname(os.path.abspath(__file__))
    beside = [os.path.join(here, "../../..", lib, "libafore.so.0") for lib in ("lib", "lib64")]
    given = os.environ.get("AFORE_LIBRARY")
    candidates = [given] if given else [path for path in beside if os.path.exists(path)]
    library = ctypes.CDLL(candidates[0] if candidates else ctypes.util.find_library("afore") or "libafore.so.0")
    signatures = {
        "afore_version": (c_char_p, []),
        "afore_abi_version": (c_int, []),
        "afore_last_error": (c_char_p, [c_void_p]),
        "afore_config_init_sized": (c_int, [POINTER(_Config), c_uint32, c_char_p]),
        "afore_planner_create": (c_int, [POINTER(_Config), POINTER(c_void_p)]),
        "afore_planner_destroy": (None, [c_void_p]),
        "afore_planner_plan": (c_int, [c_void_p, c_int64, c_int32, c_int32, c_int64, c_void_p, c_int64, c_void_p]),
        "afore_planner_plan_i32": (c_int, [c_void_p, c_int64, c_int32, c_int32, c_int64, c_void_p, c_int64, c_void_p]),
        "afore_planner_plan_bytes": (c_int64, [c_void_p]),
        "afore_placement_get": (c_int64, [c_void_p, c_int32, c_void_p, c_int64]),
        "afore_placement_set": (c_int, [c_void_p, c_int32, c_void_p, c_int64]),
        "afore_place_eplb": (c_int, [c_void_p] + [c_int32] * 6 + [c_void_p] * 3),
        "afore_ring_bytes": (c_int64, [c_int32, c_int32, c_int64]),
        "afore_ring_init": (c_int, [c_void_p, c_int64, c_int32, c_int32, c_int64, POINTER(c_void_p)]),
        "afore_ring_attach": (c_int, [c_void_p, c_int64, POINTER(c_void_p)]),
        "afore_ring_detach": (None, [c_void_p]),
        "afore_ring_publish": (c_int, [c_void_p, c_void_p, c_int64]),
        "afore_ring_slowest": (c_int, [c_void_p]),
        "afore_ring_drop": (c_int, [c_void_p, c_int32]),
        "afore_ring_take": (c_int, [c_void_p, c_int32, c_void_p, c_int64, c_int64, c_void_p]),
        "afore_ring_plan_bytes": (c_int64, [c_void_p]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    if library.afore_abi_version() != ABI_VERSION:
        raise ImportError(f"libafore has interface {library.afore_abi_version()}, and this module {ABI_VERSION}")
    return library


_lib = _load()


def version():
    return _lib.afore_version().decode()


def _check(status, planner=None):
    if status < 0:
        raise AforeError(status, _lib.afore_last_error(planner).decode())
    return status


def _array(values, kind, code):
    """`values` as a ctypes array: a writable buffer of that kind as it lies, anything else copied."""
    try:
        view = memoryview(values)
    except TypeError:
        return (kind * len(values))(*values)
    if view.itemsize != ctypes.sizeof(kind) or view.format.lstrip("@=<") not in code:
        raise TypeError(f"a buffer of format {view.format!r}, where one of {code} is read")
    if view.readonly or not view.c_contiguous:
        return (kind * (view.nbytes // view.itemsize)).from_buffer_copy(view.tobytes())
    return (kind * (view.nbytes // view.itemsize)).from_buffer(view.cast("B"))


class Config(_Config):
    """afore_config: Config(preset, field=value, ...); texts, lists of layers and booleans as Python has them."""

    def __init__(self, preset=None, **fields):
        super().__init__()
        _check(_lib.afore_config_init_sized(byref(self), ctypes.sizeof(_Config), preset and preset.encode()))
        known = {name for name, _ in _Config._fields_} - {"struct_size", "layer_count"}
        for name, value in fields.items():
            if name not in known:
                raise TypeError(f"a config has no {name}")
            if name == "layers":
                value = (c_int32 * len(value))(*value)
                self.layer_count = len(value)
            setattr(self, name, value.encode() if isinstance(value, str) else value)


def _items(pointer, count):
    return pointer[:count] if count else []  # the pointer may be null then


class Plan:
    """One plan. Numbers of afore_plan are attributes; lists are made when they are asked for, from memory of whoever
    made the plan: ask before the planner's, or the reader's, next call."""

    def __init__(self):
        self.raw = _Plan(struct_size=ctypes.sizeof(_Plan))

    def __getattr__(self, name):
        if name == "raw" or name.startswith("_"):  # of one that is being made without __init__, as copy does
            raise AttributeError(name)
        return getattr(self.raw, name)

    @property
    def copies(self):
        return [(c.expert, c.source, c.to, c.slot) for c in _items(self.raw.copies, self.raw.copy_count)]

    @property
    def shares(self):
        return [(s.expert, s.worker, s.tiles, s.tokens) for s in _items(self.raw.shares, self.raw.share_count)]

    @property
    def tile_load(self):
        return _items(self.raw.tile_load, self.raw.workers)


class _Object:
    """Ends its C object with close(), at the end of a with block, or when it is collected."""

    _pointer = None
    _end = None

    def close(self):
        if self._pointer is not None:
            type(self)._end(self._pointer)
        self._pointer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class Planner(_Object):
    _end = staticmethod(lambda pointer: _lib.afore_planner_destroy(pointer))

    def __init__(self, config):
        pointer = c_void_p()
        _check(_lib.afore_planner_create(byref(config), byref(pointer)))
        self._pointer = pointer
        self._experts = config.experts
        self._plan = Plan()
        self._plan_at = byref(self._plan.raw)

    def plan(self, step, layer, microbatch, tokens, counts, window_ns=-1):
        """The plan of one target; the same object with every call."""
        call, kind, code = _lib.afore_planner_plan, c_int64, "ql"
        if getattr(counts, "itemsize", 8) == 4:
            call, kind, code = _lib.afore_planner_plan_i32, c_int32, "i"
        if isinstance(counts, ctypes.Array) and counts._type_ in (c_int32, c_int64):
            if counts._type_ is c_int32:
                call = _lib.afore_planner_plan_i32
            array = counts
        else:
            array = _array(counts, kind, code)
        if len(array) != self._experts:
            raise ValueError(f"{len(array)} counts of {self._experts} experts")
        _check(call(self._pointer, step, layer, microbatch, tokens, array, window_ns, self._plan_at), self._pointer)
        return self._plan

    def plan_bytes(self):
        return _check(_lib.afore_planner_plan_bytes(self._pointer), self._pointer)

    def placement(self, layer):
        """The expert of each slot, worker by worker, -1 = empty."""
        count = _check(_lib.afore_placement_get(self._pointer, layer, None, 0), self._pointer)
        map_ = (c_int32 * count)()
        _check(_lib.afore_placement_get(self._pointer, layer, map_, count), self._pointer)
        return list(map_)

    def set_placement(self, layer, map_):
        array = _array(map_, c_int32, "i")
        _check(_lib.afore_placement_set(self._pointer, layer, array, len(array)), self._pointer)


def place_eplb(weights, replicas, groups, nodes, workers):
    """rebalance_experts() of DeepSeek's EPLB: weights[layers][experts], lists or a buffer of float64, ->
    physical_to_logical[layers, replicas], logical_to_physical[layers, experts, replicas - experts + 1] and
    expert_count[layers, experts]: memoryviews of int32 with these shapes, for numpy or torch to take as they lie, or
    .tolist()."""
    try:
        view = memoryview(weights)
        if view.ndim != 2:
            raise ValueError(f"weights of {view.ndim} dimensions, not [layers][experts]")
        (layers, experts), flat = view.shape, _array(view, c_double, "d")
    except TypeError:
        if len(weights) == 0:
            raise ValueError("weights of no layer") from None
        layers, experts = len(weights), len(weights[0])
        if any(len(row) != experts for row in weights):
            raise ValueError("layers of different numbers of experts") from None
        flat = (c_double * (layers * experts))(*(weight for row in weights for weight in row))
    most = max(1, replicas - experts + 1)
    shapes = [layers, max(1, replicas)], [layers, experts, most], [layers, experts]
    arrays = [(c_int32 * math.prod(shape))() for shape in shapes]
    _check(_lib.afore_place_eplb(flat, layers, experts, replicas, groups, nodes, workers, *arrays))
    return tuple(memoryview(array).cast("B").cast("i", shape) for array, shape in zip(arrays, shapes))


class Ring(_Object):
    """The plan ring in memory that processes share: `memory` is a writable buffer, such as shared_memory's .buf, and is
    held until close()."""

    _end = staticmethod(lambda pointer: _lib.afore_ring_detach(pointer))

    def __init__(self, memory, create=None):
        """create=(capacity, readers, max_plan_bytes) makes the ring; without it, one that stands is attached to."""
        self._memory = (ctypes.c_char * memoryview(memory).nbytes).from_buffer(memory)
        pointer, size = c_void_p(), ctypes.sizeof(self._memory)
        try:
            if create:
                _check(_lib.afore_ring_init(self._memory, size, *create, byref(pointer)))
            else:
                _check(_lib.afore_ring_attach(self._memory, size, byref(pointer)))
        except AforeError:
            self._memory = None
            raise
        self._pointer = pointer
        self._buffer = None
        self._plan = Plan()

    @staticmethod
    def bytes(capacity, readers, max_plan_bytes):
        return _check(_lib.afore_ring_bytes(capacity, readers, max_plan_bytes))

    def close(self):
        super().close()
        self._memory = None  # the buffer's owner may close it now

    def publish(self, plan, timeout_ns):
        """False: a reader has not made room; slowest() says which, and drop() goes on without it."""
        status = _lib.afore_ring_publish(self._pointer, byref(plan.raw), timeout_ns)
        return status != TIMEOUT and _check(status) == OK

    def slowest(self):
        return _check(_lib.afore_ring_slowest(self._pointer))

    def drop(self, reader):
        _check(_lib.afore_ring_drop(self._pointer, reader))

    def take(self, reader, timeout_ns):
        """The reader's next plan, the same object with every call; None when none came in time."""
        if self._buffer is None:
            self._buffer = (c_int64 * (_check(_lib.afore_ring_plan_bytes(self._pointer)) // 8 + 1))()
        size = ctypes.sizeof(self._buffer)
        status = _lib.afore_ring_take(self._pointer, reader, self._buffer, size, timeout_ns, byref(self._plan.raw))
        return None if status == TIMEOUT else _check(status) == OK and self._plan
