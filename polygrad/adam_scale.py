"""What Adam and its relatives make of the step number: for rules, and kernels in their place."""

from __future__ import annotations

import math

__all__ = ["adam_scale", "nadam_scales", "radam_scale"]


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


def nadam_scales(lr: float, mu: float, mu_next: float, mu_product: float) -> tuple[float, float]:
    """The factors of the gradient and of its mean in a step of NAdam (Dozat 2016).

    >>> nadam_scales(lr=0.5, mu=0.5, mu_next=0.5, mu_product=0.5)
    (0.5, 0.3333333333333333)
    """
    return lr * (1 - mu) / (1 - mu_product), lr * mu_next / (1 - mu_product * mu_next)


def radam_scale(lr: float, betas: tuple[float, float], step: int) -> tuple[float, bool]:
    """The a of RAdam's step, and whether it is a m / (sqrt(v) + eps): else it is a m.

    The mean square is trusted when it is of as many steps as its variance needs (Liu et al. 2020).

    >>> radam_scale(lr=0.5, betas=(0.5, 0.75), step=1)
    (1.0, False)
    """
    beta1, beta2 = betas
    correction = 1 - beta2**step
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / correction
    scale = lr / (1 - beta1**step)
    if length <= 5:
        return scale, False
    rectified = math.sqrt(
        (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
    )
    return scale * (rectified * math.sqrt(correction)), True
