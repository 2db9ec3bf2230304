"""Continuous distributions that are formulas of uniform or normal numbers: the table.

u is in (0, 1], v in [0, 1), e = -log(u), s is a sign, the lowest bit of a word.

Sources: L. Devroye, "Non-uniform random variate generation" (1986), for inversion; R. W. Bailey,
"Polar generation of random variates with the t-distribution" (1994).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad.errors import InvalidArgumentError
from polygrad.primitive import Rule, not_implemented
from polygrad.random import rejection
from polygrad.random.arguments import FINITE, NONNEGATIVE, NUMBER, POSITIVE, Host, Parameter
from polygrad.random.distribution import Distribution
from polygrad.streams import Generator, closed_units, half_units, normals, open_units

__all__ = [
    "cauchy", "exponential", "gumbel", "laplace", "log_normal", "logistic", "normal", "student_t",
    "truncated_normal", "uniform", "weibull",
]  # fmt: skip

_LOC = Parameter("loc", "The middle", FINITE, 0.0)
_SCALE = Parameter("scale", "The width", NONNEGATIVE, 1.0)
_MEAN = Parameter("mean", "The mean", FINITE, 0.0)
_STD = Parameter("std", "The standard deviation", NONNEGATIVE, 1.0)


# ---- noise, to be multiplied and shifted --------------------------------------------------------
def _units(generator: Generator, n: int, double: bool) -> Host:
    return open_units(generator.words(n)) if double else half_units(generator.halves(n))


def _exponentials(generator: Generator, n: int, double: bool = True) -> Host:
    del double
    return -np.log(closed_units(generator.words(n)))


def _signed(magnitude: Callable[[Host], Host]) -> Callable[..., Host]:
    """Noise of a symmetric distribution: a sign, and a magnitude from the rest of the word."""

    def noise(generator: Generator, n: int, double: bool = True) -> Host:
        del double
        words = generator.words(n)
        signs = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
        return signs * magnitude(closed_units(words))

    return noise


def _gumbels(generator: Generator, n: int, double: bool = True) -> Host:
    return -np.log(np.maximum(_exponentials(generator, n, double), 2.0**-54))


def _narrowed(host: Host, dtype: Any) -> Host:
    """A parameter in the dtype that numbers are computed in."""
    narrow = host.astype(dtype)
    lost = np.isinf(narrow)
    if lost.any():
        raise InvalidArgumentError(
            f"a parameter or a width of {host[lost].flat[0]} is too large for {np.dtype(dtype)}",
            "random numbers of this dtype", "narrow the interval, or pass a wider dtype",
        )  # fmt: skip
    return narrow


def _shifted(noise: Callable[..., Host]) -> Callable[..., tuple[Host, Host]]:
    """Draw `loc + scale * noise`, in the dtype of the noise."""

    def draw(generator: Generator, n: int, double: bool, loc: Host, scale: Host) -> Any:
        z = noise(generator, n, double)
        if not (loc.ndim or scale.ndim) and loc == 0 and scale == 1:
            return z, z
        return _narrowed(loc, z.dtype) + _narrowed(scale, z.dtype) * z, z

    return draw


def _scaled(generator: Generator, n: int, double: bool, scale: Host) -> tuple[Host, Host]:
    e = _exponentials(generator, n, double)
    return scale * e, e


def _times_noise(g: Any, F: Any, noise: Any) -> Any:
    return F.strong_multiply(g, noise)


_MOVED: dict[str, Rule] = {"loc": lambda g: g, "scale": _times_noise}


# ---- uniform and normal -------------------------------------------------------------------------
def _ordered(where: str, low: Host, high: Host, *rest: Host) -> None:
    """Refuse intervals whose ends are the wrong way round."""
    del rest
    lows, highs = np.broadcast_arrays(low, high)
    wrong = lows > highs
    if wrong.any():
        raise InvalidArgumentError(
            f"no interval: low={lows[wrong].flat[0]}, high={highs[wrong].flat[0]}", where,
            "pass low <= high",
        )  # fmt: skip


_spread = _shifted(_units)

uniform = Distribution(
    "uniform", "Numbers spread evenly over [low, high).",
    (Parameter("low", "The lower bound", FINITE, 0.0),
     Parameter("high", "The upper bound", FINITE, 1.0)),
    lambda generator, n, double, low, high: _spread(generator, n, double, low, high - low),
    "low + (high - low) v", "at least low and below high, or high by rounding",
    {"low": lambda g, F, noise: g * (1 - noise), "high": _times_noise}, check=_ordered,
    example=">>> pg.random.uniform((3,), -1.0, 1.0).shape\n(3,)",
).function()  # fmt: skip

normal = Distribution(
    "normal", "Normally distributed numbers.", (_MEAN, _STD), _shifted(normals),
    "mean + std z, z by Box and Muller from two words in float64, from halves of one in other\n"
    "dtypes, where no number is further than 6.7 standard deviations from the mean.",
    "finite", {"mean": lambda g: g, "std": _times_noise},
    example=">>> pg.random.normal((2, 3), dtype=pg.float64).dtype\ndtype('float64')",
).function()  # fmt: skip


# ---- by inversion -------------------------------------------------------------------------------
exponential = Distribution(
    "exponential", "Waiting times of mean `scale`: exponentially distributed numbers.",
    (_SCALE,), _scaled, "scale e", "at least 0", {"scale": _times_noise},
    example=">>> pg.random.exponential(2, scale=0.0)\ntensor([0., 0.], dtype=float32)",
).function()  # fmt: skip

laplace = Distribution(
    "laplace", "Numbers with Laplace's density exp(-|x - loc| / scale) / (2 scale).",
    (_LOC, _SCALE), _shifted(_signed(lambda u: -np.log(u))), "loc + scale s e", "finite", _MOVED,
    example=">>> pg.random.laplace((2, 3)).shape\n(2, 3)",
).function()  # fmt: skip

logistic = Distribution(
    "logistic", "Numbers whose distribution function is 1 / (1 + exp(-(x - loc) / scale)).",
    (_LOC, _SCALE), _shifted(_signed(lambda u: np.log(2 / u - 1))),
    "loc + scale s log(2 / u - 1)", "finite", _MOVED,
    example=">>> pg.random.logistic((2, 3)).shape\n(2, 3)",
).function()  # fmt: skip

cauchy = Distribution(
    "cauchy", "Numbers with Cauchy's density 1 / (pi scale (1 + ((x - loc) / scale)^2)).",
    (_LOC, _SCALE), _shifted(_signed(lambda u: 1 / np.tan(0.5 * math.pi * u))),
    "loc + scale s / tan(pi u / 2)", "finite, or infinite where the dtype ends", _MOVED,
    example=">>> pg.random.cauchy((2, 3)).shape\n(2, 3)",
).function()  # fmt: skip

gumbel = Distribution(
    "gumbel", "Gumbel's numbers: their distribution function is exp(-exp(-(x - loc) / scale)).",
    (_LOC, _SCALE), _shifted(_gumbels), "loc - scale log(e)", "finite", _MOVED,
    example=">>> pg.random.gumbel((2, 3)).shape\n(2, 3)",
).function()  # fmt: skip


def _weibulls(
    generator: Generator, n: int, double: bool, concentration: Host, scale: Host
) -> tuple[Host, Host]:
    e = _exponentials(generator, n, double)
    # not e ** (1 / concentration): NumPy rounds that otherwise if the exponent is one number
    return scale * np.exp(np.log(e) / concentration), e


def _weibull_concentration(g: Any, F: Any, out: Any, concentration: Any, noise: Any) -> Any:
    """-x log(e) / c^2, which is 0 where x is."""
    log = F.log(F.where(noise > 0, noise, 1))
    return -F.strong_multiply(g * out / (concentration * concentration), log)


weibull = Distribution(
    "weibull", "Weibull's numbers, above x with probability exp(-(x / scale)^concentration).",
    (Parameter("concentration", "The exponent", POSITIVE), _SCALE), _weibulls,
    "scale exp(log(e) / concentration)", "at least 0",
    {"concentration": _weibull_concentration,
     "scale": lambda g, F, concentration, noise: (
         F.strong_multiply(g, noise ** (1 / concentration)))},
    example=">>> pg.random.weibull(2.0, (2, 3)).shape\n(2, 3)",
).function()  # fmt: skip


# ---- of normal numbers --------------------------------------------------------------------------
def _log_normals(
    generator: Generator, n: int, double: bool, mean: Host, std: Host
) -> tuple[Host, Host]:
    del double
    z = normals(generator, n, double=True)
    return np.exp(mean + std * z), z


log_normal = Distribution(
    "log_normal", "Numbers whose logarithms are normally distributed.",
    (Parameter("mean", "The mean of the logarithms", FINITE, 0.0),
     Parameter("std", "The standard deviation of the logarithms", NONNEGATIVE, 1.0)),
    _log_normals, "exp(mean + std z), z by Box and Muller from two words", "above 0",
    {"mean": lambda g, F, out: F.strong_multiply(g, out),
     "std": lambda g, F, out, noise: F.strong_multiply(g, out * noise)},
    example=">>> pg.random.log_normal(2, std=0.0)\ntensor([1., 1.], dtype=float32)",
).function()  # fmt: skip


def _ts(generator: Generator, n: int, double: bool, df: Host) -> tuple[Host, Host]:
    """Bailey's polar form: the radius is that of a two-dimensional t distribution."""
    del double
    words = generator.words(2 * n).reshape(n, 2)
    logs = -2 * np.log(closed_units(words[:, 0]))
    turns = np.cos(2 * math.pi * open_units(words[:, 1]))
    with np.errstate(invalid="ignore"):  # of an infinite radius
        x = np.sqrt(df * np.expm1(logs / df)) * turns
    return x, logs


