"""Functions beyond the standard that NumPy has too: their samples, by NumPy.

The generated tests hold gradients and devices to polygrad's own values; here the values are held to
somebody else's.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import polygrad as pg
from polygrad.families import OPERATIONS
from polygrad.ops import LATE, load_all
from polygrad.testing import assert_close, samples_of, take_apart

load_all()
DTYPES = {"f": "float64", "c": "complex128", "i": "int64", "b": "bool"}
NOT_IN_NUMPY = {
    "topk", "kthvalue", "cummax", "cummin", "cumulative_trapezoid", "index_copy", "index_fill",
    "gather", "scatter", "scatter_add", "scatter_reduce", "masked_scatter", "block_diag",
    "diag_embed", "softmax", "log_softmax",
}  # fmt: skip


def put_along_axis(x, indices, values, axis=-1):
    out = x.astype(np.result_type(x, values))
    np.put_along_axis(out, indices, values, axis)
    return out


def diag(x, k=0):
    return np.diag(x, k) if x.ndim < 3 else np.diagonal(x, k, -2, -1)


def bincount(x, weights=None, **keywords):
    if np.iscomplexobj(weights):
        return np.bincount(x, weights.real) + 1j * np.bincount(x, weights.imag)
    return np.bincount(x, weights, **keywords)


def ddof(function):
    def inner(x, correction=0, **keywords):
        return function(x, **{"ddof": correction, **keywords})

    return inner


OWN = {
    "bincount": bincount,
    "pad": lambda x, width, **keywords: np.pad(x, width, **keywords) if x.ndim else x,
    "lerp": lambda x, y, weight: x + weight * (y - x),
    "masked_fill": lambda x, mask, value: np.where(mask, value, x),
    "masked_select": lambda x, mask: np.multiply(x, np.ones_like(mask))[
        np.broadcast_to(mask, np.broadcast_shapes(x.shape, mask.shape))
    ],
    "cumulative_logsumexp": lambda x, axis=0: np.logaddexp.accumulate(x, axis),
    "put_along_axis": put_along_axis, "diag": diag, "nanvar": ddof(np.nanvar),
    "nanstd": ddof(np.nanstd), "norm": np.linalg.norm,
    "median": lambda x, **keywords: np.median(x, **keywords) if x.size else np.full(0, np.nan),
    "quantile": lambda x, q, **keywords: np.quantile(x, q, **keywords) if x.size else np.zeros(0),
}  # fmt: skip
NAMES = sorted(
    {name for names in LATE.values() for name in names} - NOT_IN_NUMPY
    | {"pad", "rot90", "logspace", "geomspace"}
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_samples_by_numpy(name):
    operation = OPERATIONS[name]
    function = OWN.get(name) or getattr(np, name)
    for kind in operation.kinds:
        for args, keywords in samples_of(operation, DTYPES[kind]):
            arrays, build = take_apart(args, keywords)
            given, options = build([pg.tensor(a) for a in arrays], "cpu")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of slices that are empty, or NaN
                with np.errstate(all="ignore"):
                    want = function(*args, **keywords)
            got = operation.function(*given, **options)
            several = isinstance(got, (tuple, list))
            for a, b in zip(*((got, want) if several else ([got], [want])), strict=True):
                dtype = "float32" if kind in "ib" else None  # integers are computed in float32
                assert_close(a, b, dtype=dtype, what=f"{args} {keywords}")
