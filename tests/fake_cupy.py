"""A stand-in for CuPy over NumPy, so that the plugin's own logic runs where there is no GPU.

It has two devices, and the habits of CuPy that the plugin is there to make good: work happens on
the current device and, here, refuses arrays of the other; an index that is out of range is taken
modulo the length of its axis; a write to equal places keeps any of the values (here the first);
atomic addition knows few dtypes; `device=` is ignored; while a graph is recorded neither a product
of floating matrices (cuBLAS) nor a copy from the host is taken. Streams and events write down who
waits for whom in LOG; a graph writes down the calls made while it is recorded, and repeats them,
into the memory that they filled.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np


class Current(threading.local):
    """The current device of a thread: each begins at the first."""

    def __init__(self):
        self.index = 0

    def __getitem__(self, _):
        return self.index

    def __setitem__(self, _, index):
        self.index = index

    def __eq__(self, other):
        return [self.index] == other

    __hash__ = None


CURRENT = Current()
LOG = []  # what streams were told
RECORDED = []  # the calls of the graph that is recorded: one list while there is one
PEERS = [True]  # whether the GPUs have a direct path
PINNED = set()  # the page-locked arrays, by id
POOL = {"used": 100, "free": 20, "limit": 0}
ATOMIC = {
    "add": {"int32", "float16", "float32", "float64", "uint32", "uint64"},
    "max": {"int32", "float32", "float64", "uint32", "uint64"},
}


class Device:
    __hash__ = None

    def __init__(self, index=None):
        self.id = CURRENT[0] if index is None else int(index)
        self.mem_info = (3, 4)

    def __enter__(self):
        self.before, CURRENT[0] = CURRENT[0], self.id
        return self

    def __exit__(self, *exc):
        CURRENT[0] = self.before

    def synchronize(self):
        assert not RECORDED, "a wait while a graph is recorded"
        LOG.append(f"wait for device {self.id}")


STREAMS = {}  # the current one, by thread and device, as CuPy has it


class Stream:
    """Knows its name, and that it belongs to the device that was current when it was made."""

    made = 0

    def __init__(self, null=False, non_blocking=False):
        Stream.made += 1
        self.name, self.where = "null" if null else f"s{Stream.made}", CURRENT[0]
        self.outer = []

    def __enter__(self):
        assert self.where == CURRENT[0], "a stream of another device"
        self.outer.append(get_current_stream())
        STREAMS[threading.get_ident(), self.where] = self
        return self

    def __exit__(self, *exc):
        assert self.where == CURRENT[0], "a stream of another device"
        STREAMS[threading.get_ident(), self.where] = self.outer.pop()

    def record(self):
        assert self.where == CURRENT[0], "an event of another device"
        return SimpleNamespace(of=self.name)

    def wait_event(self, event):
        LOG.append(f"{self.name} after {event.of}")

    def synchronize(self):
        LOG.append(f"host after {self.name}")

    def begin_capture(self):
        assert self.name != "null", "the usual stream cannot be captured"
        RECORDED.append([])

    def end_capture(self):
        calls = RECORDED.pop()
        return SimpleNamespace(launch=lambda: [call() for call in calls])


def get_current_stream():
    key = threading.get_ident(), CURRENT[0]
    return STREAMS.setdefault(key, Stream(null=True))


def recorded(function, args, options, out):
    """Have the graph, if one is recorded, repeat a call into the memory of its result.

    What is recorded is not run: a floating result is NaN until the graph is launched.
    """
    if not RECORDED:
        return

    def repeat():
        made = function(*args, **options)
        pairs = zip(out, made, strict=True) if isinstance(out, (tuple, list)) else [(out, made)]
        for old, new in pairs:
            if isinstance(old, np.ndarray) and not np.shares_memory(old, new):
                np.copyto(np.ndarray.view(old, np.ndarray), new)

    RECORDED[-1].append(repeat)
    given = [x for x in leaves((args, *options.values())) if isinstance(x, np.ndarray)]
    floats = [x for x in leaves(out) if isinstance(x, np.ndarray) and x.dtype.kind in "fc"]
    for made in floats:
        if not any(np.shares_memory(made, x) for x in given):
            made.fill(np.nan)


def leaves(v):
    if isinstance(v, (tuple, list)):
        return [leaf for part in v for leaf in leaves(part)]
    return [v]


def made_like(v, parts):
    """A sequence of the kind of v: a named tuple takes its parts one by one."""
    return type(v)(*parts) if hasattr(v, "_fields") else type(v)(parts)


def plain(v):
    """NumPy's view of what lives on the current device."""
    if isinstance(v, (tuple, list)):
        return made_like(v, map(plain, v))
    if isinstance(v, FakeArray):
        assert v.where == CURRENT[0], f"array of device {v.where}, current is {CURRENT[0]}"
        return np.ndarray.view(v, np.ndarray)
    return v


