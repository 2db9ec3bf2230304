"""Attention: means of values, weighted by how well keys fit queries.

Note [Attention]
----------------
With S = scale Q K^T + bias, -inf where a mask hides a key, W = softmax(S) along the keys, and W'
what dropout makes of W, the result is Y = W' V. Of the cotangent G of Y, and H of W, the cotangents
are

    V: W'^T G,    W: D = dropout(G V^T) + H,    S: T = W (D - sum(D W)),
    Q: scale T K,    K: scale T^T Q,    bias: T,

where sum(D W) over the keys is sum(G Y) over the features if there is no H. A query that sees no
key at all has weights 0, not NaN, and so has the result.

Source: Vaswani et al., "Attention is all you need" (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from polygrad.calls import describe
from polygrad.dtypes import BOOL, REAL, float32
from polygrad.errors import DtypeError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import broadcasts
from polygrad.kernels import declare_forward
from polygrad.ops._axes import as_tensor
from polygrad.ops.dropout import check_probability, draw_mask
from polygrad.ops.manipulation import broadcast_shapes, expand_dims, reshape
from polygrad.ops.rearrangement import repeat
from polygrad.primitive import Composite, JointPrimitive
from polygrad.tensor import Tensor

__all__ = ["attend"]

_table = Chapter("attention", "nn.functional")
_INF = math.inf


# ---- the primitive: see Note [Attention] ---------------------------------------------------------
def _lower(F: Any, rows: int, columns: int) -> Any:
    """True on and below the diagonal."""
    place = {"device": F.native_device}
    return F.xp.arange(rows, **place)[:, None] >= F.xp.arange(columns, **place)[None, :]


def _weights(F: Any, scores: Any) -> Any:
    """Softmax along the last axis, 0 where all is -inf; written into arrays of its own."""
    if not scores.shape[-1]:
        return scores
    here = F.of(scores)
    wide = here.with_dtype(float32) if here.dtype.itemsize == 2 else here
    scores = wide.cast(scores)
    top = wide.max(scores, axis=-1, keepdims=True)
    scores = wide.xp.exp(scores - wide.where(top == -_INF, 0, top))
    total = wide.sum(scores, axis=-1, keepdims=True)
    scores /= wide.where(total == 0, 1, total)
    return here.cast(scores)


declare_forward("attention_weights", _weights)
declare_forward(  # a backend may lay it out in memory as the query
    "attention_result", lambda F, weights, value, query: F.matmul(weights, value)
)


def _attention(
    F: Any, query: Any, key: Any, value: Any, bias: Any, mask: Any, kept: Any, scale: float,
    causal: bool, keep_scale: float,
) -> tuple[Any, Any]:  # fmt: skip
    """The result and the weights before dropout."""
    scores = F.matmul(query * scale, F.matrix_transpose(key))
    if bias is not None:
        scores = scores + bias
    if causal:
        lower = _lower(F, scores.shape[-2], scores.shape[-1])
        mask = lower if mask is None else mask & lower
    if mask is not None:
        scores = F.where(mask, scores, -_INF)
    with F.backend.quiet():
        weights = F.attention_weights(scores)
    used = weights if kept is None else F.dropout(weights, kept, scale=keep_scale)
    return F.attention_result(used, value, query), weights


def _attention_rule(
    g: Any, F: Any, query: Any, key: Any, value: Any, kept: Any, out: Any, scale: float,
    keep_scale: float, wanted: Sequence[bool],
) -> tuple[Any, ...]:  # fmt: skip
    (gy, gw), (y, weights) = g, out
    gv: Any = None
    d: Any = None
    slope: Any = None
    if gy is not None:
        used = weights if kept is None else F.dropout(weights, kept, scale=keep_scale)
        if wanted[2]:
            gv = F.matmul(F.matrix_transpose(used), gy)
        d = F.matmul(gy, F.matrix_transpose(value))
        if kept is not None:
            d = F.dropout(d, kept, scale=keep_scale)
        if gw is None:
            slope = F.sum(gy * y, axis=(-1,), keepdims=True)
    if gw is not None:
        d = gw if d is None else d + gw
        slope = F.sum(d * weights, axis=(-1,), keepdims=True)
    t = F.attention_scores_adjoint(weights, d, slope)
    gq = F.matmul(t, key) * scale if wanted[0] else None
    gk = F.matmul(F.matrix_transpose(t), query) * scale if wanted[1] else None
    return gq, gk, gv, t, None, None


Composite("attention_scores_adjoint", ("weights", "d", "slope"),
          lambda F, weights, d, slope: weights * (d - slope))  # fmt: skip
attention = JointPrimitive(
    "attention", ("query", "key", "value", "bias", "mask", "kept"), _attention_rule,
    forward=_attention, outputs=2, promotes=("query", "key", "value", "bias"), floating=True,
    keywords={"scale": 1.0, "causal": False, "keep_scale": 1.0},
)  # fmt: skip


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    dropout_p: float = 0.0,
    causal: bool = False,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """The result, the weights before dropout, and which of them dropout kept; shapes fit."""
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    kept = None
    if dropout_p:
        stacks = [t.shape[:-2] for t in (query, key, bias, mask) if t is not None]
        shape = (*broadcast_shapes(*stacks), query.shape[-2], key.shape[-2])
        kept = draw_mask(query, dropout_p, shape)
    keep_scale = 1 / (1 - dropout_p) if dropout_p < 1 else 0.0
    out, weights = attention.call(
        query, key, value, bias, mask, kept, scale=scale, causal=causal, keep_scale=keep_scale
    )
    return out, weights, kept


# ---- what users call -----------------------------------------------------------------------------
def split_mask(mask: Any, where: str) -> tuple[Tensor | None, Tensor | None]:
    """A mask as (what is added to the scores, which keys are seen), one of them None.

    Raises
    ------
    DtypeError
        It is neither boolean nor real.
    """
    if mask is None:
        return None, None
    t = as_tensor(mask, where)
    if t.kernels.kind not in (BOOL, REAL):
        raise DtypeError(
            f"a mask of dtype {t.dtype}", where, "pass a boolean mask, or real numbers to add"
        )
    return (None, t) if t.kernels.kind == BOOL else (t, None)


def _check(q: Tensor, k: Tensor, v: Tensor, stack: int) -> None:
    """Refuse shapes that do not fit; `stack` is where the axes end that must broadcast."""
    where = f"scaled_dot_product_attention{describe([q, k, v])}"
    few = min(q.ndim, k.ndim, v.ndim) < -stack
    if few or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        heads = "" if stack == -2 else "heads, "
        raise ShapeError(
            f"a query of shape {q.shape}, a key of shape {k.shape}, a value of shape {v.shape}",
            where,
            f"they are (..., {heads}queries, n), (..., {heads}keys, n) and (..., {heads}keys, m)",
        )  # fmt: skip
    stacks = [t.shape[:stack] for t in (q, k, v)]
    if not all(broadcasts(a, b) for a in stacks for b in stacks):
        raise ShapeError(
            f"leading axes {stacks[0]} of the query, {stacks[1]} of the key, {stacks[2]} of the "
            "value", where,
            "they broadcast: lengths are equal or 1, aligned from the right; heads may be fewer in "
            "key and value with enable_gqa=True",
        )  # fmt: skip


def _check_mask(mask: Tensor | None, q: Tensor, k: Tensor) -> None:
    """Refuse a mask that does not broadcast to the weights."""
    goal = (*q.shape[:-1], k.shape[-2])
    if mask is not None and not broadcasts(mask.shape, goal):
        raise ShapeError(
            f"a mask of shape {mask.shape} for weights of shape {goal}",
            f"scaled_dot_product_attention, argument attn_mask{describe([q, k])}",
            "it broadcasts to (..., queries, keys)",
        )  # fmt: skip


def _group(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, tuple[int, int]]:
    """Keys and values of one number of heads, and (heads, queries' heads to each of them)."""
    heads = [t.shape[-3] for t in (q, k, v)]
    if not all(heads) or heads[0] % heads[1] or heads[0] % heads[2]:
        raise ShapeError(
            f"{heads[0]} heads of queries, {heads[1]} of keys, {heads[2]} of values",
            "scaled_dot_product_attention, argument enable_gqa",
            "the heads, axis -3, of queries are a multiple of those of keys and of values",
        )  # fmt: skip
    if heads[1] != heads[2]:
        k, v = (repeat(t, heads[0] // t.shape[-3], axis=t.ndim - 3) for t in (k, v))
    return k, v, (k.shape[-3], heads[0] // k.shape[-3])


def _split(t: Tensor | None, group: tuple[int, int]) -> Tensor | None:
    """The axis of heads as two; one of length 1 as two of length 1."""
    if t is None or t.ndim < 3:
        return t
    return reshape(t, (*t.shape[:-3], *(group if t.shape[-3] != 1 else (1, 1)), *t.shape[-2:]))


@_table.public(samples=lambda s: [
    ((s.real(2, 3), s.real(4, 3), s.real(4, 2)), {}),
    ((s.real(2, 3, 4, 2), s.real(2, 3, 4, 2), s.real(2, 3, 4, 3)),
     {"is_causal": True, "scale": 0.3}),
    ((s.real(2, 3, 2), s.real(2, 4, 2), s.real(2, 4, 2)), {"attn_mask": s.bools(2, 3, 4)}),
    ((s.real(2, 2, 2), s.real(1, 3, 2), s.real(3, 2)), {"attn_mask": s.real(2, 1)}),
    ((s.real(4, 2, 2), s.real(2, 3, 2), s.real(2, 3, 1)),
     {"enable_gqa": True, "attn_mask": s.real(4, 2, 3)}),
    ((s.real(1, 4, 2, 2), s.real(1, 1, 3, 2), s.real(1, 2, 3, 1)), {"enable_gqa": True}),
    ((s.real(2, 3), s.real(2, 3), s.real(2, 1)), {"dropout_p": 1.0}),
    ((s.real(2, 3), s.real(0, 3), s.real(0, 2)), {}),
    ((s.real(0, 2, 3), s.real(0, 2, 3), s.real(0, 2, 3)), {}),
])  # fmt: skip
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale Q K^T) V: for each query a mean of the values whose keys fit it.

    Parameters
    ----------
    query, key, value
        Q, K and V: (..., queries, n), (..., keys, n) and (..., keys, m); leading axes broadcast.
    attn_mask
        Broadcasts to (..., queries, keys): boolean, True where a query may see a key; or real
        numbers, added to the scores.
    dropout_p
        The probability with which a weight becomes zero, whether in training or not.
    is_causal
        Query i sees keys 0 to i only; together with a mask, those of them that it lets through.
    scale
        One over the root of n, if not given.
    enable_gqa
        Queries may have a multiple of the heads, axis -3, of keys and of values; neighbours share.

    Returns
    -------
    Tensor
        (..., queries, m). Zeros for a query that sees no key.

    Raises
    ------
    ShapeError, DtypeError, InvalidArgumentError
        Shapes do not fit; the mask is neither boolean nor real; dropout_p is not in [0, 1].

    Examples
    --------
    >>> import polygrad as pg
    >>> q, k, v = pg.zeros((1, 2)), pg.ones((2, 2)), pg.tensor([[1.0], [3.0]])
    >>> pg.nn.functional.scaled_dot_product_attention(q, k, v)
    tensor([[2.]], dtype=float32)
    """
    where = "scaled_dot_product_attention"
    q = check_probability(query, dropout_p, where)
    k, v = as_tensor(key, f"{where}, argument key"), as_tensor(value, f"{where}, argument value")
    bias, mask = split_mask(attn_mask, f"{where}, argument attn_mask")
    _check(q, k, v, -3 if enable_gqa else -2)
    _check_mask(bias if mask is None else mask, q, k)
    options: dict[str, Any] = {"dropout_p": dropout_p, "causal": is_causal, "scale": scale}
    if not enable_gqa:
        return attend(q, k, v, bias=bias, mask=mask, **options)[0]
    k, v, group = _group(q, k, v)
    q = reshape(q, (*q.shape[:-3], *group, *q.shape[-2:]))
    k, v = expand_dims(k, axis=-3), expand_dims(v, axis=-3)
    out = attend(q, k, v, bias=_split(bias, group), mask=_split(mask, group), **options)[0]
    return reshape(out, (*out.shape[:-4], group[0] * group[1], *out.shape[-2:]))
