"""What special functions are compared with: mpmath's, at points of their bulk, tails and edges.

A case has a reference, the points, and the largest relative error allowed. Derivatives of the
reference are central differences in many digits; where the reference is an inverse without a formula
of its own, its derivative is given.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mpmath as mp
from scipy import special



@dataclass(frozen=True)
class Case:
    reference: object
    points: list
    rtol: float = 1e-13
    slopes: dict = field(default_factory=dict)  # derivatives of the reference, by input
    weights: tuple = ()  # of several results, the sum of which is compared
    digits: int = 60  # more, where a small tail is the complement of a number near 1

    def slope(self, name, i, args):
        """The derivative of the reference with respect to input i."""
        if name in self.slopes:
            return self.slopes[name](*args)
        return partial(self.reference, i, args)


def partial(reference, i, args):
    """The central difference of a reference with respect to argument i."""
    step = (abs(args[i]) or 1) * mp.mpf(10) ** (-mp.mp.dps // 3)
    above, below = list(args), list(args)
    above[i], below[i] = args[i] + step, args[i] - step
    return (reference(*above) - reference(*below)) / (2 * step)


def one(*values):
    """Points of a function of one variable."""
    return [(v,) for v in values]


def both(*values):
    """Points of both signs, and 0."""
    return one(0.0, *values, *(-v for v in values))


def pairs(first, second):
    """All pairs."""
    return [(a, b) for a in first for b in second]


# ---- inverses without a formula in mpmath -------------------------------------------------------
def erfcinv(y):
    if y > 1e-3:
        return mp.erfinv(1 - y)
    log = mp.log(y * (2 - y))
    b = log / 2 + 2 / (mp.pi * 0.147)
    guess = mp.sqrt(mp.sqrt(b * b - log / 0.147) - b)
    return mp.findroot(lambda x: mp.log(mp.erfc(x)) - mp.log(y), guess)


def ndtri_exp(y):
    if y < -10:
        guess = -mp.sqrt(-2 * y - mp.log(-4 * mp.pi * y))
        return mp.findroot(lambda x: mp.log(mp.ncdf(x)) - y, guess)
    if y < -0.5:
        return -mp.sqrt(2) * erfcinv(2 * mp.exp(y))
    return mp.sqrt(2) * erfcinv(-2 * mp.expm1(y))


# ---- gamma functions ----------------------------------------------------------------------------
_GAMMA = one(
    1e-10, 1e-3, 0.1, 0.5, 1.0, 1.4616, 2.5, 7.0, 30.0, -1e-5, -1.5, -2.7, -30.2, -3 - 1e-6, -100.3
)
_ZETA = one(
    1.0001, 0.9999, 0.5, 0.1, 0.0, -0.1, -1.0, -1.5, -2.0, -9.7, -20.3, -101.5, 2.0, 5.0, 20.0, 60.0
)
_BETA = [
    *pairs((1e-5, 0.7, 3.2, 50.0, 1e3), (1e-5, 1.0, 11.0, 1e3)),
    (-0.5, 2.3), (-3.3, -1.2), (-3.3, 8.0),
]  # fmt: skip

GAMMA = {
    "gammaln": Case(lambda x: mp.loggamma(x).real, [*_GAMMA, (1e3,), (1e10,)]),
    "loggamma": Case(lambda x: mp.loggamma(x).real, one(1e-10, 0.5, 1.4616, 2.5, 30.0, 1e10)),
    "gamma": Case(mp.gamma, [*_GAMMA, (160.0,)]),
    "rgamma": Case(mp.rgamma, [*_GAMMA, *one(0.0, -1.0, -5.0, -20.0, -3 + 1e-12, 160.0, -165.3)]),
    "psi": Case(lambda x: mp.psi(0, x), [*_GAMMA, (1e8,), (-1 + 1e-9,)]),
    "polygamma": Case(
        lambda n, x: mp.psi(int(n), x),
        [(n, *x) for n in (0, 1, 3) for x in _GAMMA if abs(x[0]) > 1e-4], rtol=1e-10,
    ),
    "zeta": Case(mp.zeta, pairs((1.0001, 1.1, 3.5, 20.0), (1e-3, 1.0, 30.0, 1e5))),
    "zetac": Case(lambda x: mp.zeta(x) - 1, _ZETA),
    "betaln": Case(lambda a, b: mp.log(abs(mp.beta(a, b))), _BETA),
    "beta": Case(mp.beta, [p for p in _BETA if sum(p) < 200]),
    "binom": Case(
        mp.binomial,
        [(5.0, 2.0), (5.0, 6.0), (5.0, 9.0), (5.0, -1.0), (5.5, 2.2), (30.0, 31.0), (-0.5, 2.0),
         (-2.5, 3.0), (-2.5, -1.3), (0.0, 0.0), (0.0, 1.0), (200.0, 202.0)],
    ),
    "poch": Case(
        mp.rf,
        [(5.0, 2.0), (5.0, 1e-6), (1e6, 1.0), (1e10, 0.5), (0.1, 0.1), (-2.5, 1.3), (-2.5, 3.2),
         (-2.5, 7.2), (3.0, -1.5), (50.0, 100.0)],
    ),
    "multigammaln": Case(
        lambda a, d: mp.log(mp.pi) * d * (d - 1) / 4
        + sum(mp.loggamma(a - mp.mpf(j) / 2).real for j in range(int(d))),
        [(2.2, 3), (50.0, 4)],
    ),
}  # fmt: skip

# ---- error functions ----------------------------------------------------------------------------
_Y = (1e-3, 0.1, 0.5, 1.0, 2.0, 3.7, 7.99, 8.01, 12.0)
_P = (1e-300, 1e-100, 1e-20, 1e-5, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1 - 1e-9, 1 - 2.0**-50)

ERROR = {
    "erf": Case(mp.erf, both(*_Y), digits=110),
    "erfc": Case(mp.erfc, both(*_Y, 20.0), digits=110),
    "erfcx": Case(
        lambda x: mp.exp(x * x) * mp.erfc(x), one(0.0, *_Y, 1e2, 1e5, -0.5, -3.0, -20.0, -26.0)
    ),
    "erfi": Case(mp.erfi, both(*_Y, 20.0)),
    "dawsn": Case(
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), both(*_Y, 20.0)
    ),
    "erfinv": Case(mp.erfinv, both(1e-8, 0.1, 0.5, 0.9, 0.999, 1 - 1e-9, 1 - 2.0**-50)),
    "erfcinv": Case(
        erfcinv, one(*(2 * p for p in _P)),
        slopes={"x": lambda y: -mp.sqrt(mp.pi) / 2 * mp.exp(erfcinv(y) ** 2)},
    ),
    "ndtr": Case(mp.ncdf, one(*_Y, *(-y for y in _Y), 0.0, -20.0, -37.0), digits=110),
    "log_ndtr": Case(
        lambda x: mp.log(mp.ncdf(x)) if x > -300 else -x * x / 2 - mp.log(-x)
        - mp.log(2 * mp.pi) / 2 + mp.log1p(sum((-1) ** k * mp.fac2(2 * k - 1) / x ** (2 * k)
                                               for k in range(1, 12))),
        one(*_Y, *(-y for y in _Y), 0.0, -20.0, -50.0, -1e3, -1e6), digits=110,
    ),
    "ndtri": Case(
        lambda y: -mp.sqrt(2) * erfcinv(2 * y), one(*_P),
        slopes={"y": lambda y: mp.sqrt(2 * mp.pi) * mp.exp(erfcinv(2 * y) ** 2)},
    ),
    "ndtri_exp": Case(
        ndtri_exp, one(-1e3, -700.0, -100.0, -10.0, -5.0, -1.0, -0.5, -0.1, -1e-3, -1e-10, -1e-300),
        slopes={"y": lambda y: mp.ncdf(ndtri_exp(y)) / mp.npdf(ndtri_exp(y))},
    ),
}  # fmt: skip

# ---- elementary functions -----------------------------------------------------------------------
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
    "pseudo_huber": Case(pseudo_huber, pairs((1e-6, 0.7, 1e6), (-1e-6, 0.1, 3.0, 1e6))),
    "logsumexp": Case(
        lambda a, axis, b: a + mp.log(b), [(0.3, None, 2.0), (-1e3, None, 1e-3)]
    ),
    "log_softmax": Case(lambda x: x * 0, one(0.3)),
    "softmax": Case(lambda x: x * 0, one(0.3)),
}  # fmt: skip

# ---- incomplete gamma and beta functions --------------------------------------------------------
def lower_gamma(a, x):
    return mp.gammainc(a, 0, x, regularized=True)


def upper_gamma(a, x):
    return mp.gammainc(a, x, mp.inf, regularized=True)


def upper_beta(a, b, x):
    return 1 - lower_beta(a, b, x)


def lower_beta(a, b, x):
    return mp.betainc(a, b, 0, x, regularized=True)


def inverse(reference, i, names, guess, points, rtol=1e-12):
    """A case of the inverse of a reference with respect to argument i.

    The arguments `names` are those of the inverse: the target takes the place of argument i. Its
    slopes follow from those of the reference at the root, found by Newton's method from `guess`.
    """

    def at_root(args):
        x = mp.mpf(float(guess(*map(float, args))))
        for _ in range(3):
            given = [*args[:i], x, *args[i + 1 :]]
            x -= (reference(*given) - args[i]) / partial(reference, i, given)
        return [*args[:i], x, *args[i + 1 :]]

    def slope(j):
        def of(*args):
            given = at_root(list(args))
            along = partial(reference, i, given)
            return 1 / along if j == i else -partial(reference, j, given) / along

        return of

    return Case(None, points, rtol, {name: slope(j) for j, name in enumerate(names)})


_P_GAMMA = [
    *pairs((1e-3, 0.3, 1.0, 3.0), (1e-6, 0.4, 0.999, 1.001, 3.0, 40.0)),
    (100.0, 30.0), (100.0, 99.0), (100.0, 101.0), (100.0, 220.0), (1e4, 9.5e3), (1e4, 1.05e4),
]  # fmt: skip
_P_BETA = [
    *((a, b, x) for a, b in pairs((0.01, 0.7, 3.0), (0.01, 1.0, 5.5)) for x in (1e-4, 0.3, 0.99)),
    (300.0, 20.0, 0.85), (300.0, 20.0, 0.98), (20.0, 2e3, 1e-3), (1e3, 2e3, 0.3), (1e3, 2e3, 0.36),
]  # fmt: skip
_INVERSE = pairs((0.3, 2.0, 30.0), (1e-6, 0.2, 0.999))

INCOMPLETE = {
    "gammainc": Case(lower_gamma, _P_GAMMA, rtol=1e-12, digits=110),
    "gammaincc": Case(upper_gamma, _P_GAMMA, rtol=1e-12),
    "betainc": Case(lower_beta, _P_BETA, rtol=1e-12, digits=110),
    "betaincc": Case(upper_beta, _P_BETA, rtol=1e-12, digits=110),
    "gammaincinv": inverse(lower_gamma, 1, "ay", special.gammaincinv, _INVERSE),
    "gammainccinv": inverse(upper_gamma, 1, "ay", special.gammainccinv, _INVERSE),
    "betaincinv": inverse(
        lower_beta, 2, "aby", special.betaincinv,
        [(0.7, 3.0, 0.2), (2.0, 2.0, 1e-6), (2.0, 5.0, 0.999), (30.0, 50.0, 0.1)], rtol=1e-11,
    ),
    "betainccinv": inverse(
        upper_beta, 2, "aby", special.betainccinv,
        [(0.7, 3.0, 0.2), (2.0, 2.0, 1e-6), (2.0, 5.0, 0.999), (30.0, 50.0, 0.1)], rtol=1e-11,
    ),
}  # fmt: skip


# ---- distribution functions ---------------------------------------------------------------------
def upper_chi(v, x):
    return upper_gamma(v / 2, x / 2)


def f_distribution(dfn, dfd, x):
    return lower_beta(dfn / 2, dfd / 2, dfn * x / (dfn * x + dfd))


def student(df, t):
    tail = lower_beta(df / 2, mp.mpf(1) / 2, df / (df + t * t)) / 2
    return tail if t < 0 else 1 - tail


def at_most(k, n, p):
    return lower_beta(n - k, k + 1, 1 - p)


_CHI = [(0.3, 0.1), (3.0, 1e-6), (3.0, 60.0), (50.0, 20.0), (50.0, 90.0)]
_GAMMAS = [(0.5, 0.3, 2.0), (2.0, 3.0, 1e-6), (2.0, 30.0, 40.0)]
_F = [(1.0, 5.0, 1e-3), (3.0, 7.0, 0.9), (3.0, 7.0, 300.0), (40.0, 60.0, 0.4), (40.0, 60.0, 2.0)]
_T = [(df, t) for df in (0.3, 2.0, 30.0, 1e4) for t in (-30.0, -1.5, 1e-3, 1.0, 2.0, 8.0)]
_EVENTS = [(0, 1e-3), (2, 0.7), (2, 30.0), (40, 20.0)]
_TRIALS = [(0, 3, 1e-3), (2, 5, 0.4), (30, 50, 0.9), (2, 5, 1 - 1e-6)]

DISTRIBUTIONS = {
    "chdtr": Case(lambda v, x: lower_gamma(v / 2, x / 2), _CHI, rtol=1e-12, digits=110),
    "chdtrc": Case(upper_chi, _CHI, rtol=1e-12),
    "chdtri": inverse(upper_chi, 1, "vp", special.chdtri, _INVERSE),
    "gdtr": Case(lambda a, b, x: lower_gamma(b, a * x), _GAMMAS),
    "gdtrc": Case(lambda a, b, x: upper_gamma(b, a * x), _GAMMAS),
    "gdtrix": inverse(
        lambda a, b, x: lower_gamma(b, a * x), 2, "abp", special.gdtrix, [(2.0, 3.0, 0.1)]
    ),
    "gdtria": inverse(
        lambda a, b, x: lower_gamma(b, a * x), 0, "pbx", special.gdtria, [(0.1, 3.0, 2.0)]
    ),
    "pdtr": Case(lambda k, m: upper_gamma(k + 1, m), _EVENTS),
    "pdtrc": Case(lambda k, m: lower_gamma(k + 1, m), _EVENTS),
    "pdtri": inverse(
        lambda k, m: upper_gamma(k + 1, m), 1, "ky", special.pdtri, [(0, 0.3), (5, 1e-6)]
    ),
    "fdtr": Case(f_distribution, _F, rtol=1e-12),
    "fdtrc": Case(lambda n, d, x: 1 - f_distribution(n, d, x), _F, rtol=1e-12),
    "fdtri": inverse(
        f_distribution, 2, ("dfn", "dfd", "p"), special.fdtri, [(3.0, 7.0, 0.2), (40.0, 60.0, 0.99)]
    ),
    "btdtria": inverse(lower_beta, 0, "pbx", special.btdtria, [(0.3, 2.0, 0.6)]),
    "btdtrib": inverse(lower_beta, 1, "apx", special.btdtrib, [(2.0, 0.3, 0.6)]),
    "bdtr": Case(at_most, _TRIALS),
    "bdtrc": Case(lambda k, n, p: lower_beta(k + 1, n - k, p), _TRIALS),
    "bdtri": inverse(
        at_most, 2, "kny", lambda k, n, y: special.bdtri(k, int(n), y), [(2, 5, 0.4), (0, 3, 0.9)]
    ),
    "nbdtr": Case(lambda k, n, p: lower_beta(n, k + 1, p), _TRIALS),
    "nbdtrc": Case(lambda k, n, p: 1 - lower_beta(n, k + 1, p), _TRIALS),
    "nbdtri": inverse(
        lambda k, n, p: lower_beta(n, k + 1, p), 2, "kny", special.nbdtri, [(2, 5, 0.4)]
    ),
    "stdtr": Case(student, _T, digits=110),
    "stdtrit": inverse(
        student, 1, ("df", "p"), special.stdtrit, [(0.7, 0.1), (3.0, 1e-6), (30.0, 0.999)]
    ),
}  # fmt: skip


# ---- Bessel functions ---------------------------------------------------------------------------
_Z = one(1e-6, 0.3, 1.7, 6.2, 29.0, 31.0, 200.0)
_ORDER = [(v, x) for v in (0, 1, 0.5, 7.3) for x in (1e-3, 0.3, 4.1, 29.0, 31.0, 400.0)]
_SCALED = [*_ORDER, (30.5, 100.0), (30.5, 3e3)]
_N = [(n, x) for n in (0, 1, 4) for x in (0.3, 4.1, 31.0)]


def spherical(function, sign=1):
    return lambda n, z, derivative=0: sign * mp.sqrt(mp.pi / (2 * z)) * function(n + mp.mpf(1) / 2, z)


def airy_sum(x):
    return mp.airyai(x) + 2 * mp.airyai(x, derivative=1) + 3 * mp.airybi(x) + 5 * mp.airybi(x, derivative=1)


def kelvin(function):
    return lambda x: function(0, x)


def slope_of(function):
    return lambda x: partial(function, 0, [x])


def wright(a, b, x):
    return mp.nsum(lambda k: x**k / mp.factorial(k) * mp.rgamma(a * k + b), [0, mp.inf])


BESSEL = {
    **{f"j{n}": Case(lambda x, n=n: mp.besselj(n, x), [*_Z, *one(0.0, -2.0)], 1e-11) for n in (0, 1)},
    **{f"y{n}": Case(lambda x, n=n: mp.bessely(n, x), _Z, 1e-11) for n in (0, 1)},
    **{f"i{n}": Case(lambda x, n=n: mp.besseli(n, x), [*_Z, *one(0.0, -2.0)]) for n in (0, 1)},
    **{f"k{n}": Case(lambda x, n=n: mp.besselk(n, x), _Z) for n in (0, 1)},
    **{
        f"i{n}e": Case(
            lambda x, n=n: mp.exp(-abs(x)) * mp.besseli(n, x), [*_Z, *one(-2.0, -31.0, 1e4, 1e8)]
        )
        for n in (0, 1)
    },
    **{
        f"k{n}e": Case(lambda x, n=n: mp.exp(x) * mp.besselk(n, x), [*_Z, *one(1e4, 1e8)])
        for n in (0, 1)
    },
    **dict.fromkeys(("jv", "jn", "jve"), Case(mp.besselj, _ORDER, 1e-11)),
    **dict.fromkeys(("yv", "yve"), Case(mp.bessely, _ORDER, 1e-11)),
    "iv": Case(mp.besseli, _ORDER, 1e-12),
    "kv": Case(mp.besselk, _ORDER, 1e-12),
    "ive": Case(lambda v, x: mp.exp(-x) * mp.besseli(v, x), _SCALED, 1e-11),
    "kve": Case(lambda v, x: mp.exp(x) * mp.besselk(v, x), _SCALED, 1e-11),
    "yn": Case(mp.bessely, _N, 1e-12),
    "kn": Case(mp.besselk, _N, 1e-12),
    "spherical_jn": Case(spherical(mp.besselj), _N, 1e-12),
    "spherical_yn": Case(spherical(mp.bessely), _N, 1e-12),
    "spherical_in": Case(spherical(mp.besseli), _N, 1e-12),
    "spherical_kn": Case(spherical(mp.besselk), _N, 1e-12),
    "airy": Case(airy_sum, one(-9.3, -1.0, 1e-3, 0.7, 5.0), 1e-12, weights=(1, 2, 3, 5)),
    "itj0y0": Case(
        None, one(0.3, 2.1, 30.0), weights=(1, 2),
        slopes={"x": lambda x: mp.besselj(0, x) + 2 * mp.bessely(0, x)},
    ),
    "iti0k0": Case(
        None, one(0.3, 2.1, 30.0), weights=(1, 2),
        slopes={"x": lambda x: mp.besseli(0, x) + 2 * mp.besselk(0, x)},
    ),
    **{
        name: Case(kelvin(getattr(mp, name)), one(1e-3, 0.3, 2.1, 9.0), 1e-9)
        for name in ("ber", "bei", "ker", "kei")
    },
    **{
        f"{name}p": Case(
            slope_of(kelvin(getattr(mp, name))), one(0.3, 2.1, 9.0), 1e-10
        )
        for name in ("ber", "bei", "ker", "kei")
    },
    "struve": Case(mp.struveh, [p for p in _ORDER if p[1] < 40], 1e-11),
    "modstruve": Case(mp.struvel, [p for p in _ORDER if p[1] < 40], 1e-11),
    "wright_bessel": Case(wright, [(0.5, 1.0, 0.3), (2, 1, 20.0), (1.5, 3, 4.0)], 1e-11),
    "log_wright_bessel": Case(
        lambda a, b, x: mp.log(wright(a, b, x)), [(0.5, 1, 0.3), (2, 1, 20.0), (1.5, 3, 4.0)], 1e-11
    ),
}  # fmt: skip

CASES = {**GAMMA, **ERROR, **ELEMENTARY, **INCOMPLETE, **DISTRIBUTIONS, **BESSEL}
