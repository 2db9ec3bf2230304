"""Faults planted in the modules of views and writes: the tests of views must find each of them.

A fault is a line of source and what stands there instead. It is planted in a copy of the package,
and the tests of views run there, in a Python of their own, until the first of them fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent


class Fault(NamedTuple):
    """In `file`, `right` (which stands there once) becomes `wrong`."""

    file: str
    right: str
    wrong: str


FAULTS = {
    # ---- who sees a write
    "a key of integers alone gives a copy": Fault(
        "keys.py", "    if basic and not dots:\n        out.append(Ellipsis)\n", ""
    ),
    "views are not invalidated": Fault("views.py", "t.array = None\n", "pass\n"),
    "a write does not invalidate": Fault(
        "writes.py", "    invalidate(root)\n    if root", "    if root"
    ),
    "assign does not invalidate": Fault(
        "writes.py", "    invalidate(t)\n    t.array = value", "    t.array = value"
    ),
    "detach is no alias": Fault("views.py", "return link(out, t, (), own=True)", "return out"),
    "a reshape that copies counts as a view": Fault(
        "views.py",
        "    try:\n        np.reshape(ghost, shape, copy=False)\n"
        "    except ValueError:\n        return False\n",
        "",
    ),
    "a reshape of a view never is a view": Fault(
        "views.py",
        "    if type(v) is not View or not v.recipe:\n        return True\n",
        "    if type(v) is View and v.recipe:\n        return False\n    return True\n",
    ),
    "real is replaced by the new imaginary part": Fault(
        "views.py", "_complex(F, F.real(x), new)", "_complex(F, new, F.real(x))"
    ),
    # ---- what others hold
    "every write is in place": Fault(
        "writes.py", "if root.kernels.backend.unshared(root) and fill(", "if fill("
    ),
    "every in-place operation is": Fault(
        "writes.py", "if k.backend.unshared(root):", "if k.backend.capabilities.writeable:"
    ),
    "the count is off by one": Fault(
        "backends/numpy_backend.py", "!= ALONE:", "not in (ALONE, ALONE + 1):"
    ),
    "memory of others counts as unshared": Fault(
        "backends/numpy_backend.py", "flags.owndata and flags.writeable", "flags.writeable"
    ),
    "put writes into what it was given": Fault(
        "views.py", "copy = F.backend.copy(x)", "copy = x"
    ),
    "a copy that a step made is written": Fault(
        "views.py", "return out if out is array or out.base is array else None", "return out"
    ),
    "no write is in place": Fault(
        "backends/numpy_backend.py", "return bool(flags.owndata and flags.writeable)",
        "return False",
    ),
    # ---- values
    "views are looked up backwards": Fault(
        "views.py",
        "    for p, keywords, _ in recipe:\n        x = getattr",
        "    for p, keywords, _ in recipe[::-1]:\n        x = getattr",
    ),
    # ---- histories
    "a view that is looked up has no history": Fault(
        "views.py", "if base.tracked and not self.frozen:", "if False:"
    ),
    "recorders see that a view is looked up": Fault(
        "views.py", "token = grad_mode.set(True)", "token = grad_mode.set(grad_mode.get())"
    ),
    "a frozen view gets a history": Fault(
        "views.py", "if base.tracked and not self.frozen:", "if base.tracked:"
    ),
    "steps above a detached alias are differentiated": Fault(
        "views.py", "steps = self.recipe[self.skip :]", "steps = self.recipe"
    ),
    "detach shares the history": Fault(
        "views.py",
        "View(root, None, recipe, len(recipe), frozen=False)",
        "View(root, base, recipe, skip, frozen)",
    ),
    "requires_grad_ leaves a view the base's history": Fault(
        "views.py", "self.base, self.skip = None, len(self.recipe)", "pass"
    ),
    "no view is frozen": Fault(
        "views.py", "frozen = base.tracked and not out.tracked", "frozen = False"
    ),
    "a write does not rebind": Fault(
        "writes.py", "    if made is not None:\n        rebind(base, made.node)\n", ""
    ),
    "assign does not rebind": Fault(
        "writes.py",
        "rebind(t, value.node if value.node is not None else _through(value))",
        "pass",
    ),
    "a tracked value is no reason to record": Fault(
        "writes.py",
        "tracked = base.tracked or (isinstance(value, Tensor) and value.tracked)",
        "tracked = base.tracked",
    ),
    "no_grad writes are recorded": Fault(
        "writes.py",
        "tracked = tracked and bool(grad_mode.get()) and t.kernels.inexact",
        "tracked = tracked and t.kernels.inexact",
    ),
    "in place although it must be recorded": Fault(
        "writes.py",
        'recorded = grad_mode.get() and (t.tracked or getattr(other, "tracked", False))',
        "recorded = grad_mode.get() and t.tracked",
    ),
    "retain_grad stays with the old value": Fault(
        "writes.py", "    if moved:\n        base.retain_grad()\n", ""
    ),
    # ---- derivatives
    "what was overwritten keeps its gradient": Fault(
        "views.py", '"x": lambda g, F, recipe: F.put(g, 0, recipe=recipe),',
        '"x": lambda g, F, recipe: g,',
    ),
    "what is overwritten within a write has a gradient": Fault(
        "views.py", "return g if bool(won.all()) else F.masked(g, mask=won)", "return g"
    ),
    "the mask of what was overwritten loses the second derivative": Fault(
        "views.py",
        '"masked", ("x",), {"x": lambda g, F, mask: F.masked(g, mask=mask)}',
        '"masked", ("x",), {"x": lambda g, F, mask: g}',
    ),
    "a written value has no gradient through views": Fault(
        "views.py", "    g = F.look(g, recipe=recipe)\n    p, keywords", "    p, keywords"
    ),
    "adjoints run forwards": Fault(
        "views.py", "in reversed(recipe):\n        g = p.pull", "in recipe:\n        g = p.pull"
    ),
    "the adjoint of a permutation is itself": Fault(
        "views.py", "F.permute_dims(g, axes=_inverse(axes))", "F.permute_dims(g, axes=axes)"
    ),
    "elements that were read twice count once": Fault(
        "backends/numpy_kernels.py", "np.add.at(out, key, x)", "out[key] = x"
    ),
    "the imaginary part's cotangent is real": Fault(
        "views.py", "F.multiply(g, 1j)", "F.multiply(g, 1 + 0j)"
    ),
    # ---- refusals
    "leaves are written": Fault("writes.py", "if base.node is None:", "if False:"),
    "frozen views are written": Fault(
        "writes.py", "if type(t.alias) is View and t.alias.frozen:", "if False:"
    ),
    "overlapping views are written": Fault("writes.py", "if primitive.overlaps:", "if False:"),
    "in-place operations grow": Fault(
        "writes.py", "not broadcasts_to(other.shape, shape)", "False"
    ),
    "complex values lose their imaginary part": Fault(
        "writes.py", "if kind == COMPLEX and not t.kernels.is_complex:", "if False:"
    ),
    # ---- lifetimes
    "dead views stay listed": Fault(
        "views.py", "weakref.ref(out, views.discard)", "weakref.ref(out)"
    ),
    "the root holds its views": Fault(
        "views.py", "weakref.ref(out, views.discard)", "lambda: out"
    ),
    "a view's base is held weakly": Fault(
        "views.py", "out.alias = View(root, base,", "out.alias = View(weakref.proxy(root), base,"
    ),
}  # fmt: skip


def copy_of_the_package(folder):
    """What the tests of views need, in a folder of its own."""
    shutil.copytree(ROOT / "polygrad", folder / "polygrad")  # with what is compiled already
    (folder / "tests").mkdir()
    for name in ("__init__.py", "devices.py", "view_oracle.py", "test_views.py"):
        shutil.copy(ROOT / "tests" / name, folder / "tests")
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)


def run_tests_of_views(folder):
    """(exit status, output) of the tests of views, on the two devices that are fast."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "POLYGRAD_TEST_DEVICES": "cpu,frozen:0",
    }
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "tests/test_views.py",
        "-k", "not jax and not sycl and not strict",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def plant(folder, fault):
    path = folder / "polygrad" / fault.file
    text = path.read_text(encoding="utf-8")
    assert text.count(fault.right) == 1, f"{fault.file} has {fault.right!r} not once: adapt"
    path.write_text(text.replace(fault.right, fault.wrong), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name, tmp_path):
    copy_of_the_package(tmp_path)
    plant(tmp_path, FAULTS[name])
    status, output = run_tests_of_views(tmp_path)
    assert status == pytest.ExitCode.TESTS_FAILED, output
    assert " failed" in output


@pytest.mark.slow
def test_without_a_fault_the_copy_passes(tmp_path):
    copy_of_the_package(tmp_path)
    status, output = run_tests_of_views(tmp_path)
    assert status == 0, output
