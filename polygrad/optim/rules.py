"""The update rules: pure functions of arrays, each a kernel point that a backend may replace.

A rule is called as `F.adam_step(p, g, m, v, step=…, lr=…, …)` with raw arrays of one shape, and
returns the new parameter and the new state arrays, in the order in which it took them. The state
arrays that it is given belong to it: a kernel may write into them. `p` and `g` do not; but a
backend may have a kernel called `adam_step_` as well, which gets a `p` that it is to write into.
Complex parameters come as pairs of real numbers. `decayed` and `average` say what most rules begin
with. Rules that are not elementwise are in `polygrad.optim.shaped_rules`.

Sources of the formulas: the documentation of `torch.optim`, and the papers cited at each rule.
"""

from __future__ import annotations

from typing import Any

from polygrad.adam_scale import adam_scale, nadam_scales, radam_scale
from polygrad.kernels import declare_forward

__all__ = [
    "adadelta", "adagrad", "adam", "adamax", "asgd", "lion", "nadam", "radam", "rmsprop", "rprop",
    "sgd",
]  # fmt: skip

Arrays = tuple[Any, ...]


def decayed(
    p: Any, g: Any, lr: float, weight_decay: float, *, maximize: bool, decoupled: bool = False
) -> tuple[Any, Any]:
    """(p, g) after weight decay: of the parameter itself if decoupled, else within the gradient."""
    if maximize:
        g = -g
    if weight_decay != 0:
        if decoupled:
            p = p * (1 - lr * weight_decay)
        else:
            g = g + weight_decay * p
    return p, g


def average(old: Any, new: Any, keep: float) -> Any:
    """The moving average that keeps the share `keep` of the old value."""
    return old + (new - old) * (1 - keep)


def sgd(
    p: Any,
    g: Any,
    *slots: Any,
    lr: float,
    momentum: float,
    dampening: float,
    weight_decay: float,
    nesterov: bool,
    maximize: bool,
    step: int,
) -> Arrays:
    """Stochastic gradient descent; with a momentum buffer it begins as the first gradient."""
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize)
    if not slots:
        return (p - lr * g,)
    (buffer,) = slots
    buffer = g if step == 1 else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * buffer if nesterov else buffer), buffer


def adam(
    F: Any,
    p: Any,
    g: Any,
    m: Any,
    v: Any,
    *largest: Any,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    maximize: bool,
    decoupled_weight_decay: bool,
    step: int,
) -> Arrays:
    """Adam (Kingma and Ba 2015), AdamW (Loshchilov and Hutter 2019), AMSGrad with a third array."""
    beta1, beta2 = betas
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize, decoupled=decoupled_weight_decay)
    m = average(m, g, beta1)
    v = beta2 * v + (1 - beta2) * (g * g)
    seen = v
    if largest:
        seen = F.xp.maximum(largest[0], v)
        largest = (seen,)
    scale, floor = adam_scale(lr, betas, eps, step)
    return p - scale * m / (F.xp.sqrt(seen) + floor), m, v, *largest


def adamax(
    F: Any,
    p: Any,
    g: Any,
    m: Any,
    u: Any,
    *,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    maximize: bool,
    step: int,
) -> Arrays:
    """Adam with the infinity norm (Kingma and Ba 2015, section 7)."""
    beta1, beta2 = betas
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize)
    m = average(m, g, beta1)
    u = F.xp.maximum(beta2 * u, F.xp.abs(g) + eps)
    return p - (lr / (1 - beta1**step)) * m / u, m, u


def nadam(
    F: Any,
    p: Any,
    g: Any,
    m: Any,
    v: Any,
    *,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    maximize: bool,
    decoupled_weight_decay: bool,
    mu: float,
    mu_next: float,
    mu_product: float,
    step: int,
) -> Arrays:
    """Adam with Nesterov's momentum (Dozat 2016)."""
    beta1, beta2 = betas
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize, decoupled=decoupled_weight_decay)
    m = average(m, g, beta1)
    v = beta2 * v + (1 - beta2) * (g * g)
    denominator = F.xp.sqrt(v / (1 - beta2**step)) + eps
    now, ahead = nadam_scales(lr, mu, mu_next, mu_product)
    return p - (now * g + ahead * m) / denominator, m, v


