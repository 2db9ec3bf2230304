"""The CuPy plugin over the stand-in of `tests.fake_cupy`, by itself or as the backend of `cuda`."""

from __future__ import annotations

import functools
import importlib
import sys
from contextlib import contextmanager

import polygrad.backends
from polygrad import registry
from polygrad.backends import cupy_kernels
from polygrad.backends.cupy_kernels import products
from tests import fake_cupy as fake
from tests.cupy_kernels import emulator
from tests.fake_cupy import modules as fake_modules

_made = {}


def fake_cupy():
    """The CuPy plugin over the stand-in; made once, and nothing of it stays in sys.modules."""
    if not _made:
        name, replaced = "polygrad.backends.cupy_backend", fake_modules()
        ours = [n for n in sys.modules if n.startswith("polygrad.backends.cupy_")]
        saved = {n: sys.modules.pop(n, None) for n in (*ours, *replaced)}
        # `from polygrad.backends import cupy_device` asks the package before sys.modules.
        places = vars(polygrad.backends)
        attributes = {n: places.pop(n) for n in tuple(places) if n.startswith("cupy_")}
        import array_api_compat

        before = getattr(array_api_compat, "cupy", None)
        try:
            sys.modules.update(replaced)
            array_api_compat.cupy = replaced["array_api_compat.cupy"]
            _made["backend"] = importlib.import_module(name).CupyBackend()
            # The stand-in compiles nothing: kernels have tests of their own, in tests/cupy_kernels.
            _made["backend"].table.entries.clear()
        finally:
            array_api_compat.cupy = before
            new = [n for n in sys.modules if n.startswith("polygrad.backends.cupy_")]
            for n in (*new, *replaced):
                sys.modules.pop(n, None)
            for n in tuple(places):
                if n.startswith("cupy_"):
                    del places[n]
            places.update(attributes)
            for n, module in saved.items():
                if module is not None:
                    sys.modules[n] = module
    return _made["backend"]


class RecordedModule(emulator.Module):
    """The emulator's kernels; a launch that is recorded is repeated by the graph."""

    def get_function(self, name):
        kernel = super().get_function(name)

        def launch(*given):
            if fake.RECORDED:
                fake.RECORDED[-1].append(lambda: kernel(*given))
            else:
                kernel(*given)

        return launch


@contextmanager
def emulated_kernels(backend):
    """Let the stand-in have the kernels too, run by the emulator.

    All products of matrices are the kernel's then, so that bits can be compared.
    """
    launcher = backend.launcher
    before, launcher.module = launcher.module, RecordedModule
    cupy_kernels.register(backend, launcher)
    for dtype in products.FAMILY.rows[0].dtypes:
        backend.kernel("matmul", dtype=dtype)(functools.partial(products.product, launcher))
    try:
        yield
    finally:
        names = {name for name, _, _ in backend.table.entries}
        backend.table.entries.clear()
        launcher.module = before
        for name in names:
            backend.forget(name)


def use_fake_cupy(monkeypatch):
    """Let `cuda:0` and `cuda:1` be its devices, as long as the test runs; the backend."""
    backend = fake_cupy()
    monkeypatch.setitem(registry._loaded, "cupy", backend)
    monkeypatch.setitem(registry._by_type, backend.array_types[0], backend)
    return backend
