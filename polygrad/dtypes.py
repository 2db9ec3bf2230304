"""Data types: `numpy.dtype` instances, their kinds, and the one promotion table.

Source: the type-promotion tables of the Python array API standard 2024.12; mixed kinds as in
PyTorch and JAX (the tensor of the higher kind decides, int64 with float32 gives float32).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from polygrad.errors import DtypeError

Dtype = np.dtype[Any]

BOOL, INTEGER, REAL, COMPLEX = range(4)
KIND_NAMES = ("bool", "integral", "real floating", "complex floating")

bool: Dtype = np.dtype("bool")
int8: Dtype = np.dtype("int8")
int16: Dtype = np.dtype("int16")
int32: Dtype = np.dtype("int32")
int64: Dtype = np.dtype("int64")
uint8: Dtype = np.dtype("uint8")
uint16: Dtype = np.dtype("uint16")
uint32: Dtype = np.dtype("uint32")
uint64: Dtype = np.dtype("uint64")
float16: Dtype = np.dtype("float16")
float32: Dtype = np.dtype("float32")
float64: Dtype = np.dtype("float64")
complex64: Dtype = np.dtype("complex64")
complex128: Dtype = np.dtype("complex128")

STANDARD: tuple[Dtype, ...] = (
    bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float32, float64, complex64, complex128,
)  # fmt: skip
ALL: tuple[Dtype, ...] = (*STANDARD, float16)
NAMES: tuple[str, ...] = tuple(dtype.name for dtype in ALL)
_KIND_OF_CODE = {"b": BOOL, "i": INTEGER, "u": INTEGER, "f": REAL, "c": COMPLEX}
# No device has long double, but a backend for reference values may.
_WIDE, _WIDE_COMPLEX = np.dtype(np.longdouble), np.dtype(np.clongdouble)
_COMPLEX_OF = {
    float16: complex64, float32: complex64, float64: complex128, _WIDE: _WIDE_COMPLEX,
}  # fmt: skip
_REAL_OF = {complex64: float32, complex128: float64, _WIDE_COMPLEX: _WIDE}


def __getattr__(name: str) -> Dtype:
    """`bfloat16` exists once `ml_dtypes` is installed; it is imported only when asked for."""
    if name != "bfloat16":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        import ml_dtypes  # noqa: PLC0415  an optional package, 15 ms to import
    except ImportError as error:
        raise DtypeError(
            "bfloat16 needs the package ml_dtypes, which is not installed",
            "pg.bfloat16",
            "pip install ml_dtypes",
        ) from error
    bfloat16: Dtype = np.dtype(ml_dtypes.bfloat16)
    return bfloat16


@functools.lru_cache(maxsize=256)
def kind_of(dtype: Dtype) -> int:
    """BOOL, INTEGER, REAL or COMPLEX."""
    if dtype.name == "bfloat16":
        return REAL
    try:
        return _KIND_OF_CODE[dtype.kind]
    except KeyError:
        raise DtypeError(
            f"tensors cannot hold {dtype}",
            "a tensor's dtype is boolean, integer, floating or complex",
            "convert the data to one of " + ", ".join(NAMES),
        ) from None


def largest(dtype: Dtype) -> float:
    """The largest finite number of a floating dtype; NumPy cannot say it of bfloat16.

    >>> largest(float16)
    65504.0
    """
    if dtype.name == "bfloat16":  # 8 bits of significand, the exponents of float32
        return float(np.finfo(np.float32).max) * (2 - 2.0**-7) / (2 - 2.0**-23)
    return float(np.finfo(dtype).max)


def canonical(dtype: Any) -> Dtype:
    """The `numpy.dtype` that a dtype, its name, or a Python or NumPy scalar type stands for.

    Python's float and complex mean the default dtype's precision only where a default is taken;
    here they are float64 and complex128, as in NumPy.

    Raises
    ------
    DtypeError
        `dtype` names no dtype that a tensor can have.
    """
    if type(dtype) is str and dtype == "bfloat16":
        return __getattr__("bfloat16")
    try:
        found: Dtype = np.dtype(dtype)
        kind_of(found)
    except TypeError as error:
        raise DtypeError(
            f"{dtype!r} is not a dtype", "argument dtype", "pass one of " + ", ".join(NAMES)
        ) from error
    return found


def complex_of(dtype: Dtype) -> Dtype:
    """The complex dtype of the same precision; itself for a complex one."""
    return dtype if kind_of(dtype) == COMPLEX else _COMPLEX_OF.get(dtype, complex64)


def real_of(dtype: Dtype) -> Dtype:
    """The real dtype of the same precision; itself for a real one."""
    return _REAL_OF.get(dtype, dtype)


@functools.lru_cache(maxsize=1024)
def promote(a: Dtype, b: Dtype) -> Dtype:
    """The dtype that an operation on two tensors of dtypes `a` and `b` computes in.

    >>> promote(float32, int64), promote(float64, complex64), promote(bool, uint8)
    (dtype('float32'), dtype('complex128'), dtype('uint8'))

    Raises
    ------
    DtypeError
        uint64 with a signed integer: no dtype holds both.
    """
    if a == b:
        return a
    low, high = sorted((a, b), key=kind_of)
    low_kind, high_kind = kind_of(low), kind_of(high)
    if low_kind < high_kind:
        if low_kind == REAL:  # real with complex: the wider precision
            return complex128 if low == float64 else high
        return high
    if high_kind == INTEGER:
        found = np.promote_types(a, b)
        if kind_of(found) != INTEGER:
            raise DtypeError(
                f"no integer dtype holds both {a} and {b}",
                "type promotion",
                "cast one operand with pg.astype",
            )
        return found
    if "bfloat16" in (a.name, b.name):
        other = a if b.name == "bfloat16" else b
        return float32 if other == float16 else other
    return np.promote_types(a, b)


@functools.lru_cache(maxsize=1024)
def promote_scalar(dtype: Dtype, scalar_kind: int, default_real: Dtype) -> Dtype:
    """The dtype of a tensor of `dtype` meeting a Python number of kind `scalar_kind`.

    A number is weak: it changes the dtype only to reach its own kind, then to the default of that
    kind (int64; `default_real`), or to the complex dtype of the tensor's precision.
    """
    kind = kind_of(dtype)
    if scalar_kind <= kind:
        return dtype
    if scalar_kind == INTEGER:
        return int64
    if scalar_kind == REAL:
        return default_real
    return complex_of(dtype if kind == REAL else default_real)
