"""Exponentials, logarithms, sines."""

from __future__ import annotations

import mpmath as mp

from polygrad_conformance.special_references.case import Case, both, one, pairs

_X = (1e-8, 1e-3, 0.1, 0.5, 0.99, 1.01, 2.0, 5.3, 20.0)
_LOG_RATIO = [(1.0, 1.0), (1.0, 1 + 1e-9), (1.0, 0.7), (2.0, 300.0), (1e-100, 1e100), (3.0, 1e-9)]
_BOXCOX = pairs((1e-3, 0.3, 0.999, 1.5, 1e3), (-3.0, -1.0, -0.1, -1e-6, 0.0, 1e-6, 0.3, 1.0, 2.5))


def boxcox(x, lmbda):
    return mp.log(x) if lmbda == 0 else mp.expm1(lmbda * mp.log(x)) / lmbda


def boxcox_slope(x, lmbda):
    t = mp.log(x)
    return t**2 / 2 if lmbda == 0 else (x**lmbda * (lmbda * t - 1) + 1) / lmbda**2


def inv_boxcox(y, lmbda):
    return mp.exp(y) if lmbda == 0 else mp.exp(mp.log1p(lmbda * y) / lmbda)


def kl_div(x, y):
    return x * mp.log(x / y) - x + y


def pseudo_huber(delta, r):
    return delta**2 * (mp.sqrt(1 + (r / delta) ** 2) - 1)


ELEMENTARY = {
    "expm1": Case(mp.expm1, one(*_X, -1e-3, -0.5)),
    "log1p": Case(mp.log1p, one(*_X, -1e-8, -0.5, -1 + 1e-9)),
    "exp2": Case(lambda x: mp.mpf(2) ** x, both(*_X)),
    "exp10": Case(lambda x: mp.mpf(10) ** x, both(*_X)),
    "exprel": Case(lambda x: mp.expm1(x) / x if x else mp.mpf(1), [*both(*_X), (-1e3,), (300.0,)]),
    "powm1": Case(
        lambda x, y: x**y - 1, [*pairs((1e-3, 0.999, 1.5), (-2.0, 0.0, 0.3)), (1.0, 3.0)]
    ),
    "cbrt": Case(lambda x: mp.sign(x) * mp.cbrt(abs(x)), both(*_X)[1:]),
    "cosm1": Case(lambda x: mp.cos(x) - 1, both(*_X)),
    "sinc": Case(mp.sincpi, [*both(*_X), (3.0,), (1e6,)], slopes={"x": lambda x: (
        mp.cospi(x) - mp.sincpi(x)) / x if x else mp.mpf(0)}),
    "sindg": Case(lambda x: mp.sin(mp.radians(x)), both(*_X, 89.0, 180.0, 1e4)),
    "cosdg": Case(lambda x: mp.cos(mp.radians(x)), both(*_X, 89.0, 90.0, 1e4)),
    "tandg": Case(lambda x: mp.tan(mp.radians(x)), both(*_X, 89.0, 180.0)),
    "cotdg": Case(lambda x: mp.cot(mp.radians(x)), both(*_X, 89.0, 90.0)[1:]),
    "radian": Case(
        lambda d, m, s: mp.radians(d + m / 60 + s / 3600), [(30.0, 20.0, 10.0), (1e-3, 0.0, 59.0)]
    ),
    "xlogy": Case(lambda x, y: x * mp.log(y), pairs((-2.0, 1e-9, 1e9), (1e-9, 0.9, 1e9))),
    "xlog1py": Case(lambda x, y: x * mp.log1p(y), pairs((-2.0, 1e-9, 1e9), (1e-9, -0.9, 1e9))),
    "entr": Case(lambda x: -x * mp.log(x), one(*_X)),
    "rel_entr": Case(lambda x, y: x * mp.log(x / y), _LOG_RATIO),
    "kl_div": Case(
        kl_div, _LOG_RATIO, slopes={"x": lambda x, y: mp.log(x / y), "y": lambda x, y: 1 - x / y}
    ),
    "expit": Case(lambda x: 1 / (1 + mp.exp(-x)), both(*_X, 100.0)),
    "log_expit": Case(lambda x: -mp.log1p(mp.exp(-x)), both(*_X, 100.0)),
    "softplus": Case(lambda x: mp.log1p(mp.exp(x)), both(*_X, 100.0)),
    "logit": Case(lambda x: mp.log(x / (1 - x)), one(1e-300, 1e-9, 0.1, 0.5, 0.7, 1 - 1e-9)),
    "boxcox": Case(boxcox, _BOXCOX, slopes={"lmbda": boxcox_slope}),
    "boxcox1p": Case(
        lambda x, k: boxcox(1 + x, k), [(x - 1 if x > 0.9 else -x, k) for x, k in _BOXCOX],
        slopes={"lmbda": lambda x, k: boxcox_slope(1 + x, k)},
    ),
    "inv_boxcox": Case(
        inv_boxcox, pairs((-0.3, 1e-9, 0.7, 2.0), (-0.4, -1e-6, 1e-6, 0.3, 1.0, 2.5))
    ),
    "inv_boxcox1p": Case(
        lambda y, k: inv_boxcox(y, k) - 1,
        pairs((-0.3, 1e-9, 0.7, 2.0), (-0.4, -1e-6, 1e-6, 0.3, 1.0, 2.5)),
    ),
    "huber": Case(
        lambda d, r: r * r / 2 if abs(r) <= d else d * (abs(r) - d / 2),
        [(1.0, 0.3), (1.0, -3.0), (0.2, 5.0), (1e-9, 1.0)],
    ),
    "pseudo_huber": Case(
        pseudo_huber, pairs((1e-6, 0.7, 1e6), (-1e-6, 0.1, 3.0, 1e6)), digits=160
    ),
    "logsumexp": Case(
        lambda a, axis, b: a + mp.log(b), [(0.3, None, 2.0), (-1e3, None, 1e-3)]
    ),
    "log_softmax": Case(lambda x: x * 0, one(0.3)),
    "softmax": Case(lambda x: x * 0, one(0.3)),
}  # fmt: skip
