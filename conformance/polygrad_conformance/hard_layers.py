"""Hard samples of activations, normalizations, windows and embeddings: every option."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]


_FAR = (-1000, -100, -20, -6, -3, -1, -0.5, -1e-3, 0, 1e-3, 0.5, 1, 3, 6, 20, 100, 1000)


def _far(h: Hard) -> Calls:
    """Where exp overflows or vanishes, on both sides of every kink; and NaN."""
    return [((h(_FAR),), {}), ((h([*_FAR, np.nan]),), {})]


def _infinite(h: Hard) -> Calls:
    """And the infinities, where no formula divides or multiplies them."""
    return [*_far(h), ((h([np.inf, -np.inf, 1.0]),), {})]


def _with(*keywords: dict[str, Any], points: Make = _infinite) -> Make:
    return lambda h: [(args, k) for args, _ in points(h) for k in ({}, *keywords)]


def _thresholds(h: Hard) -> Calls:
    return [
        ((*args, t, v), {})
        for args, _ in _infinite(h)
        for t, v in ((0.5, 9.0), (-1.0, -7.0), (3.0, 0.0))
    ]


def _logits(h: Hard) -> Calls:
    x = h([[1000, 1000, 999], [-1000, -1001, -1000], [0, 1, 2], [3, 3, 3]])
    return [((x,), {"axis": a}) for a in (1, 0, -2)] + [
        ((h.block,), {"axis": a}) for a in (0, 1, 2)
    ]


def _images(h: Hard, dims: int, channels: int = 4) -> Any:
    """All below zero: a border of zeros would win."""
    shape = (2, channels, *(7, 5, 4)[:dims])
    return h(-(np.arange(np.prod(shape)).reshape(shape) * 7 % 11) - 1)


def _holed(h: Hard, dims: int) -> Any:
    """Images in which some windows hold NaN, an infinity, or nothing above minus infinity."""
    x = _images(h, dims)
    flat = x.reshape(-1)
    flat[2::23], flat[5::19] = np.nan, np.inf
    x[0, 0] = -np.inf
    return x


def _max_pools(dims: int) -> Make:
    def make(h: Hard) -> Calls:
        x, kernel = _images(h, dims), (3, 2, 2)[:dims]
        options = [
            {"stride": 2},
            {"padding": 1},
            {"stride": 2, "padding": 1, "ceil_mode": True},
            {"dilation": 2, "stride": 1},
            {"stride": (2, 1, 1)[:dims], "return_indices": True},
            {"padding": 1, "return_indices": True},
        ]
        if dims == 3:  # the last axis is too short for a dilation
            options.pop(3)
        if dims == 2:
            options.append({"padding": (1, 0)})
        return [
            ((a, kernel if k.get("dilation") is None else 2), k)
            for a in (x, _holed(h, dims))
            for k in options
        ]

    return make


def _avg_pools(dims: int) -> Make:
    def make(h: Hard) -> Calls:
        x, kernel = _images(h, dims), (3, 2, 2)[:dims]
        made = [
            {"stride": s, "padding": p, "ceil_mode": c, "count_include_pad": i}
            for s, p, c, i in product((1, 2), (0, 1), (False, True), (False, True))
        ]
        return [((x, kernel), k) for k in made]

    return make


def _lp_pools(dims: int) -> Make:
    return lambda h: [
        ((_images(h, dims), p, 2), {"stride": s, "ceil_mode": c})
        for p in (1.0, 2.0, 3.0)
        for s in (1, 2)
        for c in (False, True)
    ]


def _adaptive(dims: int) -> Make:
    sizes = (3, 1, (5, 2, 3)[:dims])
    return lambda h: [
        ((x, size), {}) for x in (_images(h, dims), _holed(h, dims)) for size in sizes
    ]


def _convolutions(dims: int) -> Make:
    def make(h: Hard) -> Calls:
        x, taps = h.block, (3, 2, 2)[:dims]
        x = _images(h, dims)
        w = h(np.arange(6 * 4 * np.prod(taps)).reshape(6, 4, *taps) * 5 % 9 - 4)
        b = h(np.arange(6) - 2)
        steps, borders = (2, 1, 1)[:dims], (1, 2, 0)[:dims]
        options: list[dict[str, Any]] = [
            {},
            {"stride": steps},
            {"padding": borders},
            {"padding": "same"},
            {"dilation": (2, 1, 1)[:dims]},
            {"stride": 2, "padding": 1},
            {"dilation": 2, "padding": 2},
        ]
        return [((x, w), {**k, **more}) for k in options for more in ({}, {"bias": b})] + [
            ((x, w[:, :2]), {"groups": 2, "bias": b}),
            ((x, w[:4, :1]), {"groups": 4, "padding": 1}),
        ]

    return make


def _transposed(dims: int) -> Make:
    def make(h: Hard) -> Calls:
        x, taps = _images(h, dims), (3, 2, 2)[:dims]
        w = h(np.arange(4 * 6 * np.prod(taps)).reshape(4, 6, *taps) * 5 % 9 - 4)
        b = h(np.arange(6) - 2)
        options: list[dict[str, Any]] = [
            {},
            {"stride": 2},
            {"stride": 2, "output_padding": 1},
            {"stride": (3, 2, 2)[:dims], "output_padding": (2, 0, 1)[:dims]},
            {"padding": 1},
            {"dilation": 2},
            {"stride": (2, 1, 1)[:dims], "padding": (1, 0, 0)[:dims]},
        ]
        return [((x, w), {**k, **more}) for k in options for more in ({}, {"bias": b})] + [
            ((x, w[:, :3]), {"groups": 2, "bias": b}),
            ((x, w[:, :1]), {"groups": 4, "stride": 2}),
        ]

    return make


def _layer_norms(h: Hard) -> Calls:
    """A mean far from zero, and rows that are constant."""
    x = h(np.stack([np.arange(12).reshape(3, 4) + 200, np.full((3, 4), 5)]))
    w, b = h([1, 2, 0, -1]), h([0, 1, -1, 3])
    return [
        ((x, (4,)), {}),
        ((x, (3, 4)), {}),
        ((x, (4,)), {"weight": w, "bias": b}),
        ((x, (4,)), {"eps": 0.5}),
        ((x, (4,)), {"weight": w}),
    ]


def _root_norms(h: Hard) -> Calls:
    x, w = h(np.stack([np.arange(12).reshape(3, 4) + 50, np.zeros((3, 4))])), h([1, 2, 0, -1])
    return [((x, (4,)), {}), ((x, (3, 4)), {"eps": 0.5}), ((x, (4,)), {"weight": w, "eps": 1e-3})]


def _batch_norms(h: Hard) -> Calls:
    x = h(np.arange(48).reshape(2, 3, 8) * 5 % 11 + 20)
    mean, var, w, b = h([20, 25, 30]), h([1, 4, 0.25]), h([1, -2, 0]), h([0, 1, 2])
    return [
        ((x, mean, var), {"weight": w, "bias": b}),
        ((x, mean, var), {"eps": 0.5}),
        ((x, None, None), {"training": True}),
        ((x, None, None), {"training": True, "weight": w}),
        ((x[:, :, 0], mean, var), {"bias": b}),
    ]


def _group_norms(h: Hard) -> Calls:
    x, w, b = h(np.arange(48).reshape(2, 6, 4) * 5 % 11 + 20), h(np.arange(6) - 2), h(np.arange(6))
    return [((x, n), k) for n in (1, 2, 3, 6) for k in ({}, {"weight": w, "bias": b}, {"eps": 0.5})]


def _normalized(h: Hard) -> Calls:
    # Zeros, but in half precision: there the default eps is 0, as in PyTorch.
    least = 1 if h.dtype == np.float16 else 0
    x = h(np.stack([np.arange(12).reshape(3, 4) * 2 - 5, np.full((3, 4), least)]))
    return [((x,), {"p": p, "axis": a}) for p in (1.0, 2.0, 3.0) for a in (0, 1, -1)] + [
        ((x,), {"eps": 4.0}),
        ((x,), {"p": float("inf"), "axis": 2}),
    ]


def _similar(h: Hard) -> Calls:
    x, y = h.block + h(3), h(np.arange(24).reshape(2, 3, 4) % 3 + 1)
    return [((x, y), {"axis": a}) for a in (0, 1, -1)] + [
        ((x if h.dtype == np.float16 else x * h(0), y), {}),
        ((x, y), {"eps": 2.0}),
    ]


def _distant(h: Hard) -> Calls:
    x, y = h.block[0], h(np.arange(12).reshape(3, 4) % 3 + 4)
    return [((x, y), {"p": p, "keepdims": k}) for p in (1.0, 2.0, 3.0) for k in (False, True)] + [
        ((x, y), {"eps": 0.5}),
        ((x, y[:1]), {}),
    ]


def _embedded(h: Hard) -> Calls:
    w, i = h(np.arange(12).reshape(4, 3)), np.array([[0, 3, 3], [1, 0, 2]])
    return [
        ((i, w), {}),
        ((i, w), {"padding_idx": 0}),
        ((i, w), {"padding_idx": -1}),
        ((i[:0], w), {}),
    ]


def _bags(h: Hard) -> Calls:
    w, i = h(np.arange(12).reshape(4, 3) * 7 % 5 - 6), np.array([0, 3, 3, 1, 0, 2])
    starts, some = np.array([0, 2, 2, 5]), h([1, 0, 2, -1, 0.5, 3])
    made: Calls = [
        ((i, w), {"offsets": starts, "mode": m, **k})
        for m in ("sum", "mean", "max")
        for k in ({}, {"padding_idx": 3})
    ]
    made += [
        ((i, w), {"offsets": np.array([0, 2, 2, 6]), "mode": m, "include_last_offset": True})
        for m in ("sum", "mean", "max")
    ]
    return [*made, ((i, w), {"offsets": starts, "mode": "sum", "per_sample_weights": some})]


def _bordered(h: Hard) -> Calls:
    x = h.block[None]
    return [((x, (1, 2)), {"mode": m}) for m in ("reflect", "replicate", "circular")] + [
        ((x, (1, 2, 0, 1)), {"value": 7.0}),
        ((x, (-1, 2)), {}),
        ((x, (2, 1, 1, 2)), {"mode": "replicate"}),
        ((x, (2, 1, 1, 2)), {"mode": "reflect"}),
        ((x, (1, -1, -1, 2, 1, 0)), {"value": -1.0}),
    ]


def _resampled(h: Hard) -> Calls:
    x = h(np.arange(40).reshape(1, 2, 4, 5) * 7 % 11)
    made: Calls = [
        ((x,), {"size": (7, 3), "mode": m}) for m in ("nearest", "nearest-exact", "area")
    ]
    made += [
        ((x,), {"size": s, "mode": m, "align_corners": c})
        for s in ((7, 3), (2, 9), (1, 1))
        for m in ("bilinear", "bicubic")
        for c in (False, True)
    ]
    return [
        *made,
        ((x,), {"scale_factor": (1.5, 2.0), "mode": "bilinear", "align_corners": False}),
        ((x,), {"size": (2, 3), "mode": "bilinear", "align_corners": False, "antialias": True}),
    ]


def _gridded(h: Hard) -> Calls:
    """Places inside, at the border, half outside, far outside."""
    x = h(np.arange(40).reshape(1, 2, 4, 5) * 7 % 11)
    grid = h(
        np.array([[[-1, -1], [1, 1], [0.1, -0.3]], [[-1.2, 0.4], [0.7, 1.3], [2.4, -3.1]]])[None]
    )
    return [
        ((x, grid), {"mode": m, "padding_mode": p, "align_corners": c})
        for m in ("bilinear", "nearest", "bicubic")
        for p in ("zeros", "border", "reflection")
        for c in (False, True)
    ]


def _unfolded(h: Hard) -> Calls:
    x = _images(h, 2, 2)
    return [
        ((x, (3, 2)), k)
        for k in (
            {},
            {"stride": (2, 1)},
            {"padding": (1, 0)},
            {"dilation": (2, 1)},
            {"stride": 2, "padding": 1},
        )
    ]


_F = "nn.functional."
_TABLE: dict[str, Make] = {
    **dict.fromkeys(("hardsigmoid", "logsigmoid", "relu", "relu6", "selu", "sigmoid"), _infinite),
    **dict.fromkeys(("hardswish", "mish", "silu", "softsign", "tanhshrink"), _far),
    "celu": _with({"alpha": 0.5}, {"alpha": 3.0}), "elu": _with({"alpha": 0.5}, {"alpha": 3.0}),
    "gelu": _with({"approximate": "tanh"}, points=_far),
    "leaky_relu": _with(*({"negative_slope": slope} for slope in (0.5, 2.0, -1.0))),
    "hardshrink": _with({"lambd": 1.0}, {"lambd": 0.0}), "softshrink": _with({"lambd": 1.0}),
    "hardtanh": _with({"min_val": -3.0, "max_val": 0.5}), "threshold": _thresholds,
    "softplus": _with({"beta": 2.0}, {"beta": 0.5, "threshold": 1.0}),
    **dict.fromkeys(("softmax", "log_softmax", "softmin"), _logits),
    **{f"{name}{d}d": make(d) for d in (1, 2, 3) for name, make in {
        "max_pool": _max_pools, "avg_pool": _avg_pools, "lp_pool": _lp_pools,
        "adaptive_avg_pool": _adaptive, "adaptive_max_pool": _adaptive,
        "conv": _convolutions, "conv_transpose": _transposed}.items()},
    "layer_norm": _layer_norms, "rms_norm": _root_norms, "batch_norm": _batch_norms,
    "group_norm": _group_norms, "normalize": _normalized, "cosine_similarity": _similar,
    "pairwise_distance": _distant, "embedding": _embedded, "embedding_bag": _bags,
    "pad": _bordered, "interpolate": _resampled, "grid_sample": _gridded, "unfold": _unfolded,
}  # fmt: skip
TABLE: dict[str, Make] = {_F + name: make for name, make in _TABLE.items()}
