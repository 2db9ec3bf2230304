"""Independent faults of activations, normalizations, attention and recurrent cells."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    function,
    kernel,
    only,
)

__all__ = ["FAULTS"]
_F = pg.nn.functional
_NAN = float("nan")


def _undefined_direction(right: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return right(x, *args, **{**kwargs, "eps": 0.0} if len(args) < 3 else kwargs)


def _naive_softmax(right: Any, x: Any, axis: int = -1) -> Any:
    e = np.exp(x)
    return e / e.sum(axis, keepdims=True)


def _per_last_axis(right: Any, x: Any, weight: Any) -> Any:
    if weight.size > 1 and x.ndim > 2 and x.shape[-1] == weight.size:
        return pg.where(x > 0, x, x * weight)
    return right(x, weight)


def _eps_outside(
    right: Any, x: Any, shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    axes = tuple(range(-len(shape) if not isinstance(shape, int) else -1, 0))
    h = (x - pg.mean(x, axes, keepdims=True)) / (pg.std(x, axes, keepdims=True) + eps)
    h = h if weight is None else h * weight
    return h if bias is None else h + bias


def _last_axis_only(right: Any, x: Any, shape: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(shape, int) or len(shape) < 2 or args or kwargs.get("weight") is not None:
        return right(x, shape, *args, **kwargs)
    return right(x, shape[-1:], **{k: v for k, v in kwargs.items() if k == "eps"})


def _every_nth(right: Any, x: Any, groups: int, *args: Any, **kwargs: Any) -> Any:
    c = x.shape[1]
    order = np.arange(c).reshape(-1, groups).T.reshape(-1)
    there, back = (pg.tensor(o, device=x.device) for o in (order, np.argsort(order)))
    if args or kwargs.get("weight") is not None:
        return right(x, groups, *args, **kwargs)
    return pg.take(right(pg.take(x, there, axis=1), groups, **kwargs), back, axis=1)


def _bottom_right(right: Any, q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
    rows, columns = q.shape[-2], k.shape[-2]
    if not kwargs.get("is_causal") or rows == columns or args:
        return right(q, k, v, *args, **kwargs)
    mask = np.tril(np.ones((rows, columns), bool), columns - rows)
    kwargs.update(is_causal=False, attn_mask=pg.tensor(mask, device=q.device))
    return right(q, k, v, **kwargs)


def _blind_rows(
    right: Any, q: Any, k: Any, v: Any, attn_mask: Any = None, *a: Any, **o: Any
) -> Any:
    out = right(q, k, v, attn_mask, *a, **o)
    if attn_mask is None or attn_mask.dtype != bool:
        return out
    sees = pg.any(attn_mask, axis=-1, keepdims=True)
    return pg.where(sees, out, pg.full_like(out, _NAN))


def _reset_before(
    right: Any, x: Any, h: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    n = h.shape[-1]
    i = pg.matmul(x, w_ih.T) + (0 if b_ih is None else b_ih)
    j = pg.matmul(h, w_hh.T) + (0 if b_hh is None else b_hh)
    r, z = (_F.sigmoid(i[..., s] + j[..., s]) for s in (slice(0, n), slice(n, 2 * n)))
    last = pg.matmul(r * h, w_hh[2 * n :].T) + (0 if b_hh is None else b_hh[2 * n :])
    new = pg.tanh(i[..., 2 * n :] + last)
    return (1 - z) * new + z * h


def _gates_of_another(
    right: Any, x: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any = None, b_hh: Any = None
) -> Any:
    def turned(w: Any) -> Any:
        n = w.shape[0] // 4
        return pg.concat((w[: 2 * n], w[3 * n :], w[2 * n : 3 * n]))

    given = [None if b is None else turned(b) for b in (b_ih, b_hh)]
    return right(x, hx, turned(w_ih), turned(w_hh), *given)


def _empty_bags(right: Any, x: Any, weight: Any, offsets: Any = None, *a: Any, **k: Any) -> Any:
    out = right(x, weight, offsets, *a, **k)
    if offsets is None or k.get("mode", "mean") != "mean":
        return out
    starts = offsets.numpy() if isinstance(offsets, pg.Tensor) else np.asarray(offsets)
    ends = np.append(starts, len(x))[: out.shape[0] + 1]
    empty = pg.tensor((np.diff(ends) == 0)[:, None], device=out.device)
    return pg.where(empty, pg.full_like(out, _NAN), out)


def _attend(at: Place, keys: int = 3, **options: Any) -> Any:
    q, k = np.arange(4.0).reshape(1, 2, 2) / 4, np.arange(2.0 * keys).reshape(1, keys, 2) / 5
    return at.run("nn.functional.scaled_dot_product_attention", at(q), at(k), at(k), **options)


def _dropped(at: Place) -> Any:
    pg.random.manual_seed(1)
    return at.run("nn.functional.dropout", at(np.ones(8)), 0.5)


def _f(
    chapter: str, op: str, name: str, precedent: str, wrong: Any, shown: Any
) -> IndependentFault:
    return function(chapter, f"nn.functional.{op}", name, precedent, wrong, shown)


_GRU = [
    np.sin(3.0 * np.arange(n)).reshape(s)
    for n, s in ((2, (1, 2)), (2, (1, 2)), (12, (6, 2)), (12, (6, 2)))
]
_LSTM = [np.linspace(-1, 1, 16).reshape(8, 2)] * 2


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "softmax-without-maximum": kernel(
        "softmax", "softmax", "softmax does not subtract the maximum", "textbook formulas",
        only("f", _naive_softmax), lambda at: at.run("nn.functional.softmax", at([1000.0, 1.0])),
    ),
    "log-softmax-is-a-logarithm": kernel(
        "softmax", "log_softmax", "log_softmax is log(softmax): -inf far from the maximum",
        "textbook formulas",
        only("f", lambda right, x, axis=-1: np.log(np.exp(right(x, axis=axis)))),
        lambda at: at.run("nn.functional.log_softmax", at([0.0, -200.0])),
    ),
    "relu-of-nan": kernel(
        "activation", "relu", "relu(NaN) is 0", "fmax of GPUs",
        only("f", lambda right, x: np.fmax(x, 0)),
        lambda at: at.run("nn.functional.relu", at([_NAN, -1.0])),
    ),
    "gelu-by-tanh": kernel(
        "activation", "gelu", "gelu is its tanh approximation by default", "JAX's default",
        only("f", lambda right, x, **k: (0.5 * x * (1 + np.tanh(
            0.7978845608028654 * (x + 0.044715 * x * x * x)))).astype(x.dtype)),
        lambda at: at.run("nn.functional.gelu", at([1.0, 2.0])),
    ),
    "softplus-overflows": kernel(
        "activation", "softplus", "softplus is log(1 + exp(x)): infinite for large x",
        "textbook formulas", only("f", lambda right, x: np.log(1 + np.exp(x))),
        lambda at: at.run("nn.functional.softplus", at([1000.0, 1.0])),
    ),
    "celu-is-elu": _f(
        "activation", "celu", "alpha does not divide within the exponential", "elu's code",
        lambda right, x, alpha=1.0, **k: _F.elu(x, alpha),
        lambda at: at.run("nn.functional.celu", at([-1.0]), 2.0),
    ),
    "leaky-relu-of-steep-slopes": kernel(
        "activation", "leaky_relu", "leaky_relu is max(x, slope * x): wrong for slopes above 1",
        "textbook formulas", lambda right, x, *a, **k: np.maximum(
            x, x * (a[0] if a else k["slope"])),
        lambda at: at.run("nn.functional.leaky_relu", at([-1.0, 1.0]), 2.0),
    ),
    "prelu-of-the-last-axis": _f(
        "activation", "prelu", "weights belong to the last axis, not to axis 1", "NHWC",
        _per_last_axis, lambda at: at.run("nn.functional.prelu", at(-np.ones((1, 2, 2))),
                                          at([1.0, 2.0])),
    ),
    "layer-norm-eps-outside": _f(
        "normalization", "layer_norm", "eps is added to the standard deviation",
        "early implementations of transformers", _eps_outside,
        lambda at: at.run("nn.functional.layer_norm", at([1.0, 1.001, 1.002]), (3,)),
    ),
    "layer-norm-of-the-last-axis": _f(
        "normalization", "layer_norm", "of several axes only the last is normalised",
        "kernels of rows", _last_axis_only,
        lambda at: at.run("nn.functional.layer_norm", at([[1.0, 2.0], [3.0, 9.0]]), (2, 2)),
    ),
    "rms-norm-default-eps": _f(
        "normalization", "rms_norm", "eps is 1e-5 by default, not the dtype's",
        "other libraries' default", lambda right, x, shape, weight=None, eps=None: right(
            x, shape, weight, 1e-5 if eps is None else eps),
        lambda at: at.run("nn.functional.rms_norm", at([1e-3, 2e-3]), (2,)),
    ),
    "group-norm-of-every-nth": _f(
        "normalization", "group_norm", "a group is every n-th channel", "reshape in another order",
        _every_nth, lambda at: at.run("nn.functional.group_norm",
                                      at([[[1.0], [2.0], [5.0], [9.0]]]), 2),
    ),
    "batch-norm-momentum-of-keras": _f(
        "normalization", "batch_norm", "momentum is the share of the old statistics", "Keras",
        lambda right, *a, momentum=0.1, **k: right(*a, momentum=1 - momentum, **k),
        lambda at: [m := at([0.0]), at.run("nn.functional.batch_norm", at([[1.0], [3.0]]), m,
                                           at([1.0]), training=True), m + 0][2],
    ),
    "dropout-unscaled": kernel(
        "dropout", "dropout", "what dropout keeps is not divided by 1 - p",
        "scaling at evaluation, as in the paper",
        lambda right, x, mask, scale=1.0: right(x, mask, scale=1.0), _dropped,
    ),
    "normalize-of-zeros": _f(
        "similarity", "normalize", "a zero vector becomes NaN: eps is added to nothing",
        "division by the norm", _undefined_direction,
        lambda at: at.run("nn.functional.normalize", at([[0.0, 0.0], [3.0, 4.0]])),
    ),
    "response-norm-by-sum": _f(
        "similarity", "local_response_norm", "alpha is not divided by the size",
        "TensorFlow's definition", lambda right, x, size, alpha=1e-4, **k: right(
            x, size, alpha * size, **k),
        lambda at: at.run("nn.functional.local_response_norm", at(np.ones((1, 3, 2))), 2,
                          alpha=1.0),
    ),
    "embedding-bag-of-nothing": _f(
        "embedding", "embedding_bag", "the mean of an empty bag is NaN", "0 / 0", _empty_bags,
        lambda at: at.run("nn.functional.embedding_bag", at([0, 1], "int64"),
                          at([[1.0], [2.0]]), at([0, 0], "int64")),
    ),
    "attention-causal-from-the-end": _f(
        "attention", "scaled_dot_product_attention",
        "the causal mask of unequal lengths is aligned at the end", "https://github.com/ml-explore/mlx/issues/2835",
        _bottom_right, lambda at: _attend(at, is_causal=True),
    ),
    "attention-of-blind-rows": _f(
        "attention", "scaled_dot_product_attention", "a query that sees no key gets NaN",
        "softmax of -inf only", _blind_rows, lambda at: _attend(
            at, attn_mask=at([[False] * 3, [True] * 3], "bool")),
    ),
    "attention-scale-and-causal": _f(
        "attention", "scaled_dot_product_attention", "scale is ignored with is_causal",
        "fused kernels", lambda right, *a, scale=None, **k: right(
            *a, scale=None if k.get("is_causal") else scale, **k),
        lambda at: _attend(at, 2, is_causal=True, scale=3.0),
    ),
    "gru-reset-before": _f(
        "recurrent cells", "gru_cell", "the reset gate acts before the product, as in the paper",
        "Keras' reset_after=False", _reset_before,
        lambda at: at.run("nn.functional.gru_cell", *map(at, _GRU)),
    ),
    "lstm-order-of-gates": _f(
        "recurrent cells", "lstm_cell", "the last two gates are swapped", "i, f, o, g of Chainer",
        _gates_of_another, lambda at: at.run(
            "nn.functional.lstm_cell", at([[1.0, 2.0]]), (at([[0.5, 0.1]]), at([[0.2, 0.3]])),
            *map(at, _LSTM)),
    ),
}
# fmt: on
