"""Update rules that look at more than one element: of a matrix, of a parameter, of all of them.

As those of `polygrad.optim.rules`: pure functions of arrays, each a kernel point. Nothing here
waits for the device: norms and products stay arrays of no axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from polygrad import dtypes
from polygrad.kernels import declare_forward
from polygrad.ops.data_type import finfo
from polygrad.optim.rules import Arrays, average, decayed

__all__ = ["adafactor", "lbfgs_direction", "muon", "orthogonalized"]


def muon(
    F: Any,
    p: Any,
    g: Any,
    buffer: Any,
    *,
    lr: float,
    weight_decay: float,
    momentum: float,
    nesterov: bool,
    ns_coefficients: tuple[float, float, float],
    eps: float,
    ns_steps: int,
    adjust_lr_fn: str | None,
    step: int,
) -> Arrays:
    """Muon (Jordan et al. 2024): the momentum of a matrix, with singular values near 1.

    "match_rms_adamw" scales as in Liu et al. 2025, "Muon is scalable for LLM training".
    """
    del step
    rows, columns = p.shape
    p, g = decayed(p, g, lr, weight_decay, maximize=False, decoupled=True)
    buffer = average(buffer, g, momentum)
    move = average(g, buffer, 1 - momentum) if nesterov else buffer
    if adjust_lr_fn == "match_rms_adamw":
        lr *= 0.2 * math.sqrt(max(rows, columns))
    else:
        lr *= math.sqrt(max(1.0, rows / max(1, columns)))
    # In half precision the squares of usual gradients are 0, and their sum is soon infinite.
    wide = F.with_dtype(dtypes.float32) if F.dtype.itemsize < 4 else F
    made = orthogonalized(wide, wide.cast(move), ns_coefficients, ns_steps, eps)
    return p - lr * F.cast(made), buffer


def orthogonalized(
    F: Any, x: Any, coefficients: tuple[float, float, float], steps: int, eps: float
) -> Any:
    """Newton and Schulz's iteration: each singular value s becomes `a s + b s**3 + c s**5`, again.

    The matrix is divided by its Frobenius norm first, so that none is above 1.
    """
    a, b, c = coefficients
    tall = x.shape[0] > x.shape[1]
    if tall:
        x = x.mT
    x = x / F.xp.clip(F.xp.sqrt(F.xp.sum(x * x)), eps, math.inf)
    for _ in range(steps):
        gram = F.matmul(x, x.mT)
        x = a * x + F.matmul(b * gram + c * F.matmul(gram, gram), x)
    return x.mT if tall else x


def adafactor(
    F: Any,
    p: Any,
    g: Any,
    *slots: Any,
    lr: float,
    beta2_decay: float,
    eps: tuple[float | None, float],
    d: float,
    weight_decay: float,
    maximize: bool,
    step: int,
) -> Arrays:
    """Adafactor (Shazeer and Stern 2018); `slots`: means by row and column, or the mean square.

    The mean square of an array of two axes and more is the product of its means along the last two,
    over the mean of all.
    """
    if math.prod(p.shape) == 0:
        return (p, *slots)
    least = finfo(F.dtype).eps if eps[0] is None else eps[0]
    keep = 1 - step**beta2_decay
    rate = F.xp.clip(_rms(F, p), eps[1], math.inf) * min(lr, 1 / math.sqrt(step))
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize, decoupled=True)
    square = g * g
    if len(slots) == 2:
        rows, columns = (
            average(old, F.xp.mean(square, axis=axis, keepdims=True), keep)
            for old, axis in zip(slots, (-1, -2), strict=True)
        )
        whole = F.xp.mean(rows, axis=-2, keepdims=True)
        square = rows * columns / F.xp.clip(whole, least, math.inf)
        slots = (rows, columns)
    else:
        slots = (square,) = (average(slots[0], square, keep),)
    move = g / F.xp.clip(F.xp.sqrt(square), least, math.inf)
    return p - rate / F.xp.clip(_rms(F, move) / d, 1.0, math.inf) * move, *slots


def _rms(F: Any, x: Any) -> Any:
    """The root of the mean square of all elements."""
    return F.xp.sqrt(F.xp.mean(x * x))


def lbfgs_direction(
    g: Any, changes: Sequence[Any], steps: Sequence[Any], weights: Sequence[Any], scale: Any
) -> Any:
    """Minus the inverse Hessian times the gradient (Nocedal 1980, two loops).

    `changes` of the gradient belong to `steps` of the parameters, oldest first; `weights` are one
    over their products; the Hessian that all begins with is the unit matrix over `scale`.
    """
    q = -g
    shares = []
    for change, step, weight in zip(
        reversed(changes), reversed(steps), reversed(weights), strict=True
    ):
        share = weight * (step @ q)
        shares.append(share)
        q = q - share * change
    q = scale * q
    for change, step, weight in zip(changes, steps, weights, strict=True):
        q = q + (shares.pop() - weight * (change @ q)) * step
    return q


declare_forward("muon_step", muon)
declare_forward("adafactor_step", adafactor)
declare_forward("lbfgs_direction", lbfgs_direction)
