"""Gamma, chi-square, beta and Dirichlet distributions, by rejection; their pathwise derivatives.

Derivatives with respect to shape parameters are implicit (see Note [Pathwise derivatives]), with
those of the incomplete gamma and beta functions in `polygrad.special`. Dirichlet's go through the
gamma numbers that it is made of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad.errors import ShapeError
from polygrad.indexing import shape_tuple
from polygrad.primitive import Primitive
from polygrad.random.arguments import (
    POSITIVE,
    Host,
    Parameter,
    chosen,
    finish,
    given,
    values_of,
)
from polygrad.random.distribution import Distribution, attach
from polygrad.random.rejection import gamma_parts
from polygrad.streams import Generator
from polygrad.tensor import Tensor

__all__ = ["beta", "chi_square", "dirichlet", "gamma"]

_DIRICHLET = "random.dirichlet"


def _load() -> None:
    """Have the primitives of incomplete functions, which are read late."""
    import polygrad.special  # noqa: F401, PLC0415  when a gradient is asked for


def gamma_slope(F: Any, a: Any, x: Any) -> Any:
    """dx/da of a standard gamma number x: -P_a / P_x."""
    _load()
    return -F.strong_divide(F.special_gammainc_a(a, x), F.special_gamma_density(a, x))


# ---- gamma, chi-square --------------------------------------------------------------------------
def _gammas(
    generator: Generator, n: int, double: bool, concentration: Host, scale: Host
) -> tuple[Host, Host]:
    del double
    g, h = gamma_parts(generator, n, concentration)
    x = g * np.exp(h)
    return scale * x, x


def _gamma_concentration(g: Any, F: Any, out: Any, concentration: Any, scale: Any) -> Any:
    return F.strong_multiply(g * scale, gamma_slope(F, concentration, out / scale))


gamma = Distribution(
    "gamma", "Numbers of density x^(concentration - 1) exp(-x / scale) but for a factor.",
    (Parameter("concentration", "The shape parameter", POSITIVE),
     Parameter("scale", "The width; 1 / rate", POSITIVE, 1.0)),
    _gammas,
    "Marsaglia and Tsang's rejection; below a concentration of 1 a number for concentration + 1,\n"
    "times u^(1 / concentration).", "at least 0",
    {"concentration": _gamma_concentration,
     "scale": lambda g, F, noise: F.strong_multiply(g, noise)},
    example=">>> pg.random.gamma(2.5, (2, 3)).shape\n(2, 3)",
).function()  # fmt: skip


def _chi_squares(generator: Generator, n: int, double: bool, df: Host) -> tuple[Host, None]:
    drawn, _ = _gammas(generator, n, double, df / 2, np.asarray(2.0))
    return drawn, None


chi_square = Distribution(
    "chi_square", "Sums of the squares of `df` normal numbers; df need not be whole.",
    (Parameter("df", "The degrees of freedom", POSITIVE),), _chi_squares,
    "The gamma distribution of concentration df / 2 and scale 2.", "at least 0",
    {"df": lambda g, F, out, df: F.strong_multiply(g, gamma_slope(F, df / 2, out / 2))},
    example=">>> pg.random.chi_square(3.0, (2, 3)).shape\n(2, 3)",
).function()  # fmt: skip


# ---- beta ---------------------------------------------------------------------------------------
def _betas(generator: Generator, n: int, double: bool, a: Host, b: Host) -> tuple[Host, None]:
    """1 / (1 + y / x), where the quotient of the gamma numbers is found by logarithms."""
    del double
    both = np.empty((n, 2))
    both[:, 0], both[:, 1] = a, b
    g, h = (part.reshape(n, 2) for part in gamma_parts(generator, 2 * n, both.reshape(-1)))
    return 1 / (1 + g[:, 1] / g[:, 0] * np.exp(h[:, 1] - h[:, 0])), None


def _beta_slope(g: Any, F: Any, a: Any, b: Any, out: Any, order: str) -> Any:
    """-I_a / I_x, or -I_b / I_x."""
    _load()
    slope = F.special_betainc_parameter(a, b, out, order=order)
    slope = -F.strong_divide(slope, F.special_beta_density(a, b, out))
    return F.strong_multiply(g, F.where((out > 0) & (out < 1), slope, 0))


beta = Distribution(
    "beta", "Numbers of density x^(a - 1) (1 - x)^(b - 1) but for a factor.",
    (Parameter("a", "The exponent at 0", POSITIVE), Parameter("b", "The exponent at 1", POSITIVE)),
    _betas, "x / (x + y), of gamma distributed x and y of concentrations a and b.", "in [0, 1]",
    {"a": lambda g, F, a, b, out: _beta_slope(g, F, a, b, out, "a"),
     "b": lambda g, F, a, b, out: _beta_slope(g, F, a, b, out, "b")},
    example=">>> pg.random.beta(2.0, 0.5, (2, 3)).shape\n(2, 3)",
).function()  # fmt: skip


# ---- Dirichlet ----------------------------------------------------------------------------------
def _shares(generator: Generator, concentration: Host) -> tuple[Host, Host]:
    """Gamma numbers along the last axis divided by their sum, by logarithms; and the numbers."""
    g, h = (
        part.reshape(concentration.shape)
        for part in gamma_parts(generator, concentration.size, concentration.reshape(-1))
    )
    if not g.size:
        return g, g
    parts = g * np.exp(h - h.max(axis=-1, keepdims=True))
    return parts / parts.sum(axis=-1, keepdims=True), g * np.exp(h)


def _dirichlet_rule(g: Any, F: Any, out: Any, concentration: Any, noise: Any) -> Any:
    """The softmax rule, for the logarithms of the gamma numbers, times d log(x_j) / d a_j."""
    inner = out * (g - F.sum(g * out, axis=-1, keepdims=True))
    rate = F.strong_divide(gamma_slope(F, concentration, noise), noise)
    return F.strong_multiply(inner, rate)


_dirichlet_primitive = Primitive(
    "random_dirichlet", ("sample", "concentration", "noise"), {"concentration": _dirichlet_rule},
    forward=lambda sample, *rest: sample,
)  # fmt: skip
_CONCENTRATION = Parameter("concentration", "The weights", POSITIVE)


def dirichlet(
    concentration: Any,
    shape: int | tuple[int, ...] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers above 0 whose sum along the last axis is 1.

    Parameters
    ----------
    concentration
        Finite and above 0, of shape (…, k).
    shape
        Of the result, the last axis included; that of `concentration` if not given.
    dtype, device, generator, requires_grad
        As for `gamma`.

    Returns
    -------
    Tensor
        Shares of k gamma distributed numbers in their sum.

    Raises
    ------
    ShapeError
        `concentration` has no axis, or the result another number of shares.
    InvalidArgumentError, DtypeError, DeviceMismatchError
        As for `gamma`.

    Notes
    -----
    Gamma numbers divided by their sum, by logarithms, so that tiny concentrations give shares too.
    Differentiable with respect to concentration.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.random.dirichlet([1.0, 2.0, 3.0], (5, 3)).shape
    (5, 3)
    """
    host, _ = values_of(concentration, f"{_DIRICHLET}, argument concentration")
    wanted = host.shape if shape is None else shape_tuple(shape, _DIRICHLET)
    if not host.ndim or wanted[-1:] != host.shape[-1:]:
        raise ShapeError(
            f"concentration has shape {host.shape}, for numbers of shape {wanted}", _DIRICHLET,
            "pass one weight for each share along the last axis",
        )  # fmt: skip
    found = given([(_CONCENTRATION, concentration)], wanted, dtype, device, _DIRICHLET)
    weights = np.broadcast_to(found.values[0], (found.size,)).reshape(wanted)
    with np.errstate(under="ignore"):
        shares, gammas = _shares(chosen(generator, _DIRICHLET), weights)
    made = finish(shares, found.kernels)
    made = attach(_dirichlet_primitive, made, found.operands, gammas)
    return made.requires_grad_() if requires_grad else made
