"""scipy.special."""

from __future__ import annotations

from scipy import special

from citizens.calls import Table, between, fixed, like, normal, positive, unit

TABLE = Table("scipy")
row = TABLE.row

# ---- one argument, its name and an interval -----------------------------------------------------
ONE = {
    "cbrt": (0.5, 3), "cosdg": (-90, 90), "cosm1": (-2, 2), "cotdg": (20, 70), "ellipk": (0.1, 0.8),
    "ellipkm1": (0.1, 0.8), "entr": (0.2, 2), "erf": (-2, 2), "erfc": (-2, 2), "erfcx": (-1, 2),
    "erfinv": (-0.8, 0.8), "exp1": (0.5, 3), "exp10": (-1, 1), "exp2": (-2, 2), "expi": (0.5, 3),
    "expit": (-2, 2), "exprel": (-2, 2), "gamma": (0.5, 3), "gammaln": (0.5, 3), "i0": (-2, 2),
    "i0e": (0.3, 2), "i1": (-2, 2), "i1e": (0.3, 2), "j0": (0.5, 3), "j1": (0.5, 3), "k0": (0.5, 3),
    "k0e": (0.5, 3), "k1": (0.5, 3), "k1e": (0.5, 3), "log_ndtr": (-2, 2), "loggamma": (0.5, 3),
    "logit": (0.15, 0.85), "ndtr": (-2, 2), "ndtri": (0.15, 0.85), "psi": (0.5, 3),
    "rgamma": (0.5, 3), "sinc": (0.2, 2), "sindg": (-90, 90), "spence": (0.3, 3),
    "tandg": (-60, 60), "y0": (0.5, 3), "y1": (0.5, 3), "zetac": (1.5, 4),
}  # fmt: skip
# ---- several arguments, all differentiated ------------------------------------------------------
SEVERAL = {
    "betaln": (positive(3), positive(3)),
    "boxcox": (positive(3), between(0.3, 2, 3)),
    "boxcox1p": (positive(3), between(0.3, 2, 3)),
    "huber": (positive(3), normal(3)),
    "inv_boxcox": (unit(3), between(0.3, 2, 3)),
    "inv_boxcox1p": (unit(3), between(0.3, 2, 3)),
    "kl_div": (positive(3), positive(3)),
    "poch": (positive(3), positive(3)),
    "pseudo_huber": (positive(3), normal(3)),
    "radian": (between(10, 80, 3), between(1, 50, 3), between(1, 50, 3)),
    "rel_entr": (positive(3), positive(3)),
    "xlog1py": (normal(3), positive(3)),
    "xlogy": (normal(3), positive(3)),
}
# ---- differentiated by the last argument; the others are parameters -----------------------------
LAST = {
    "betainc": ([1.5, 0.7, 2.0], [0.8, 1.2, 3.0], unit(3)),
    "betaincc": ([1.5, 0.7, 2.0], [0.8, 1.2, 3.0], unit(3)),
    "betaincinv": ([1.5, 0.7, 2.0], [0.8, 1.2, 3.0], unit(3)),
    "bdtr": ([2.0, 3.0], [5, 6], unit(2)),
    "chdtr": ([2.0, 3.5], positive(2)),
    "chdtrc": ([2.0, 3.5], positive(2)),
    "chdtri": ([2.0, 3.5], unit(2)),
    "expn": ([2, 3], positive(2)),
    "fdtr": ([2.0, 3.5], [4.0, 5.0], positive(2)),
    "fdtrc": ([2.0, 3.5], [4.0, 5.0], positive(2)),
    "fdtri": ([2.0, 3.5], [4.0, 5.0], unit(2)),
    "gammainc": ([0.7, 2.0], positive(2)),
    "gammaincc": ([0.7, 2.0], positive(2)),
    "gammaincinv": ([0.7, 2.0], unit(2)),
    "gammainccinv": ([0.7, 2.0], unit(2)),
    "hyp1f1": ([0.7, 1.3], [1.5, 2.5], normal(2)),
    "lpmv": ([0.0, 1.0], [2.0, 3.0], between(-0.8, 0.8, 2)),
    "pdtr": ([2.0, 3.0], positive(2)),
    "polygamma": ([1, 2], positive(2)),
    "stdtr": ([3.0, 5.0], normal(2)),
    "stdtrit": ([3.0, 5.0], unit(2)),
    "zeta": ([2.5, 3.0], positive(2)),
}


def _last(name: str, parameters: tuple[object, ...]) -> object:
    function = getattr(special, name)
    return lambda x: function(*(like(x, p) for p in parameters), x)


for _name, _interval in ONE.items():
    row(f"special.{_name}", getattr(special, _name), between(*_interval, 4))
for _name, _draws in SEVERAL.items():
    row(f"special.{_name}", getattr(special, _name), *_draws)
for _name, (*_parameters, _draw) in LAST.items():
    row(f"special.{_name}", _last(_name, tuple(_parameters)), _draw)

row("special.binom", lambda k, x: special.binom(x, k), fixed(1.5, 2.5), between(4, 6, 2))
row("special.gdtr", special.gdtr, positive(2), positive(2), positive(2))
row("special.gdtrc", special.gdtrc, positive(2), positive(2), positive(2))
row("special.logsumexp", lambda x: special.logsumexp(x, axis=0), normal(3, 2))
row("special.logsumexp(b=)", lambda x, b: special.logsumexp(x, axis=0, b=b), normal(3, 2),
    positive(3, 2))  # fmt: skip
row("special.softmax", lambda x: special.softmax(x, axis=1), normal(2, 3))
row("special.log_softmax", lambda x: special.log_softmax(x, axis=1), normal(2, 3))
row("special.multigammaln", lambda a: special.multigammaln(a, 2), between(2, 4, 3))
TABLE.calls.sort(key=lambda call: call.name)
