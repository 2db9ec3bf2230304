"""scipy.differentiate, optimize, integrate, constants."""

from __future__ import annotations

import numpy as np
from scipy import constants, differentiate, integrate, optimize
from scipy.optimize import elementwise

from citizens.calls import Table, between, like, namespace, normal, positive

TABLE = Table("scipy")
row = TABLE.row


# ---- differentiate ------------------------------------------------------------------------------
def _sine(x: object, a: object) -> object:
    return namespace(x).sin(a * x)


def _coupled(x: object) -> object:
    xp = namespace(x)
    return xp.stack([x[0] * x[1], xp.sin(x[0]) + x[1] ** 2])


row("differentiate.derivative (wrt x and args)",
    lambda x, a: differentiate.derivative(_sine, x, args=(a,)).df, normal(3), positive(3),
    step=1e-4, tolerance=1e-3)  # fmt: skip
row("differentiate.jacobian", lambda x: differentiate.jacobian(_coupled, x).df, normal(2),
    step=1e-4, tolerance=1e-3)  # fmt: skip
row("differentiate.hessian", lambda x: differentiate.hessian(optimize.rosen, x).ddf, normal(2),
    step=1e-3, tolerance=1e-3)  # fmt: skip

# ---- optimize -----------------------------------------------------------------------------------
row("optimize.elementwise.find_root (wrt args)",
    lambda c: elementwise.find_root(lambda x, c: x**3 - c, (like(c, [0.0, 0.0]), c + 3.0),
                                    args=(c,)).x, positive(2), step=1e-4)  # fmt: skip
row("optimize.elementwise.find_minimum (wrt args)",
    lambda c: elementwise.find_minimum(lambda x, c: (x - c) ** 2 + c,
                                       (like(c, [-9.0]), like(c, [1.0]), like(c, [9.0])),
                                       args=(c,)).f_x, between(0.2, 0.8, 1), step=1e-4)  # fmt: skip
row("optimize.elementwise.bracket_root (wrt args)",
    lambda c: elementwise.bracket_root(lambda x, c: x**3 - c, like(c, [0.0, 0.0]),
                                       args=(c,)).bracket, positive(2))  # fmt: skip
row("optimize.elementwise.bracket_minimum (wrt args)",
    lambda c: elementwise.bracket_minimum(lambda x, c: (x - c) ** 2, like(c, [0.1, 0.2]),
                                          args=(c,)).bracket, positive(2))  # fmt: skip
row("optimize.rosen", optimize.rosen, normal(4))
row("optimize.rosen_der", optimize.rosen_der, normal(4))
row("optimize.rosen_hess", optimize.rosen_hess, normal(4))
row("optimize.rosen_hess_prod", optimize.rosen_hess_prod, normal(4), normal(4))
row("optimize.minimize(BFGS) (np_only; wrt x0)",
    lambda x: optimize.minimize(optimize.rosen, x, method="BFGS", options={"maxiter": 2}).x,
    normal(2), step=1e-4, tolerance=1e-2)  # fmt: skip
row("optimize.root(hybr) (np_only)",
    lambda x: optimize.root(lambda z: z**2 - 2.0 * x, x, options={"maxfev": 40}).x, positive(2),
    step=1e-4)  # fmt: skip

# ---- integrate ----------------------------------------------------------------------------------
row("integrate.trapezoid", integrate.trapezoid, normal(5), normal(5))
row("integrate.cumulative_trapezoid", integrate.cumulative_trapezoid, normal(5), normal(5))
row("integrate.cumulative_simpson", lambda y: integrate.cumulative_simpson(y, dx=0.3), normal(6))
row("integrate.romb", lambda y: integrate.romb(y, dx=0.3), normal(5))
row("integrate.simpson", lambda y: integrate.simpson(y, dx=0.3), normal(5))
row("integrate.tanhsinh (wrt args)",
    lambda a: integrate.tanhsinh(lambda x, a: namespace(x).exp(-a * x * x), like(a, [0.0, 0.0]),
                                 like(a, [1.0, 2.0]), args=(a,)).integral, positive(2),
    step=1e-4)  # fmt: skip
row("integrate.tanhsinh (wrt limits)",
    lambda low, high: integrate.tanhsinh(lambda x: namespace(x).exp(-x * x), low, high).integral,
    between(-1, 0, 2), between(1, 2, 2), step=1e-4)  # fmt: skip
row("integrate.cubature (wrt closure)",
    lambda c: integrate.cubature(lambda x: namespace(x).exp(-c * namespace(x).sum(x * x, axis=-1)),
                                 like(c, [0.0, 0.0]), like(c, [1.0, 2.0])).estimate, positive(),
    step=1e-4)  # fmt: skip
row("integrate.cubature (wrt limits)",
    lambda low, high: integrate.cubature(lambda x: namespace(x).exp(x[:, 0] + 2 * x[:, 1]),
                                         low, high).estimate,
    between(-1, 0, 2), between(1, 2, 2), step=1e-4)  # fmt: skip
row("integrate.nsum (wrt args)",
    lambda a: integrate.nsum(lambda k, a: 1 / k**a, like(a, [1.0, 1.0]),
                             like(a, [np.inf, np.inf]), args=(a,)).sum, between(2, 3, 2),
    step=1e-4,
    remark="SciPy multiplies by infinity and then overwrites the NaN; a product passes its zero "
           "cotangent on as 0 times infinity")  # fmt: skip
row("integrate.qmc_quad (wrt limits)",
    lambda low, high: integrate.qmc_quad(
        lambda x: namespace(x).exp(namespace(x).sum(x, axis=0)), low, high, n_points=64,
        qrng=_points()).integral, between(-1, 0, 2), between(1, 2, 2))  # fmt: skip
row("integrate.quad (np_only)",
    lambda a: integrate.quad(lambda x, a: np.exp(-float(a) * x * x), 0.0, 1.0, args=(a,))[0],
    positive(), step=1e-4)  # fmt: skip
row("integrate.solve_ivp (np_only, wrt y0)",
    lambda y: integrate.solve_ivp(lambda t, y: -y * y, (0.0, 1.0), y).y[:, -1], positive(2),
    step=1e-4, tolerance=1e-2)  # fmt: skip
row("integrate.quad_vec (np_only)",
    lambda a: integrate.quad_vec(lambda x: namespace(a).exp(-a * x), 0.0, 1.0)[0], positive(2),
    step=1e-4)  # fmt: skip


def _points() -> object:
    from scipy.stats import qmc

    return qmc.Halton(2, rng=np.random.default_rng(3))


# ---- constants ----------------------------------------------------------------------------------
row("constants.convert_temperature",
    lambda t: constants.convert_temperature(t, "Celsius", "Fahrenheit"), normal(3))
row("constants.lambda2nu", lambda x: constants.lambda2nu(x) / 1e8, positive(3))
row("constants.nu2lambda", lambda x: constants.nu2lambda(x) / 1e8, positive(3))
