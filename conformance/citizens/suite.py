"""SciPy's own array API tests with polygrad as `xp`: `python -m citizens.suite scipy.stats`.

SciPy's conftest lists the libraries its `xp` fixture runs through. This is a pytest plugin that
puts polygrad in their place; SciPy itself is not changed. With --grad every floating array that a
test makes requires grad, so that all of the tested code runs on the tape; what a test hands to
NumPy itself then fails, and rightly.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

__all__ = ["ScipyPlugin", "main"]

# Those with tests for other array libraries.
PACKAGES = (
    "scipy.special", "scipy.stats", "scipy.signal", "scipy.integrate", "scipy.optimize",
    "scipy.differentiate", "scipy.fft", "scipy.cluster", "scipy.spatial", "scipy.constants",
    "scipy.linalg", "scipy.interpolate", "scipy.ndimage",
)  # fmt: skip
# Failures that are meant, and are counted apart: where integers meet float32, polygrad computes in
# float32 (docs/promotion_and_dtypes.md), NumPy in float64; with --grad, what converts to NumPy.
APART = {
    "promotion": re.compile(
        r"dtypes do not match\..*Actual: float32.*Desired: float64", re.DOTALL
    ),
    "refused": re.compile("would cut its gradient"),
}
CREATED = (
    "arange", "asarray", "empty", "eye", "full", "linspace", "logspace", "ones", "zeros",
)  # fmt: skip


class _Absent:
    """A finder: SciPy's conftest need not import these, nor find them broken."""

    names = ("array_api_strict", "cupy", "dask", "jax", "torch")

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> None:
        """Raise for those; leave others to other finders."""
        del path, target
        if name in cls.names:
            raise ModuleNotFoundError(name)


class ScipyPlugin:
    """Puts polygrad into SciPy's `xp` fixture, and counts outcomes by subpackage."""

    def __init__(self, device: str, grad: bool) -> None:
        self.device, self.grad = device, grad
        self.packages: dict[str, str] = {}
        self.counts: dict[str, Counter[str]] = {}
        self.failures: list[str] = []
        sys.meta_path.insert(0, _Absent)

    @pytest.hookimpl(tryfirst=True)
    def pytest_plugin_registered(self, plugin: Any) -> None:
        """SciPy's conftest, before pytest reads its fixtures."""
        known = getattr(plugin, "xp_known_backends", None)
        if known is None:
            return
        sys.meta_path.remove(_Absent)
        xp = self._namespace()
        known.add(xp.__name__)
        param = pytest.param(xp, id="polygrad", marks=pytest.mark.array_api_backends)
        object.__setattr__(plugin.xp._fixture_function_marker, "params", (param,))

    def _namespace(self) -> Any:
        import polygrad as pg

        pg.set_default_dtype(pg.float64)
        xp = pg.namespace(self.device)
        if self.grad:
            _require_grad(xp)
        return xp

    @pytest.hookimpl
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Which subpackage a test belongs to."""
        self.packages = {
            item.nodeid: ".".join(item.module.__name__.split(".")[:2]) for item in items
        }

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count: a test that fails in its setup fails."""
        if report.when == "call" or report.outcome != "passed":
            group = self.packages[report.nodeid]
            outcome = "xfailed" if hasattr(report, "wasxfail") else report.outcome
            if outcome == "failed":
                reasons = (name for name, r in APART.items() if r.search(report.longreprtext))
                outcome = next(reasons, outcome)
            self.counts.setdefault(group, Counter())[outcome] += 1
            if outcome == "failed":
                self.failures.append(report.nodeid)

    def report(self) -> str:
        """A line for each subpackage, and all of them."""
        total = sum(self.counts.values(), Counter())
        lines = [self._line(name, count) for name, count in sorted(self.counts.items())]
        return "\n".join([*lines, self._line("all", total)])

    @staticmethod
    def _line(name: str, count: Counter[str]) -> str:
        ran = count["passed"] + count["failed"]
        share = f"{100 * count['passed'] / ran:.2f} %" if ran else "-"
        return (f"{name:16} {count['passed']:6} passed {count['failed']:5} failed "
                f"{count['promotion']:4} promotion {count['refused']:5} refused "
                f"{count['skipped']:5} skipped "
                f"{count['xfailed']:3} xfailed  {share}")  # fmt: skip


def _require_grad(xp: ModuleType) -> None:
    """Arrays that tests make require grad; SciPy's assertions look at detached ones."""
    from scipy._lib import _array_api

    import polygrad as pg

    def tracked(function: Any) -> Any:
        @functools.wraps(function)
        def made(*args: Any, **kwargs: Any) -> Any:
            t = function(*args, **kwargs)
            if t.kernels.inexact and not t.requires_grad and _called_by_a_test():
                t = t.detach().requires_grad_().clone()  # no leaf: tests write to their arrays
            return t

        return made

    for name in CREATED:
        setattr(xp, name, tracked(getattr(xp, name)))
    check = _array_api._strict_check

    @functools.wraps(check)
    def detached(*args: Any, **kwargs: Any) -> Any:
        actual, desired, space = check(*args, **kwargs)
        plain = [t.detach() if isinstance(t, pg.Tensor) else t for t in (actual, desired)]
        return (*plain, space)

    _array_api._strict_check = detached


def _called_by_a_test() -> bool:
    return "/tests/" in sys._getframe(2).f_code.co_filename.replace(os.sep, "/")


def main() -> int:
    """See --help."""
    parser = argparse.ArgumentParser(prog="python -m citizens.suite", description=__doc__)
    parser.add_argument("packages", nargs="*", default=list(PACKAGES))
    parser.add_argument("--grad", action="store_true", help="every floating array requires grad")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--failures", help="write the names of failed tests to this file")
    given, more = parser.parse_known_args()
    os.environ["SCIPY_ARRAY_API"] = '["numpy"]'  # the others need not be imported
    import polygrad as pg

    pg.enable_scipy()
    plugin = ScipyPlugin(given.device, given.grad)
    options = ["-m", "array_api_backends", "-p", "no:cacheprovider", "-W", "ignore", "-q"]
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:  # without the settings of where this is run
        os.chdir(folder)
        settings = Path(folder) / "pytest.ini"
        settings.write_text("[pytest]\n", encoding="utf-8")
        options += ["-c", str(settings), "--rootdir", folder]
        # A virtual environment may lie in a checkout, whose conftest would come along.
        (scipy,) = importlib.util.find_spec("scipy").submodule_search_locations
        options += ["--confcutdir", scipy]
        status = pytest.main(["--pyargs", *given.packages, *options, *more], plugins=[plugin])
        os.chdir(here)
    print(plugin.report())
    if given.failures:
        Path(given.failures).write_text("\n".join(plugin.failures) + "\n", encoding="utf-8")
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
