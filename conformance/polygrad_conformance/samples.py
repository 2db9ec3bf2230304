"""Samples of the suite itself, beside those that each operation declares.

`EXTRA` has samples of functions that take no arrays, or none that can be generated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.testing import Sampler

__all__ = ["EXTRA", "WITHOUT_ARRAYS", "Sample"]


@dataclass(frozen=True, eq=False)
class Sample:
    """One call: NumPy arrays among its arguments become tensors. Equal to itself only, as a key."""

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


def _more(**makers: Callable[[Sampler], tuple[tuple[Any, ...], dict[str, Any]]]) -> Any:
    """Samples with names of their own."""

    def make(operation: Any, dtype: str) -> list[Sample]:
        made = []
        for name, maker in makers.items():
            args, kwargs = maker(Sampler(f"{operation.name} {name}", dtype))
            made.append(Sample(name, args, kwargs))
        return made

    return make


def _pooled(*shape: int, **keywords: Any) -> Any:
    return lambda s: ((s.distinct(*shape), 2), keywords)


_PLACES = {"return_indices": True}
_SQUARED = {"distance_function": lambda a, b: pg.sum((a - b) ** 2, axis=-1)}

# Keywords that no declared sample uses.
_KEYWORDS: dict[str, Callable[[Any, str], list[Sample]]] = {
    "percentile": _more(kept=lambda s: ((s.distinct(2, 5), 30.0), {"keepdims": True, "axis": 1})),
    "nanpercentile": _more(
        kept=lambda s: ((s.distinct(2, 5), 30.0), {"keepdims": True, "axis": 1})
    ),
    **{
        f"nn.functional.{name}": maker
        for name, maker in {
            "max_pool1d": _more(places=_pooled(2, 2, 6, **_PLACES)),
            "max_pool2d": _more(places=_pooled(2, 2, 5, 4, **_PLACES)),
            "max_pool3d": _more(places=_pooled(1, 2, 4, 3, 4, **_PLACES)),
            "adaptive_max_pool1d": _more(places=_pooled(2, 2, 6, **_PLACES)),
            "adaptive_max_pool2d": _more(places=_pooled(2, 2, 5, 4, **_PLACES)),
            "adaptive_max_pool3d": _more(places=_pooled(1, 2, 4, 3, 4, **_PLACES)),
            "avg_pool1d": _more(steps=_pooled(2, 2, 6, stride=1)),
            "avg_pool2d": _more(steps=_pooled(2, 2, 5, 4, stride=1, divisor_override=3)),
            "avg_pool3d": _more(steps=_pooled(1, 2, 4, 3, 4, stride=1, divisor_override=3)),
            "alpha_dropout": _more(trains=lambda s: ((s.real(4, 5), 0.4), {"training": True})),
            "gumbel_softmax": _more(rows=lambda s: ((s.real(2, 3),), {"tau": 0.5})),
            "feature_alpha_dropout": _more(
                trains=lambda s: ((s.real(2, 4, 5), 0.4), {"training": True})
            ),
            "fractional_max_pool2d": _more(
                places=lambda s: (
                    (s.distinct(1, 2, 5, 4), 2, 2),
                    {"return_indices": True, "_random_samples": [[[0.3, 0.3], [0.3, 0.3]]]},
                )
            ),
            "fractional_max_pool3d": _more(
                places=lambda s: (
                    (s.distinct(1, 2, 5, 4, 4), 2, 2),
                    {"return_indices": True, "_random_samples": [[[0.3] * 3, [0.3] * 3]]},
                )
            ),
            "poisson_nll_loss": _more(
                eps=lambda s: ((s.positive(4), s.positive(4)), {"log_input": False, "eps": 0.25})
            ),
            "triplet_margin_with_distance_loss": _more(
                squares=lambda s: ((s.real(4, 3), s.real(4, 3), s.real(4, 3)), _SQUARED)
            ),
            "embedding": _more(
                frequency=lambda s: (
                    (s.integers(2, 3, high=4), s.real(4, 2)),
                    {"scale_grad_by_freq": True},
                )
            ),
            "embedding_bag": _more(
                frequency=lambda s: (
                    (s.integers(2, 3, high=4), s.real(4, 2)),
                    {"scale_grad_by_freq": True},
                )
            ),
        }.items()
    },
}

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
EXTRA.update(_KEYWORDS)
WITHOUT_ARRAYS = frozenset(
    {"can_cast", "finfo", "iinfo", "isdtype", "result_type", "broadcast_shapes"}
)
