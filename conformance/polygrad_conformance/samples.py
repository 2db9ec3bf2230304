"""Samples of the suite itself, beside those that each operation declares.

`EXTRA` has samples of functions that take no arrays, or none that can be generated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polygrad as pg

__all__ = ["EXTRA", "WITHOUT_ARRAYS", "Sample"]


@dataclass(frozen=True)
class Sample:
    """One call: NumPy arrays among its arguments become tensors."""

    name: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


def _calls(*calls: tuple[tuple[Any, ...], dict[str, Any]]) -> Callable[..., list[Sample]]:
    def make(operation: Any, dtype: str) -> list[Sample]:
        del operation, dtype
        return [Sample(str(i), args, kwargs) for i, (args, kwargs) in enumerate(calls)]

    return make


def _nested(operation: Any, dtype: str) -> list[Sample]:
    """Nested lists, numbers and arrays for tensor and asarray."""
    del operation
    values = np.array([[0, 1, 2], [3, 1, 0]]).astype(dtype)
    return [
        Sample("list", (values.tolist(),), {"dtype": np.dtype(dtype)}),
        Sample("number", (values.tolist()[0][1],), {"dtype": np.dtype(dtype)}),
        Sample("empty", ([],), {"dtype": np.dtype(dtype)}),
        Sample("tensor", (values,), {}),
    ]


# The samples of functions of the standard that are about dtypes and shapes, not about arrays.
EXTRA: dict[str, Callable[[Any, str], list[Sample]]] = {
    "tensor": _nested,
    "asarray": _nested,
    "from_dlpack": lambda operation, dtype: [Sample("0", (np.arange(6).astype(dtype),))],
    "can_cast": _calls(
        ((pg.int32, pg.int64), {}), ((pg.int64, pg.int32), {}), ((pg.float64, pg.float32), {}),
        ((pg.bool, pg.int8), {}),
    ),
    "finfo": _calls(((pg.float32,), {}), ((pg.complex64,), {})),
    "iinfo": _calls(((pg.int32,), {}), ((pg.uint8,), {})),
    "isdtype": _calls(
        ((pg.float32, "real floating"), {}), ((pg.int8, "unsigned integer"), {}),
        ((pg.bool, ("bool", pg.int8)), {}),
    ),
    "result_type": _calls(((pg.float32, pg.float64), {}), ((pg.int8, pg.uint8), {})),
    "broadcast_shapes": _calls((((2, 1), (3,)), {}), (((), (0, 1)), {})),
}  # fmt: skip
WITHOUT_ARRAYS = frozenset(
    {"can_cast", "finfo", "iinfo", "isdtype", "result_type", "broadcast_shapes"}
)
