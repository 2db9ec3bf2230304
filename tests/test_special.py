"""Special functions: derivatives against mpmath, edges, what libraries lack, SciPy's own calls."""

from __future__ import annotations

import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import mpmath as mp
import pytest

import polygrad as pg
from polygrad.families import operations_of
from polygrad.ops import functions_of
from polygrad_conformance.special_references import CASES
from tests import special_table

functions_of("special")
ROOT = Path(__file__).resolve().parent.parent
ROWS = operations_of("special")
GRADIENTS = [
    (name, variable)
    for name, case in CASES.items()
    for variable, there in ROWS[name].variables.items()
    if there
]


def errors(name, variable):
    """(relative error of the derivative, point) for each point of a case."""
    case, operation = CASES[name], ROWS[name]
    i = list(inspect.signature(operation.function).parameters).index(variable)
    for point in case.points:
        xs = [pg.tensor(v, dtype=pg.float64) if isinstance(v, float) else v for v in point]
        xs[i].requires_grad_()
        made = operation.function(*xs)
        if isinstance(made, pg.Tensor) and made.dtype.kind == "c":
            made = pg.real(made) + 2 * pg.imag(made)
        if case.weights:
            made = sum(part * w for part, w in zip(made, case.weights, strict=True))
        made.backward()
        got = xs[i].grad.item()
        with mp.workdps(case.digits):
            want = case.slope(variable, i, [v if v is None else mp.mpf(v) for v in point])
            want = mp.re(want) + 2 * mp.im(want)
            yield float(abs(mp.mpf(got) - want) / (abs(want) or 1)), point


@pytest.mark.parametrize(("name", "variable"), GRADIENTS)
def test_derivatives_against_mpmath(name, variable):
    worst = max(errors(name, variable))
    assert worst[0] <= CASES[name].rtol, worst


def test_every_derivative_is_compared():
    assert set(CASES) == {name for name, row in ROWS.items() if row.differentiable}


# ---- where functions come from ------------------------------------------------------------------
SCIPY = """
import numpy as np, scipy.special
import polygrad as pg
from scipy.special import _support_alternative_backends as dispatched
from polygrad.families import operations_of
from polygrad.testing import samples_of
for name in sorted(set(dispatched.__all__) | {"logsumexp", "softmax", "log_softmax"}):
    function, operation = getattr(scipy.special, name), operations_of("special")[name]
    args, kwargs = samples_of(operation, np.float64)[0]
    args = [pg.tensor(a, requires_grad=operation.differentiable and a.dtype.kind == "f")
            if isinstance(a, np.ndarray) else a for a in args]
    got, want = function(*args, **kwargs), operation.function(*args, **kwargs)
    assert got.requires_grad == operation.differentiable, name
    assert np.allclose(got.detach().numpy(), want.detach().numpy()), name
    if operation.differentiable:
        pg.sum(got).backward()
print("called", len(dispatched.__all__))
"""


def test_scipy_calls_them():
    """With SCIPY_ARRAY_API=1 SciPy takes `xp.special` of the Tensors that it is handed."""
    assert int(run({"SCIPY_ARRAY_API": "1"}, "import polygrad.special\n" + SCIPY).split()[1]) > 80


def run(environment, script):
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, **environment}, cwd=ROOT,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout


BARE = """
import sys, importlib.util, importlib.abc
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "scipy":
            raise ModuleNotFoundError(name)
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name == "scipy" else find(name, *a)
sys.meta_path.insert(0, Hidden())
import polygrad as pg
print(pg.special.gammaln(pg.tensor([0.5], dtype=pg.float64)))
try:
    pg.special.jv(0.5, pg.tensor([1.0]))
except pg.PolygradError as error:
    print(type(error).__name__, "|", error.what, "|", error.where, "|", error.fix)
"""


def test_without_scipy_an_error_names_the_extra():
    """What polygrad can compute itself is there without it."""
    value, error = run({}, BARE).splitlines()
    assert value == "tensor([0.57236494], dtype=float64)"
    assert error == (
        "UnsupportedOperationError | special.jv needs a package that is not installed | "
        "device cpu, dtype float32 | pip install 'polygrad[scipy]'"
    )


def test_importing_polygrad_does_not_read_them():
    loaded = "[m for m in sys.modules if '.special' in m or 'scipy' in m]"
    assert run({}, f"import sys, polygrad; print({loaded})") == "['polygrad.ops.special']\n"  # erf


# ---- the documentation --------------------------------------------------------------------------
def test_the_tables_of_the_documentation_are_those_of_the_registry():
    """Write them anew with `python -m tests.special_table`."""
    _, written, _ = special_table.split(special_table.PAGE.read_text(encoding="utf-8"))
    assert special_table.tables().strip() == written.strip()


def test_the_pages_count_them():
    for page in (ROOT / "README.md", special_table.PAGE):
        assert f"{len(ROWS)} " in page.read_text(encoding="utf-8"), page


def test_the_names_in_cupy_are_those_listed():
    try:
        importlib.import_module("cupyx.scipy.special")
    except ImportError as error:
        if os.environ.get("CI"):
            pytest.fail("CI installs cupy-cuda13x, which needs no GPU to be imported")
        pytest.skip(f"CuPy is not installed here ({error}; 2026-11-30: CI installs it)")
    assert special_table.names_in("cupyx.scipy.special") == special_table.CUPY
