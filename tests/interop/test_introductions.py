"""How polygrad introduces itself to SciPy and einops: each case in a Python of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.devices import optional


def python(text, **environment):
    """Run a program in a new Python, warnings being errors; what it printed."""
    kept = {k: v for k, v in os.environ.items() if k != "SCIPY_ARRAY_API"}
    command = [sys.executable, "-W", "error", "-c", text]
    done = subprocess.run(
        command, env={**kept, **environment}, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


# ---- SciPy --------------------------------------------------------------------------------------
def test_scipy_keeps_tensors_once_it_is_enabled():
    optional("scipy")
    assert python("""
import polygrad as pg
pg.enable_scipy()
pg.enable_scipy()
from scipy import stats
x = pg.tensor([1.0, 2.0, 4.0], dtype=pg.float64, requires_grad=True)
y = stats.skew(x)
assert pg.autograd.gradcheck(stats.skew, x)
print(type(y).__name__, y.requires_grad)
""") == "Tensor True"


def test_a_variable_that_is_set_stays_as_it_is():
    optional("scipy")
    assert python("""
import os, polygrad as pg
from scipy import stats
pg.enable_scipy()
print(os.environ["SCIPY_ARRAY_API"])
""", SCIPY_ARRAY_API='["numpy"]') == '["numpy"]'  # fmt: skip


def test_too_late_is_an_error_that_says_what_to_do():
    optional("scipy")
    assert python("""
import polygrad as pg
from scipy import stats
try:
    pg.enable_scipy()
except ImportError as error:
    print(type(error).__name__, "right after `import polygrad`" in str(error))
""") == "ImportOrderError True"


@pytest.mark.parametrize("first", ["polygrad", "scipy.fft"])
def test_the_transforms_of_scipy_fft_stay_on_the_tape(first):
    """Types, norms and positional arguments go through; the rest: tests/test_fft.py."""
    optional("scipy")
    variable = {"SCIPY_ARRAY_API": "1"} if first == "scipy.fft" else {}
    assert python(f"""
import {first}
import numpy as np, polygrad as pg
pg.enable_scipy()
import scipy.fft
x = pg.tensor(np.random.default_rng(0).normal(size=(3, 4)), requires_grad=True)
a = x.detach().numpy()
for name in ("dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"):
    f = getattr(scipy.fft, name)
    for args, keywords in (
        ((), {{}}), ((1,), {{"norm": "ortho", "workers": 1}}),
        ((3, None, 0, "forward", False, 1), {{}}),
        ((4,), {{"orthogonalize": True, "overwrite_x": False}}),
    ):
        want = f(a, *args, **keywords)
        got = f(x, *args, **keywords)
        assert got.requires_grad
        np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12, atol=1e-12)
        assert isinstance(want, np.ndarray)
assert pg.autograd.gradcheck(scipy.fft.dct, x)
assert isinstance(scipy.fft.fft(x), pg.Tensor)
print("done")
""", **variable) == "done"  # fmt: skip


def test_without_the_switch_a_tensor_that_requires_grad_is_refused():
    optional("scipy")
    assert python("""
import polygrad as pg
from scipy import stats
try:
    stats.skew(pg.tensor([1.0, 2.0, 4.0], requires_grad=True))
except RuntimeError as error:
    print("pg.enable_scipy()" in str(error))
""") == "True"


# ---- einops -------------------------------------------------------------------------------------
EINOPS = """
import {first}
import numpy as np, polygrad as pg, einops
x = pg.tensor(np.arange(24.0).reshape(2, 3, 4), requires_grad=True)
a = x.detach().numpy()
E = einops
for f, *args in (
    (E.rearrange, "a b c -> (c a) b"), (E.repeat, "a b c -> a b (c k)"), (E.reduce, "a b c -> b"),
):
    for operation in ("sum", "mean", "max", "min", "prod") if f is E.reduce else (None,):
        given = [*args, *filter(None, [operation])]
        sizes = {{"k": 2}} if f is E.repeat else {{}}
        got, want = f(x, *given, **sizes), f(a, *given, **sizes)
        assert got.requires_grad, given
        np.testing.assert_allclose(got.detach().numpy(), want)
        assert pg.autograd.gradcheck(lambda t: f(t, *given, **sizes), x), given
assert E.reduce(x > 3, "a b c -> b", "any").numpy().all()
y, = pg.autograd.grad(pg.sum(E.einsum(x, x, "a b c, a b d -> c d")), x)
np.testing.assert_allclose(y.numpy(), 2 * np.broadcast_to(a.sum(-1, keepdims=True), a.shape))
packed, shapes = E.pack([x, x[:, :1]], "a * c")
assert packed.shape == (2, 4, 4) and packed.requires_grad
assert E.unpack(packed, shapes, "a * c")[1].shape == (2, 1, 4)
assert E.rearrange([x, x], "n a b c -> a n b c").shape == (2, 2, 3, 4)
assert E.asnumpy(x.detach()).shape == (2, 3, 4)
assert E.parse_shape(x, "a _ c") == {{"a": 2, "c": 4}}
assert isinstance(E.rearrange(a, "a b c -> c a b"), np.ndarray)
print("done")
"""


@pytest.mark.parametrize("first", ["polygrad", "einops"])
def test_einops_takes_tensors_whichever_was_imported_first(first):
    optional("einops")
    assert python(EINOPS.format(first=first)) == "done"


def test_polygrad_imports_neither():
    assert python("""
import sys, polygrad as pg
pg.external
print(sorted({"scipy", "einops", "sklearn"} & set(sys.modules)))
""") == "[]"


def test_a_library_that_changed_still_works_and_says_so(tmp_path):
    """A planted fault: an einops without AbstractBackend."""
    (tmp_path / "einops").mkdir()
    (tmp_path / "einops" / "__init__.py").write_text("from einops import _backends\n")
    (tmp_path / "einops" / "_backends.py").write_text("answer = 42\n")
    assert python("""
import warnings, polygrad
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    import einops._backends
print(einops._backends.answer, "einops_backend failed with" in str(seen[0].message))
""", PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])) == "42 True"


def test_a_missing_library_is_still_missing():
    assert python("""
import polygrad
from polygrad.interop.imports import when_imported
when_imported("no_such_library", "polygrad.nn")
try:
    import no_such_library
except ModuleNotFoundError as error:
    print(error.name)
""") == "no_such_library"
