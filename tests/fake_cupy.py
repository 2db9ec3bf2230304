"""A stand-in for CuPy over NumPy, so that the plugin's own logic runs where there is no GPU.

It has two devices, and the habits of CuPy that the plugin is there to make good: work happens on
the current device and, here, refuses arrays of the other; a write to equal places keeps any of the
values (here the first); atomic addition knows few dtypes; `device=` is ignored.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import ModuleType, SimpleNamespace

import numpy as np

CURRENT = [0]
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

    def __exit__(self, *exc):
        CURRENT[0] = self.before

    def synchronize(self):
        pass


def plain(v):
    """NumPy's view of what lives on the current device."""
    if isinstance(v, (tuple, list)):
        return type(v)(map(plain, v))
    if isinstance(v, FakeArray):
        assert v.where == CURRENT[0], f"array of device {v.where}, current is {CURRENT[0]}"
        return np.ndarray.view(v, np.ndarray)
    return v


def fake(v):
    if isinstance(v, (tuple, list)):
        return type(v)(map(fake, v))
    return np.asarray(v).view(FakeArray) if isinstance(v, (np.ndarray, np.generic)) else v


def on_current(function):
    """A function of NumPy on the current device; it ignores `device`."""

    def inner(*args, device=None, **options):
        return fake(function(*plain(args), **options))

    return inner


class FakeArray(np.ndarray):
    data = property(lambda self: SimpleNamespace(device_id=self.where))

    def get(self):
        return np.array(plain(self), order="C")

    def __array_finalize__(self, source):
        self.where = getattr(source, "where", CURRENT[0])

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return fake(getattr(ufunc, method)(*plain(inputs), **options))

    def __array_function__(self, function, types, args, options):
        return on_current(function)(*args, **options)

    def __getitem__(self, key):
        return fake(plain(self)[plain(key)])

    def __setitem__(self, key, value):
        mine, key, value = plain(self), plain(key), plain(value)
        mine[key] = value
        if any(isinstance(k, np.ndarray) for k in key):  # again, the other way round
            places = np.arange(mine.size).reshape(mine.shape)[key]
            values = np.empty(places.shape, mine.dtype)
            values[...] = value
            np.put(mine, places.reshape(-1)[::-1], values.reshape(-1)[::-1])


for _name in ("astype", "copy", "take", "reshape", "view"):
    setattr(FakeArray, _name, on_current(getattr(np.ndarray, _name)))


def scatter(kind, ufunc):
    def function(a, slices, value):
        a, slices, value = plain(a), plain(slices), plain(value)
        keys = slices if isinstance(slices, tuple) else (slices,)
        numbers = any(isinstance(k, np.ndarray) and k.dtype.kind in "iu" for k in keys)
        if numbers and a.dtype.name not in ATOMIC[kind]:
            raise TypeError(f"scatter_{kind} does not support {a.dtype}")
        ufunc.at(a, slices, value)

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
    return fake(np.array(np.ndarray.view(np.asanyarray(x), np.ndarray), order=order))


def modules():
    """What to put into sys.modules."""
    runtime = SimpleNamespace(
        is_hip=False, getDeviceCount=lambda: 2, getDevice=lambda: CURRENT[0],
        CUDARuntimeError=RuntimeError,
    )  # fmt: skip
    tricks = SimpleNamespace(as_strided=on_current(np.lib.stride_tricks.as_strided))
    linalg = Library("array_api_compat.cupy.linalg", inv=on_current(np.linalg.inv))
    return {
        "cupy": Library(
            "cupy", ndarray=FakeArray, array=array, lib=SimpleNamespace(stride_tricks=tricks),
            cuda=SimpleNamespace(Device=Device, runtime=runtime),
        ),
        "cupyx": Library(
            "cupyx", scatter_add=scatter("add", np.add), scatter_max=scatter("max", np.maximum),
            errstate=lambda linalg: nullcontext(),
        ),
        "array_api_compat.cupy": Library(
            "array_api_compat.cupy", linalg=linalg,
            **{n: on_current(getattr(np, n)) for n in np.__all__ if callable(getattr(np, n))},
        ),
    }  # fmt: skip
