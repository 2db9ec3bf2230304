"""Connectionist temporal classification: the likelihood of a sequence of unknown alignment.

Note [Lattice]
--------------
Graves, Fernández, Gomez, Schmidhuber, "Connectionist temporal classification", 2006. The labels,
with a blank before, between and after them, are the places s of a lattice. A path stays, goes on by
one place, or by two if that leaves out a blank between different labels; it ends at one of the last
two places. Its weight is the product of the probabilities of its places, and the likelihood is the
sum of the weights of all paths. In logarithms, from e_t(s), the logarithm of the probability of the
label of place s at step t,

- a_t(s) = e_t(s) + log(exp a_(t-1)(s) + exp a_(t-1)(s - 1) + exp a_(t-1)(s - 2)), forwards;
- b_t(s) = log(exp(b_(t+1)(s) + e_(t+1)(s)) + ... s + 1 ... + ... s + 2 ...), backwards;

and exp(a_t(s) + b_t(s)) over the likelihood is the probability that the path is at s at step t: the
derivative of the logarithm of the likelihood by e_t(s).

What cannot be has the logarithm -1e30, not -inf: so nothing is NaN, and the rule, written in
primitives, can be differentiated again. A likelihood below e^-1e29 is zero.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from polygrad.calls import describe
from polygrad.dtypes import INTEGER, float32
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
)
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.creation import as_floating, to_place
from polygrad.ops.elementwise import maximum
from polygrad.ops.indexing import index_tensor, take_along_axis
from polygrad.ops.loss import check_reduction, reduced
from polygrad.ops.manipulation import expand_dims, reshape
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor, new_tensor, on_host

_table = Chapter("ctc_loss", "nn.functional")

_NEVER, _ZERO = -1e30, -1e29
Host = np.ndarray[Any, Any]


# ---- in the language of rules: see Note [Lattice] ----------------------------------------------
def _log_sum(F: Any, a: Any, b: Any, c: Any) -> Any:
    most = F.maximum(F.maximum(a, b), c)
    return most + F.log(F.exp(a - most) + F.exp(b - most) + F.exp(c - most))


def _ahead(F: Any, a: Any, n: int, never: Any) -> Any:
    """a(s - n)."""
    n = min(n, a.shape[-1])
    kept = F.getitem(a, key=(Ellipsis, slice(0, a.shape[-1] - n)))
    return F.concat([F.getitem(never, key=(Ellipsis, slice(0, n))), kept], axis=-1)


def _behind(F: Any, a: Any, n: int, never: Any) -> Any:
    """a(s + n)."""
    n = min(n, a.shape[-1])
    kept = F.getitem(a, key=(Ellipsis, slice(n, None)))
    return F.concat([kept, F.getitem(never, key=(Ellipsis, slice(0, n)))], axis=-1)


def _forwards(F: Any, e: Any, start: Any, skip: Any, never: Any, here: Any) -> list[Any]:
    """a_t for every step; after its last step a sequence keeps its own."""
    a, found = start, []
    for t in range(e.shape[0]):
        two = _ahead(F, a, 2, never) + skip
        new = _log_sum(F, a, _ahead(F, a, 1, never), two) + _step(F, e, t)
        a = F.where(_step(F, here, t), new, a)
        found.append(a)
    return found


def _backwards(F: Any, e: Any, last: Any, skip: Any, never: Any, here: Any) -> list[Any]:
    """b_t for every step; from its last step on a sequence has what its end allows."""
    b, found = last, []
    for t in reversed(range(e.shape[0])):
        found.append(b)
        from_here = b + _step(F, e, t)
        two = _behind(F, from_here + skip, 2, never)
        new = _log_sum(F, from_here, _behind(F, from_here, 1, never), two)
        b = F.where(_step(F, here, t), new, b)
    return found[::-1]


def _step(F: Any, x: Any, t: int) -> Any:
    return F.getitem(x, key=(t, Ellipsis))


def _end(F: Any, last_a: Any, last: Any) -> Any:
    """The logarithm of the likelihood, with an axis of length 1 for the places."""
    x = last_a + last
    most = F.max(x, axis=-1, keepdims=True)
    return most + F.log(F.sum(F.exp(x - most), axis=-1, keepdims=True))


def _ctc(
    F: Any, e: Any, start: Any, skip: Any, last: Any, never: Any, here: Any, zero_infinity: bool
) -> Any:
    steps = _forwards(F, e, start, skip, never, here)
    total = F.squeeze(_end(F, steps[-1] if steps else start, last), axis=-1)
    return F.where(total < _ZERO, 0.0 if zero_infinity else math.inf, -total)


def _ctc_rule(
    g: Any, F: Any, e: Any, start: Any, skip: Any, last: Any, never: Any, here: Any,
    zero_infinity: bool,
) -> Any:  # fmt: skip
    """Minus the probability of each place at each step; NaN of a loss that is infinite."""
    if not e.shape[0]:
        return g * e
    a = _forwards(F, e, start, skip, never, here)
    b = _backwards(F, e, last, skip, never, here)
    total = _end(F, a[-1], last)
    g = F.expand_dims(g, axis=-1)
    impossible = total < _ZERO
    undefined = 0.0 if zero_infinity else math.nan
    g = F.where(impossible & (g != 0), undefined, g)
    # The exponent is never above 0 but by rounding; where a likelihood is zero it means nothing.
    exponent = F.minimum(F.stack(a, axis=0) + F.stack(b, axis=0) - total, 1.0)
    return -F.where(here, F.exp(exponent) * g, 0.0)


_ctc_primitive = Primitive(
    "ctc_loss", ("e", "start", "skip", "last", "never", "here"), {"e": _ctc_rule},
    forward=_ctc, keywords={"zero_infinity": False},
    promotes=("e", "start", "skip", "last", "never"), floating=True,
)  # fmt: skip


# ---- on the host --------------------------------------------------------------------------------
class _Lattice(NamedTuple):
    """The labels of the places (batch, places), and what Note [Lattice] allows."""

    labels: Host
    skip: Host
    last: Host


def _lattice(rows: list[Host], blank: int) -> _Lattice:
    places = 2 * max((len(r) for r in rows), default=0) + 1
    labels = np.full((len(rows), places), blank, np.int64)
    last = np.full(labels.shape, _NEVER)
    for n, row in enumerate(rows):
        labels[n, 1 : 2 * len(row) : 2] = row
        last[n, max(2 * len(row) - 1, 0) : 2 * len(row) + 1] = 0
    skip = np.full(labels.shape, _NEVER)
    skip[:, 2:][(labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])] = 0
    return _Lattice(labels, skip, last)


def _integers(values: Any, name: str) -> Host:
    """An integer tensor, array, sequence or int on the host."""
    where_ = f"ctc_loss, argument {name}"
    if isinstance(values, (tuple, list, int)):
        host = np.asarray(values, None if np.size(values) else np.int64)
    else:
        t = as_tensor(values, where_)
        if t.kernels.kind != INTEGER:
            raise DtypeError(f"{name} of dtype {t.dtype}", where_, "pass integers")
        host = on_host(t)
    if host.dtype.kind not in "iu":
        raise InvalidTypeError(f"{values!r} are no integers", where_, "pass integers")
    return host


def _lengths(values: Any, name: str, batch: int, single: bool, most: int) -> Host:
    """One length for each sequence, none negative or above `most`."""
    host = _integers(values, name)
    if host.shape != (batch,) and not (single and host.shape == ()):
        raise ShapeError(
            f"lengths of shape {host.shape} for {batch} sequences", f"ctc_loss, argument {name}",
            "pass one length for each sequence",
        )  # fmt: skip
    host = host.reshape(-1)
    wrong = host[(host < 0) | (host > most)]
    if wrong.size:
        raise OutOfRangeError(
            f"a length of {int(wrong[0])}", f"ctc_loss, argument {name}",
            f"lengths go from 0 to {most}",
        )  # fmt: skip
    return host


def _rows(targets: Any, x: Tensor, lengths: Any, single: bool, blank: int) -> list[Host]:
    """The labels of each sequence."""
    host, (_, batch, classes) = _integers(targets, "targets"), x.shape
    if host.ndim == 2 and host.shape[0] == batch and not single:
        sizes = _lengths(lengths, "target_lengths", batch, single, host.shape[1])
        rows = [row[:n] for row, n in zip(host, sizes, strict=True)]
    elif host.ndim == 1:
        sizes = _lengths(lengths, "target_lengths", batch, single, host.shape[0])
        if sizes.sum() != host.size and not single:
            raise ShapeError(
                f"{host.size} targets for target_lengths whose sum is {sizes.sum()}",
                "ctc_loss, argument targets", "pass them one after the other, or padded in rows",
            )  # fmt: skip
        ends = np.cumsum(sizes)
        rows = [host[e - n : e] for e, n in zip(ends, sizes, strict=True)]
    else:
        raise ShapeError(
            f"targets of shape {host.shape}", f"ctc_loss{describe([x])}, argument targets",
            "pass (batch, length), or one sequence after the other in one axis",
        )  # fmt: skip
    every = np.concatenate([*rows, np.zeros(0, host.dtype)])
    wrong = every[(every < 0) | (every >= classes) | (every == blank)]
    if wrong.size:
        raise OutOfRangeError(
            f"the target {int(wrong[0])} is no label", "ctc_loss, argument targets",
            f"labels go from 0 to {classes - 1}, and are not the blank, {blank}",
        )  # fmt: skip
    return rows


def _beside(host: Host, x: Tensor) -> Tensor:
    """An array of the host in the dtype of x, or of booleans, on its device."""
    backend = x.kernels.backend
    host = host if host.dtype.kind == "b" else host.astype(x.dtype)
    array = backend.from_numpy(host, x.device)
    return new_tensor(array, backend.kernels_of(array))


# ---- what users call ----------------------------------------------------------------------------
def _samples(s: Any) -> Any:
    labels = np.asarray([[1, 2, 2], [3, 1, 1]])
    return [
        ((s.real(5, 2, 4), labels, (5, 4), (3, 2)), {}),
        ((s.real(5, 2, 4), np.asarray([1, 2, 2, 3]), (5, 3), (3, 1)), {"reduction": "none"}),
        ((s.real(4, 2, 4), labels - 1, (4, 4), (2, 0)), {"blank": 3, "reduction": "sum"}),
        ((s.real(3, 2, 4), labels, (3, 3), (3, 2)), {"zero_infinity": True}),
        ((s.real(3, 3), np.asarray([1, 2]), 3, 2), {}),
        ((s.real(3, 0, 3), np.asarray([], np.int64), (), ()), {"reduction": "sum"}),
    ]  # fmt: skip


@_table.public(samples=_samples)
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0,
    reduction: str = "mean", zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """Minus the logarithm of the likelihood of labels whose places in time are not known.

    Parameters
    ----------
    log_probs
        Logarithms of the probabilities of the labels at each step, as `log_softmax` gives them:
        (steps, batch, labels), or (steps, labels).
    targets
        The labels, integers, none of them the blank: (batch, length), of which as many count as
        `target_lengths` says; or those of one sequence after the other, in one axis.
    input_lengths, target_lengths
        How many steps and labels each sequence has: integers (batch,), or one number.
    blank
        Which label stands for none.
    reduction
        `mean`: of the losses over their target lengths (over 1, if that is 0); `sum`; or `none` for
        the loss of each sequence.
    zero_infinity
        Make an infinite loss, of labels that do not fit into the steps, and its gradient zero.

    Returns
    -------
    Tensor
        0-d, or (batch,).

    Raises
    ------
    ShapeError, DtypeError, InvalidTypeError, OutOfRangeError, InvalidArgumentError
        Shapes do not fit; targets or lengths are no integers; a target, a length or the blank is
        out of range; the reduction is unknown.

    Notes
    -----
    Derivative: minus the probability that the path is at a label at a step, given the targets; NaN
    for the labels of an infinite loss. See Note [Lattice] of `polygrad.ops.ctc_loss`.

    Examples
    --------
    >>> import polygrad as pg
    >>> half = pg.log(pg.full((2, 1, 2), 0.5))
    >>> pg.exp(-pg.nn.functional.ctc_loss(half, pg.tensor([[1]]), (2,), (1,)))
    tensor(0.75, dtype=float32)
    """
    check_reduction(reduction, "ctc_loss")
    x = as_tensor(log_probs, "ctc_loss, argument log_probs")
    if x.ndim not in (2, 3):
        raise ShapeError(
            f"log_probs of shape {x.shape}", f"ctc_loss{describe([x])}",
            "its axes are (steps, batch, labels), or (steps, labels)",
        )  # fmt: skip
    single = x.ndim == 2
    x = as_floating(x)
    x = expand_dims(x, axis=1) if single else x
    steps, batch, classes = x.shape
    if not 0 <= blank < classes:
        raise InvalidArgumentError(
            f"blank={blank} is no label", "ctc_loss, argument blank",
            f"labels go from 0 to {classes - 1}",
        )  # fmt: skip
    rows = _rows(targets, x, target_lengths, single, blank)
    sizes = _lengths(input_lengths, "input_lengths", batch, single, steps)
    loss = _losses(x, _lattice(rows, blank), sizes, zero_infinity)
    if reduction == "mean":
        loss = loss / _beside(np.asarray([max(len(r), 1) for r in rows]), loss)
    return reshape(loss, ()) if single and reduction == "none" else reduced(loss, reduction)


def _losses(x: Tensor, lattice: _Lattice, sizes: Host, zero_infinity: bool) -> Tensor:
    """The loss of each sequence; 16-bit floats are computed in float32."""
    dtype = x.dtype
    x = to_place(x, float32) if dtype.itemsize < 4 else x
    start = np.full(lattice.last.shape, _NEVER)
    start[:, :1] = 0
    never = np.full((len(sizes), 2), _NEVER)
    here = (np.arange(x.shape[0])[:, None] < sizes)[..., None]
    e = take_along_axis(x, index_tensor(lattice.labels[None], x), axis=-1)
    allowed = (_beside(a, x) for a in (start, lattice.skip, lattice.last, never))
    loss: Tensor = _ctc_primitive.call(
        maximum(e, _NEVER), *allowed, _beside(here, x), zero_infinity=bool(zero_infinity)
    )
    return to_place(loss, dtype)
