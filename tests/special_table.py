"""The tables of docs/special_functions.md, made from the registry: `python -m tests.special_table`.

Which libraries a function and its gradient run on is found with NumPy arrays on a backend whose
special functions are only those that the library has by name.
"""

from __future__ import annotations

import importlib
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import scipy.special

import polygrad as pg
from polygrad import registry
from polygrad.backends.numpy_backend import NumpyBackend
from polygrad.device import Device
from polygrad.errors import UnsupportedOperationError
from polygrad.families import operations_of
from polygrad.ops import functions_of
from polygrad.registry import Entry, register_backend
from polygrad.testing import floating, samples_of, take_apart
from polygrad_conformance.special_references import CASES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "special_functions.md"
LIBRARIES = {
    "CuPy": "cupyx.scipy.special", "JAX": "jax.scipy.special", "dpnp": "dpnp.scipy.special",
}  # fmt: skip
LINE = "|---|---|---|---|"
# What cupyx.scipy.special 14 has of scipy.special, for where CuPy is not installed.
CUPY = frozenset(
    """
    bdtr bdtrc bdtri beta betainc betaincinv betaln binom boxcox boxcox1p cbrt chdtr chdtrc
    chdtri cosdg cosm1 cotdg digamma ellipeinc ellipj ellipk ellipkinc ellipkm1 entr erf erfc
    erfcinv erfcx erfinv exp1 exp10 exp2 expi expit expm1 expn exprel fdtr fdtrc fdtri gamma
    gammainc gammaincc gammainccinv gammaincinv gammaln gammasgn gdtr gdtrc huber i0 i0e i1 i1e
    inv_boxcox inv_boxcox1p j0 j1 k0 k0e k1 k1e kl_div lambertw log1p log_expit log_ndtr
    log_softmax loggamma logit logsumexp lpmv multigammaln nbdtr nbdtrc nbdtri ndtr ndtri pdtr
    pdtrc pdtri poch polygamma pseudo_huber psi radian rel_entr rgamma round shichi sici sinc
    sindg softmax sph_harm_y spherical_yn tandg wright_bessel xlog1py xlogy y0 y1 yn zeta zetac
    """.split()  # noqa: SIM905  a hundred quoted words are hard to read
)
HOST = Device("limited:0")


class LimitedBackend(NumpyBackend):
    """NumPy with those of SciPy's functions that another library has too."""

    name = "limited"
    device_kinds = ("limited",)
    names = frozenset()

    @property
    def special(self):
        return SimpleNamespace(
            **{n: f for n in self.names if (f := getattr(scipy.special, n, None)) is not None}
        )

    def devices(self):
        return [HOST]

    def device_of(self, array):
        return HOST

    def native_device(self, device):
        return "cpu"


def names_in(library):
    """The public names of a module that SciPy has too."""
    try:
        found = dir(importlib.import_module(library))
    except ImportError:
        if library != LIBRARIES["CuPy"]:
            raise
        return CUPY
    return frozenset(n for n in found if callable(getattr(scipy.special, n, None)))


@contextmanager
def limited_to(library):
    """A device with the functions that `library` has."""
    names = names_in(library) if library else frozenset()
    sys.modules.setdefault(__name__, sys.modules[LimitedBackend.__module__])
    saved = [(d, dict(d)) for d in (registry._catalogue, registry._loaded, registry._by_type)]
    register_backend(Entry("limited", f"{__name__}:LimitedBackend", ("limited",), (), "", True))
    LimitedBackend.names = names
    try:
        yield HOST
    finally:
        for d, before in saved:
            d.clear()
            d.update(before)


def runs(operation, device):
    """Whether a function and its gradient run on a device."""
    for sample in samples_of(operation, pg.float32)[:2]:
        arrays, build = take_apart(*sample)
        xs = [pg.tensor(a, device=device, requires_grad=True) for a in arrays]
        args, kwargs = build(xs, device)
        try:
            with np.errstate(all="ignore"):
                outs = [o for o in floating(operation.function(*args, **kwargs)) if o.requires_grad]
                if outs:
                    ones = [pg.ones(o.shape, dtype=o.dtype, device=device) for o in outs]
                    pg.autograd.grad(outs, xs, ones, materialize_grads=True)
        except UnsupportedOperationError:
            return False
    return True


def places():
    """For each library the names of the functions that run on it."""
    found = {}
    for label, library in {**LIBRARIES, "no library": None}.items():
        with limited_to(library) as device:
            found[label] = {n for n, o in operations_of("special").items() if runs(o, device)}
    return found


def described(name, where):
    """The cells of a function: with respect to what, the error, the libraries."""
    operation = operations_of("special")[name]
    known = [v for v, there in operation.variables.items() if there]
    error = f"{CASES[name].rtol:.0e}" if name in CASES else ""
    if name in where["no library"]:
        return ", ".join(known), error, "all"
    return ", ".join(known), error, ", ".join(n for n in LIBRARIES if name in where[n])


def tables():
    """The tables as text; functions of a chapter with equal cells share a row."""
    functions_of("special")
    where, chapters = places(), {}
    for name, operation in operations_of("special").items():
        chapter = "error functions" if operation.chapter == "special" else operation.chapter
        chapter = "elementary functions" if chapter == "elementwise" else chapter
        rows = chapters.setdefault(chapter, {})
        rows.setdefault(described(name, where), []).append(name)
    lines = []
    for chapter, rows in chapters.items():
        title = f"### {chapter[0].upper()}{chapter[1:]}"
        lines += [title, "", "| function | with respect to | error | besides NumPy |", LINE]
        for (known, error, libraries), names in rows.items():
            functions = ", ".join(f"`{n}`" for n in names)
            lines.append(f"| {functions} | {known or '-'} | {error or '-'} | {libraries or '-'} |")
        lines.append("")
    return "\n".join(lines)


def split(text):
    """What is before the tables, the tables, what is after."""
    start = text.index("### ")
    end = text.index("\n## ", start) + 1
    return text[:start], text[start:end], text[end:]


if __name__ == "__main__":
    before, _, after = split(PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(before + tables() + "\n" + after, encoding="utf-8")