def fake(v):
    if isinstance(v, (tuple, list)):
        return made_like(v, map(fake, v))
    return np.asarray(v).view(FakeArray) if isinstance(v, (np.ndarray, np.generic)) else v


def on_current(function):
    """A function of NumPy on the current device; it ignores `device`."""

    def inner(*args, device=None, **options):
        refuse_bfloat16(function, args)
        if RECORDED:
            refuse_recording(function, args)
        args, options = plain(args), {name: plain(value) for name, value in options.items()}
        out = fake(function(*args, **options))
        recorded(function, args, options, out)
        return out

    return inner


SORTS = {np.sort, np.argsort, np.lexsort, np.unique_all}
LINALG = [getattr(np.linalg, n) for n in np.linalg.__all__ if callable(getattr(np.linalg, n))]


def refuse_bfloat16(function, args):
    """What CuPy 14 does not sort or factorise."""
    if all(getattr(x, "dtype", None) != "bfloat16" for x in leaves(args)):
        return
    if function in SORTS or function in LINALG:
        raise NotImplementedError(f"{function.__name__} of dtype 'bfloat16' is not supported")


PRODUCTS = {np.matmul, np.matmul.__call__, np.dot, np.tensordot, np.inner, np.vdot, np.einsum}
COPIES = {np.array, np.asarray}


def refuse_recording(function, args):
    """What CuPy 14 raises while a stream is captured."""
    arrays = [x for x in leaves(args) if isinstance(x, np.ndarray)]
    if function in PRODUCTS and all(x.dtype.kind in "fc" for x in arrays):
        raise NotImplementedError(
            "calling cuBLAS API during stream capture is currently unsupported"
        )
    if function in COPIES and any(type(x) is np.ndarray and x.ndim for x in arrays):
        raise RuntimeError("the current stream is capturing, so H2D transfers are disallowed")


class FakeArray(np.ndarray):
    data = property(lambda self: SimpleNamespace(device_id=self.where, ptr=self.ctypes.data))

    def get(self):
        assert not RECORDED, "a copy to the host while a graph is recorded"
        return np.array(plain(self), order="C")

    def __array_finalize__(self, source):
        self.where = getattr(source, "where", CURRENT[0])

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return on_current(getattr(ufunc, method))(*inputs, **options)

    def __array_function__(self, function, types, args, options):
        return on_current(function)(*args, **options)

    def __getitem__(self, key):
        return on_current(lambda x, key: x[wrapped(x, key)])(self, key)

    def __setitem__(self, key, value):
        mine, value = plain(self), plain(value)
        given = plain(key)
        if RECORDED:
            RECORDED[-1].append(lambda: mine.__setitem__(wrapped(mine, given), value))
            return
        key = wrapped(mine, given)
        mine[key] = value
        key = key if isinstance(key, tuple) else (key,)
        if any(isinstance(k, np.ndarray) for k in key):  # again, the other way round
            places = np.arange(mine.size).reshape(mine.shape)[key]
            values = np.empty(places.shape, mine.dtype)
            values[...] = value
            np.put(mine, places.reshape(-1)[::-1], values.reshape(-1)[::-1])


def wrapped(x, key):
    """The key with its index arrays inside the axes."""
    keys = key if isinstance(key, tuple) else (key,)
    wide = [k.ndim if isinstance(k, np.ndarray) and k.dtype == bool else k not in (None, ...)
            if not isinstance(k, np.ndarray) else 1 for k in keys]  # fmt: skip
    out, axis = [], 0
    for k, width in zip(keys, wide, strict=True):
        places = isinstance(k, np.ndarray) and k.dtype.kind in "iu"
        out.append(k % x.shape[axis] if places else k)
        axis += x.ndim - sum(wide) if k is ... else width
    return tuple(out)


def take(x, indices, axis=None):
    return np.take(x, indices, axis=axis, mode="wrap")