def _t_df(g: Any, F: Any, out: Any, df: Any, noise: Any) -> Any:
    """x / (2 df) (1 - q / (1 - exp(-q))), q = -2 log(u) / df; by its series where q is small."""
    q = noise / df
    near = q < 0.1
    small = F.where(near, q, 0)
    square = small * small
    series = -small / 2 - square / 12 + square * square / 720
    far = F.where(near, 1, q)
    rate = F.where(near, series, 1 + far / F.expm1(-far))
    return F.strong_multiply(g, out * rate / (2 * df))


student_t = Distribution(
    "student_t", "Numbers of Student's t distribution with `df` degrees of freedom.",
    (Parameter("df", "The degrees of freedom", POSITIVE),), _ts,
    "sqrt(df (u^(-2 / df) - 1)) cos(2 pi v), by Bailey", "finite, or infinite where the dtype ends",
    {"df": _t_df}, example=">>> pg.random.student_t(3.0, (2, 3)).shape\n(2, 3)",
).function()  # fmt: skip


def _truncated(
    generator: Generator, n: int, double: bool, low: Host, high: Host, mean: Host, std: Host
) -> tuple[Host, None]:
    del double
    # Ends beyond this give the near end all the same, and differences of infinities are no numbers.
    ends = (np.clip((end - mean) / std, -1e300, 1e300) for end in (low, high))
    z = rejection.truncated_normal(generator, n, *ends)
    return np.clip(mean + std * z, low, high), None


_ENDS = not_implemented("a derivative of random.truncated_normal")

truncated_normal = Distribution(
    "truncated_normal", "Normally distributed numbers, without those outside [low, high].",
    (Parameter("low", "The lower bound", NUMBER), Parameter("high", "The upper bound", NUMBER),
     _MEAN, Parameter("std", "The standard deviation before", POSITIVE, 1.0)),
    _truncated,
    "Rejection from normal, uniform or, in the tails, exponential numbers, by Robert. Bounds may\n"
    "be infinite, or as far out as they like.", "in [low, high]",
    dict.fromkeys(("low", "high", "mean", "std"), _ENDS), check=_ordered,
    example=">>> bool(pg.all(pg.random.truncated_normal(8.0, 9.0, (5,)) >= 8.0))\nTrue",
).function()  # fmt: skip