def radam(
    F: Any,
    p: Any,
    g: Any,
    m: Any,
    v: Any,
    *,
    lr: float,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    maximize: bool,
    decoupled_weight_decay: bool,
    step: int,
) -> Arrays:
    """Rectified Adam (Liu et al. 2020): plain momentum until the mean square can be trusted."""
    beta1, beta2 = betas
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize, decoupled=decoupled_weight_decay)
    m = average(m, g, beta1)
    v = beta2 * v + (1 - beta2) * (g * g)
    scale, trusted = radam_scale(lr, betas, step)
    return p - (scale * m / (F.xp.sqrt(v) + eps) if trusted else scale * m), m, v


def lion(
    F: Any,
    p: Any,
    g: Any,
    m: Any,
    *,
    lr: float,
    betas: tuple[float, float],
    weight_decay: float,
    maximize: bool,
    step: int,
) -> Arrays:
    """Lion (Chen et al. 2023, algorithm 2): the sign of the mean gradient; the decay is decoupled.

    The mean that decides keeps the share `betas[0]`, the one that is remembered `betas[1]`.
    """
    del step
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize, decoupled=True)
    return p - lr * F.xp.sign(average(m, g, betas[0])), average(m, g, betas[1])


def rmsprop(
    F: Any,
    p: Any,
    g: Any,
    square: Any,
    *slots: Any,
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
    maximize: bool,
    step: int,
) -> Arrays:
    """RMSprop (Hinton, lecture 6), centred as in Graves 2013. `slots`: buffer, then mean."""
    del step
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize)
    square = alpha * square + (1 - alpha) * (g * g)
    rest: Arrays = ()
    variance = square
    if centered:
        mean = average(slots[-1], g, alpha)
        variance = square - mean * mean
        rest = (mean,)
    move = g / (F.xp.sqrt(variance) + eps)
    if momentum > 0:
        move = momentum * slots[0] + move
        rest = (move, *rest)
    return p - lr * move, square, *rest


def adagrad(
    F: Any,
    p: Any,
    g: Any,
    total: Any,
    *,
    lr: float,
    lr_decay: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
    step: int,
) -> Arrays:
    """Adagrad (Duchi, Hazan, Singer 2011)."""
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize)
    total = total + g * g
    return p - (lr / (1 + (step - 1) * lr_decay)) * g / (F.xp.sqrt(total) + eps), total


def adadelta(
    F: Any,
    p: Any,
    g: Any,
    square: Any,
    moved: Any,
    *,
    lr: float,
    rho: float,
    eps: float,
    weight_decay: float,
    maximize: bool,
    step: int,
) -> Arrays:
    """Adadelta (Zeiler 2012)."""
    del step
    p, g = decayed(p, g, lr, weight_decay, maximize=maximize)
    square = rho * square + (1 - rho) * (g * g)
    move = F.xp.sqrt(moved + eps) / F.xp.sqrt(square + eps) * g
    moved = rho * moved + (1 - rho) * (move * move)
    return p - lr * move, square, moved


def rprop(
    F: Any,
    p: Any,
    g: Any,
    before: Any,
    size: Any,
    *,
    etas: tuple[float, float],
    step_sizes: tuple[float, float],
    maximize: bool,
    step: int,
) -> Arrays:
    """Resilient backpropagation (Riedmiller and Braun 1993): only the signs of gradients count."""
    del step
    if maximize:
        g = -g
    agreement = g * before
    shrink = agreement < 0
    size = F.xp.where(agreement > 0, size * etas[1], F.xp.where(shrink, size * etas[0], size))
    size = F.xp.clip(size, *step_sizes)
    g = F.xp.where(shrink, F.xp.zeros_like(g), g)
    return p - F.xp.sign(g) * size, g, size


def asgd(
    p: Any,
    g: Any,
    mean: Any,
    *,
    lr: float,
    lambd: float,
    weight_decay: float,
    maximize: bool,
    eta: float,
    mu: float,
    step: int,
) -> Arrays:
    """Averaged stochastic gradient descent (Polyak and Juditsky 1992)."""
    del step
    _, g = decayed(p, g, lr, weight_decay, maximize=maximize)
    p = p * (1 - lambd * eta) - eta * g
    return p, (p + 0 if mu == 1 else mean + (p - mean) * mu)


for _rule in (sgd, adam, adamax, nadam, radam, lion, rmsprop, adagrad, adadelta, rprop, asgd):
    declare_forward(f"{_rule.__name__}_step", _rule)
