"""MLX for polygrad: Apple's GPU as `mlx:gpu`, elsewhere the CPU or CUDA device MLX came for."""

from types import ModuleType

import mlx.core as mx
import numpy as np
from array_api_compat.numpy import linalg

from polygrad import dtypes, indexing
from polygrad.backend import Backend, Capabilities
from polygrad.device import Device

DTYPES = {dtype: getattr(mx, dtype.name) for dtype in dtypes.ALL if hasattr(mx, dtype.name)}
DTYPES[dtypes.bool] = mx.bool_
del DTYPES[dtypes.float64]  # of the CPU only, and of single precision in sin, exp, erf, fft
DTYPE_OF = {native: dtype for dtype, native in DTYPES.items()}
WHOLE = tuple(d.name for d in dtypes.ALL if dtypes.kind_of(d) <= dtypes.INTEGER)
LACKING = ("copysign", "hypot", "nextafter", "nonzero", "signbit", "unique_all")
# A zero as remainder has the sign of x, not of y; what is shifted out of an integer comes back.
WRONG = ("remainder", "bitwise_left_shift", "bitwise_right_shift")


def told_less(name, dtype=None):
    """A function that is not told what MLX has no word for; the result in a dtype."""

    def inner(*args, device=None, copy=None, stable=True, **kwargs):
        made = getattr(mx, name)(*args, **kwargs)
        return made if dtype is None else made.astype(dtype)

    return inner


def reduction(name):
    """With `dtype=`; without elements, of which MLX may wait for ever."""

    def inner(x, *, dtype=None, **kwargs):
        dtype = dtype or (mx.bool_ if name in ("any", "all") else x.dtype)
        if not x.size:
            return from_numpy(getattr(np, name)(np.empty(x.shape, DTYPE_OF[dtype]), **kwargs))
        return getattr(mx, name)(x.astype(dtype), **kwargs).astype(dtype)

    return inner


def to_numpy(array):
    if not array.size:  # evaluated, it may make MLX wait for ever at the next evaluation
        return np.empty(array.shape, DTYPE_OF[array.dtype])
    return np.array(array)


def on_host(function):
    """MLX's linear algebra runs on the CPU too, ends the process where a matrix is singular or
    empty (ml-explore/mlx#2670, #4032), and has no complex numbers: NumPy's is used instead."""

    def inner(*args, **kwargs):
        args = [to_numpy(a) if isinstance(a, mx.array) else a for a in args]
        out = function(*args, **kwargs)
        return tuple(map(from_numpy, out)) if isinstance(out, tuple) else from_numpy(out)

    return inner


def from_numpy(array):
    return mx.array(np.array(array, order="C"))


def sign(x):
    """MLX gives 0 for NaN."""
    return mx.where(mx.isnan(x), x, mx.sign(x))


def full(shape, value, *, dtype=None, device=None):
    """MLX lets the value have a word in the dtype."""
    made = mx.full(shape, value, dtype=dtype)
    return made if dtype is None else made.astype(dtype)


def namespace():
    """MLX with the standard's signatures: its arrays are on no device."""
    xp = ModuleType("polygrad_mlx")
    vars(xp).update(vars(mx), full=full, sign=sign, asarray=told_less("array"), bool=mx.bool_)
    xp.linalg = ModuleType("polygrad_mlx.linalg")
    for name in linalg.__all__:
        setattr(xp.linalg, name, on_host(getattr(linalg, name)))
    for name in ("arange", "eye", "linspace", "ones", "zeros", "empty", "astype", "sort"):
        setattr(xp, name, told_less(name))
    for name in ("argmax", "argmin", "argsort"):  # in MLX they are uint32
        setattr(xp, name, told_less(name, mx.int64))
    for name in ("sum", "prod", "any", "all", "cumulative_sum", "cumulative_prod"):
        setattr(xp, name, reduction(name))
    return xp


class MlxBackend(Backend):
    """The device that MLX computes on by default; memory is shared by all devices."""

    name = "mlx"
    device_kinds = ("mlx",)
    libraries = ("mlx",)
    install = "pip install polygrad-mlx"
    capabilities = Capabilities(sparse_keys=False, checks_indices=False, asynchronous=True,
                                subnormals=False, accuracy={"float32": "fast"})  # fmt: skip

    def __init__(self):
        super().__init__()
        native = mx.default_device()
        self._device = Device(f"mlx:{native.type.name}")
        self._xp = namespace()
        self.through_host(*LACKING, *WRONG)
        self.through_host("matmul", dtypes=WHOLE)
        self.through_host("expm1", dtypes=("complex64",))

    @property
    def array_types(self):
        return (mx.array,)

    @property
    def xp(self):
        return self._xp

    def devices(self):
        return [self._device]

    def device_of(self, array):
        return self._device

    def native_dtype(self, dtype):
        return DTYPES[dtype]

    def dtype_of(self, array):
        return DTYPE_OF[array.dtype]

    def supports(self, dtype, device):
        return dtype in DTYPES

    def from_numpy(self, array, device):
        return from_numpy(array)

    def to_numpy(self, array):
        return to_numpy(array)

    def set_at(self, array, key, value):
        """NumPy drops spare axes of length 1 in front of a value."""
        if indexing.is_basic(key) and isinstance(value, mx.array):
            ndim = len(indexing.selected_shape(tuple(array.shape), key))
            value = value.reshape(value.shape[max(value.ndim - ndim, 0) :])
        return super().set_at(array, key, value)

    def synchronize(self, device):
        mx.synchronize()
