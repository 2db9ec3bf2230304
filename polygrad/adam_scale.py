"""Adam's correction of its moments, for the rule and for the kernels that take its place."""

from __future__ import annotations

import math

__all__ = ["adam_scale"]


def adam_scale(
    lr: float, betas: tuple[float, float], eps: float, step: int
) -> tuple[float, float]:
    """The a and b of the step a m / (sqrt(v) + b), with c1 and c2 the corrections 1 - beta^step.

    Both sides of `lr (m / c1) / (sqrt(v) / sqrt(c2) + eps)` are multiplied by sqrt(c2): a pass over
    the arrays less (Kingma and Ba 2015, end of section 2).

    >>> adam_scale(lr=0.5, betas=(0.5, 0.75), eps=0.25, step=1)
    (0.5, 0.125)
    """
    beta1, beta2 = betas
    root = math.sqrt(1 - beta2**step)
    return lr * root / (1 - beta1**step), eps * root
