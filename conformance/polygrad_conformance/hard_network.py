"""Hard samples of attention, dropout, recurrent cells, rearrangements and losses with options."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]

_REDUCTIONS = ("none", "mean", "sum")


def _waves(h: Hard, *shape: int, shift: float = 0.0) -> Any:
    """Numbers between -1 and 1, none of them twice."""
    return h(np.sin(1.7 * np.arange(np.prod(shape, dtype=int)) + shift).reshape(shape))


# ---- attention -----------------------------------------------------------------------------------
def _attention(h: Hard) -> Calls:
    """Queries that see no key, unequal lengths, masks of each shape, alone and with each option."""
    q, k, v = _waves(h, 2, 2, 3, 4), _waves(h, 2, 2, 5, 4, shift=1), _waves(h, 2, 2, 5, 2, shift=2)
    seen = np.arange(15).reshape(3, 5) % 4 != 1
    blind = seen.copy()
    blind[1] = False
    added = h(np.where(blind, 0.5, -np.inf))
    masks: list[dict[str, Any]] = [
        {},
        {"attn_mask": seen},
        {"attn_mask": blind},
        {"attn_mask": added},
        {"attn_mask": np.stack([seen, blind])},
        {"attn_mask": np.stack([blind, seen])[:, None]},
        {"attn_mask": seen[:1]},
        {"is_causal": True},
    ]
    made: Calls = [
        ((q, k, v), {**mask, **more})
        for mask in masks
        for more in ({}, {"scale": 3.0}, {"dropout_p": 0.5})
    ]
    made += [((q[..., :2, :], k[..., :n, :], v[..., :n, :]), {"is_causal": True}) for n in (1, 2)]
    made += [
        ((q, k[:, :1], v[:, :1]), {"enable_gqa": True, **mask}) for mask in (masks[2], masks[-1])
    ]
    return [*made, ((1000 * q, k, v), {}), ((q, k, v), {"attn_mask": np.zeros((3, 5), bool)})]


# ---- random activations: the same numbers on every device --------------------------------------
def _dropped(*shape: int) -> Make:
    def make(h: Hard) -> Calls:
        x = _waves(h, *shape)
        return [((x, p), {"training": t}) for p in (0.25, 0.5) for t in (True, False)]

    return make


def _randomly_leaky(h: Hard) -> Calls:
    x = _waves(h, 4, 5)
    return [
        ((x, low, high), {"training": t})
        for low, high in ((0.1, 0.9), (-1.0, 2.0))
        for t in (True, False)
    ]


def _gumbel(h: Hard) -> Calls:
    x = _waves(h, 3, 4)
    return [
        ((x,), {"tau": tau, "hard": hard, "axis": axis})
        for tau in (0.5, 2.0)
        for hard in (False, True)
        for axis in (0, -1)
    ]


# ---- recurrent cells -----------------------------------------------------------------------------
def _cells(gates: int, *, states: int = 1) -> Make:
    """Saturated gates too, where exp overflows."""

    def make(h: Hard) -> Calls:
        n, m = 2, 3
        hidden = tuple(_waves(h, 4, n, shift=i) for i in range(states))
        state = hidden if states > 1 else hidden[0]
        w, u = _waves(h, gates * n, m, shift=3), _waves(h, gates * n, n, shift=4)
        b, c = _waves(h, gates * n, shift=5), _waves(h, gates * n, shift=6)
        x = _waves(h, 4, m)
        return [
            ((x, state, w, u, b, c), {}),
            ((x, state, w, u), {}),
            ((x, state, w, u), {"b_ih": b}),
            ((x, state, w, u), {"b_hh": c}),
            ((100 * x, state, w, u, b, c), {}),
        ]

    return make


# ---- rearrangements ------------------------------------------------------------------------------
def _shuffled(h: Hard) -> Calls:
    x = h(np.arange(72).reshape(2, 6, 2, 3) % 50)
    return [((x, g), {}) for g in (1, 2, 3, 6)] + [((x[:1, :, 0], 3), {})]


def _to_pixels(h: Hard) -> Calls:
    x = h(np.arange(2 * 18 * 2 * 3).reshape(2, 18, 2, 3) % 50)
    return [((x[:, :n], r), {}) for n, r in ((18, 3), (8, 2), (4, 2), (3, 1))]


def _from_pixels(h: Hard) -> Calls:
    x = h(np.arange(2 * 3 * 6 * 12).reshape(2, 3, 6, 12) % 50)
    return [((x, r), {}) for r in (1, 2, 3)] + [((x[0], 6), {})]


def _folded(h: Hard) -> Calls:
    x = h(np.arange(2 * 8 * 40).reshape(2, 8, 40) * 7 % 11 - 5)
    options: list[tuple[tuple[int, int], dict[str, Any]]] = [
        ((3, 4), {}),
        ((4, 3), {"stride": (2, 1)}),
        ((5, 4), {"stride": 2, "padding": (1, 0)}),
        ((5, 4), {"dilation": (2, 1)}),
        ((4, 5), {"dilation": (1, 2), "padding": (0, 1), "stride": (1, 2)}),
    ]

    def places(size: tuple[int, int], k: dict[str, Any]) -> int:
        steps, borders, gaps = (np.broadcast_to(k.get(name, d), 2) for name, d in (
            ("stride", 1), ("padding", 0), ("dilation", 1)))  # fmt: skip
        return int(np.prod((np.array(size) + 2 * borders - gaps - 1) // steps + 1))

    return [((x[..., : places(size, k)], size, 2), k) for size, k in options]


def _one_hot(h: Hard) -> Calls:
    x = h([[0, 2], [1, 0]])
    return [((x,), {}), ((x, 5), {}), ((x[0, 0],), {"num_classes": 3}), ((x[:0], 3), {})]


def _halved(h: Hard) -> Calls:
    x = h([[-1000, 3, -1, 1000], [1, 2, 0, -1]])
    return [((x,), {"axis": a}) for a in (0, 1, -1, -2)] + [((h.block,), {"axis": a}) for a in
                                                           (0, 2)]  # fmt: skip


def _by_channel(h: Hard) -> Calls:
    """As many channels as the last axis is long, and slopes beyond 1 and below 0."""
    x = h([[-2, 1, -0.5], [3, -1, 0], [-1, -1, 2]])
    cube = h(np.arange(27).reshape(3, 3, 3) - 20)
    w = h([0.25, 2, -1])
    return [((a, w), {}) for a in (x, cube)] + [((a, h([n])), {}) for a in (x, cube) for n in
                                                (0.5, 3, -2)]  # fmt: skip


def _response_norms(h: Hard) -> Calls:
    x = h(np.arange(40).reshape(2, 5, 4) % 7 - 3)
    return [
        ((x, size), {"alpha": a, "beta": b, "k": k})
        for size in (1, 2, 3, 7)
        for a, b, k in ((1e-4, 0.75, 1.0), (1.0, 0.5, 2.0))
    ]


def _instance_norms(h: Hard) -> Calls:
    x = h(np.arange(48).reshape(2, 3, 8) * 5 % 11 + 20)
    mean, var, w, b = h([20, 25, 30]), h([1, 4, 0.25]), h([1, -2, 0]), h([0, 1, 2])
    return [
        ((x,), {"weight": w, "bias": b}),
        ((x, mean, var), {"use_input_stats": False, "weight": w, "bias": b}),
        ((x, mean, var), {"use_input_stats": False, "eps": 0.5}),
        ((x,), {"weight": w, "eps": 0.5}),
    ]


def _unpooled(dims: int) -> Make:
    """Places that occur once, read from the back."""

    def make(h: Hard) -> Calls:
        shape = (2, 2, *(2,) * dims)
        x, size = h(np.arange(np.prod(shape)).reshape(shape) + 1), 4**dims
        places = (size - 1 - np.arange(2**dims) * (size // 2**dims)).reshape((2,) * dims)
        places = np.broadcast_to(places, shape).copy()
        return [((x, places, 2), {}), ((x, places, 2), {"output_size": (4,) * dims}),
                ((x, places // 2, 2), {"stride": 2, "output_size": (5,) * dims})]  # fmt: skip

    return make


def _fractional(dims: int) -> Make:
    def make(h: Hard) -> Calls:
        shape = (2, 2, *(7, 6, 5)[:dims])
        x = h(np.arange(np.prod(shape)).reshape(shape) * 7 % 97 - 50)
        if h.floats:
            x.reshape(-1)[3::17] = np.nan
        # No window begins on a whole number, where rounding decides.
        samples = [[[0.31, 0.77, 0.53][:dims], [0.62, 0.13, 0.91][:dims]]] * 2
        return [
            ((x, 2), {"_random_samples": samples, **k})
            for k in ({"output_size": 3}, {"output_ratio": 0.5}, {"output_size": (3, 2, 2)[:dims],
                      "return_indices": True})
        ]  # fmt: skip

    return make


# ---- losses --------------------------------------------------------------------------------------
def _ctc(h: Hard) -> Calls:
    """Repeated labels, targets that do not fit, blanks elsewhere, none at all."""
    logs = _waves(h, 6, 3, 4)
    logs = h(logs - np.log(np.exp(logs.astype(float)).sum(-1, keepdims=True)))
    targets = np.array([[1, 1, 2], [3, 2, 1], [2, 2, 2]])
    lengths: tuple[tuple[list[int], list[int]], ...] = (
        ([6, 5, 6], [3, 2, 3]), ([3, 2, 4], [3, 1, 3]), ([6, 6, 6], [0, 3, 1]),
    )  # fmt: skip
    return [
        ((logs, targets, *pair), {"blank": 0, "reduction": r, "zero_infinity": z})
        for pair in lengths
        for r, z in product(_REDUCTIONS, (False, True))
    ] + [((logs, targets - 1, *lengths[0]), {"blank": 3})]


def _cosine_losses(h: Hard) -> Calls:
    x, y = h.block[0] + h(1), h(np.arange(12).reshape(3, 4) % 5 - 2)
    return [
        ((x, y, h([1, -1, 1])), {"margin": m, "reduction": r})
        for m in (-0.5, 0.0, 0.5)
        for r in _REDUCTIONS
    ]


def _class_margins(h: Hard) -> Calls:
    x, y = h([[3, 1, 0], [0, 0, 0], [-1, 2, 4]]), np.array([0, 2, 1])
    return [
        ((x, y), {"p": p, "margin": m, "reduction": r, "weight": w})
        for p in (1, 2)
        for m in (0.5, 2.0)
        for r in _REDUCTIONS
        for w in (None, h([1, 0, 2]))
    ]


def _label_margins(h: Hard) -> Calls:
    x = h([[3, 1, 0, -1], [0, 0, 0, 0], [-1, 2, 4, 1]])
    y = np.array([[0, 3, -1, 1], [-1, 0, 1, 2], [3, 2, 1, 0]])
    return [((x, y), {"reduction": r}) for r in _REDUCTIONS]


def _label_entropies(h: Hard) -> Calls:
    x, y = h([[-1000, 0, 1000], [1, -1, 3]]), h([[1, 1, 0], [0, 1, 0]])
    return [
        ((x, y), {"reduction": r, "weight": w}) for r in _REDUCTIONS for w in (None, h([1, 0, 2]))
    ]


def _projected(h: Hard) -> Calls:
    x, w, y = _waves(h, 4, 2), _waves(h, 3, 2, shift=1), np.array([0, 2, 1, 2])
    return [
        ((x, w, y), {"reduction": r, **k})
        for r in _REDUCTIONS
        for k in ({}, {"weight": h([0.5, 2, 1])}, {"ignore_index": 2}, {"label_smoothing": 0.3},
                  {"linear_bias": h([1, -1, 0]), "label_smoothing": 0.1, "ignore_index": 1})
    ]  # fmt: skip


def _distances(h: Hard) -> Calls:
    x = h([[0, 1, 2], [0, 1, 2], [3, -1, 0], [1, 1, 1]])
    return [((x,), {"p": p}) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))]


def _bilinear(h: Hard) -> Calls:
    x, y, w = _waves(h, 4, 2), _waves(h, 4, 3, shift=1), _waves(h, 5, 2, 3, shift=2)
    return [((x, y, w), {}), ((x, y, w), {"bias": _waves(h, 5)}), ((x[None], y[None], w), {})]


def _grids(h: Hard) -> Calls:
    theta, cube = _waves(h, 2, 2, 3), _waves(h, 2, 3, 4)
    return [
        ((t, size), {"align_corners": c})
        for t, size in ((theta, (2, 1, 3, 4)), (theta, (2, 3, 1, 5)), (cube, (2, 1, 2, 3, 1)))
        for c in (False, True)
    ]


_TABLE: dict[str, Make] = {
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys(("dropout", "alpha_dropout", "dropout1d", "feature_alpha_dropout"),
                    _dropped(2, 3, 4)),
    "dropout2d": _dropped(2, 3, 4, 2), "dropout3d": _dropped(2, 3, 2, 2, 2),
    "rrelu": _randomly_leaky, "gumbel_softmax": _gumbel,
    **dict.fromkeys(("rnn_tanh_cell", "rnn_relu_cell"), _cells(1)), "gru_cell": _cells(3),
    "lstm_cell": _cells(4, states=2), "channel_shuffle": _shuffled, "pixel_shuffle": _to_pixels,
    "pixel_unshuffle": _from_pixels, "fold": _folded, "one_hot": _one_hot, "glu": _halved,
    "prelu": _by_channel, "local_response_norm": _response_norms, "instance_norm": _instance_norms,
    **{f"max_unpool{d}d": _unpooled(d) for d in (1, 2, 3)},
    **{f"fractional_max_pool{d}d": _fractional(d) for d in (2, 3)}, "ctc_loss": _ctc,
    "cosine_embedding_loss": _cosine_losses, "multi_margin_loss": _class_margins,
    "multilabel_margin_loss": _label_margins, "multilabel_soft_margin_loss": _label_entropies,
    "linear_cross_entropy": _projected, "pdist": _distances, "bilinear": _bilinear,
    "affine_grid": _grids,
}  # fmt: skip
TABLE: dict[str, Make] = {f"nn.functional.{name}": make for name, make in _TABLE.items()}