def take_along_axis(x, indices, axis):
    return np.take_along_axis(x, indices % x.shape[axis], axis)


for _name in ("astype", "copy", "reshape", "view"):
    setattr(FakeArray, _name, on_current(getattr(np.ndarray, _name)))
FakeArray.take = on_current(take)


def scatter(kind, ufunc):
    def function(a, slices, value):
        a, slices, value = plain(a), plain(slices), plain(value)
        given, keys = slices, wrapped(a, slices)
        numbers = any(isinstance(k, np.ndarray) and k.dtype.kind in "iu" for k in keys)
        if numbers and a.dtype.name not in ATOMIC[kind]:
            raise TypeError(f"scatter_{kind} does not support {a.dtype}")
        if RECORDED:
            RECORDED[-1].append(lambda: ufunc.at(a, wrapped(a, given), value))
        else:
            ufunc.at(a, keys, value)

    return function


class Library(ModuleType):
    """A module of NumPy's functions."""

    def __init__(self, name, **own):
        super().__init__(name)
        self.__dict__.update(own)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return on_current(getattr(np, name))


def array(x, order="K"):
    """A copy on the current device, of an array of any device."""
    if RECORDED:
        refuse_recording(np.array, (x,))
    source = np.ndarray.view(np.asanyarray(x), np.ndarray)
    out = fake(np.array(source, order=order))
    recorded(np.array, (source,), {}, out)
    return out


def add(*args, **options):
    return on_current(np.add)(*args, **options)


add.types = ["ee->e", "EE->E", "ff->f", "dd->d"]  # with bfloat16's, as of CuPy 14


def empty(shape, dtype=float):
    """Nothing to be repeated: what is written there is. What is not, holds NaN, or 0."""
    return fake(np.full(shape, np.nan if np.dtype(dtype).kind in "fc" else 0, dtype))


def empty_pinned(shape, dtype=float):
    made = np.empty(shape, dtype)
    PINNED.add(made.ctypes.data)
    return made


class MemoryPool:
    def malloc(self, size):
        raise AssertionError("the stand-in allocates nothing")

    def used_bytes(self):
        return POOL["used"]

    def free_bytes(self):
        return POOL["free"]

    def get_limit(self):
        return POOL["limit"]

    def free_all_blocks(self):
        POOL["free"] = 0


POOLS = MemoryPool(), MemoryPool()


@contextmanager
def using_allocator(allocator):
    LOG.append("own memory")
    yield
    LOG.append("usual memory")


def modules():
    """What to put into sys.modules."""
    runtime = SimpleNamespace(
        is_hip=False, getDeviceCount=lambda: 2, getDevice=lambda: CURRENT[0],
        CUDARuntimeError=RuntimeError, deviceCanAccessPeer=lambda target, source: PEERS[0],
    )  # fmt: skip
    pinned_memory = SimpleNamespace(is_memory_pinned=lambda pointer: pointer in PINNED)
    cuda = SimpleNamespace(
        Device=Device, runtime=runtime, Stream=Stream, get_current_stream=get_current_stream,
        MemoryPool=MemoryPool, using_allocator=using_allocator, pinned_memory=pinned_memory,
    )  # fmt: skip
    tricks = SimpleNamespace(as_strided=on_current(np.lib.stride_tricks.as_strided))
    linalg = Library(
        "array_api_compat.cupy.linalg", **{f.__name__: on_current(f) for f in LINALG}
    )
    return {
        "cupy": Library(
            "cupy", ndarray=FakeArray, array=array, empty=empty, add=add,
            lib=SimpleNamespace(stride_tricks=tricks), cuda=cuda,
            get_default_memory_pool=lambda: POOLS[0],
            get_default_pinned_memory_pool=lambda: POOLS[1],
        ),
        "cupyx": Library(
            "cupyx", scatter_add=scatter("add", np.add), scatter_max=scatter("max", np.maximum),
            errstate=lambda linalg: nullcontext(), empty_pinned=empty_pinned,
        ),
        "array_api_compat.cupy": Library(
            "array_api_compat.cupy", linalg=linalg,
            **{n: on_current(getattr(np, n)) for n in np.__all__ if callable(getattr(np, n))}
            | {"take": on_current(take), "take_along_axis": on_current(take_along_axis)},
        ),
    }  # fmt: skip
