"""The CuPy plugin over the stand-in of `tests.fake_cupy`, by itself or as the backend of `cuda`."""

from __future__ import annotations

import importlib
import sys

import polygrad.backends
from polygrad import registry
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


def use_fake_cupy(monkeypatch):
    """Let `cuda:0` and `cuda:1` be its devices, as long as the test runs; the backend."""
    backend = fake_cupy()
    monkeypatch.setitem(registry._loaded, "cupy", backend)
    monkeypatch.setitem(registry._by_type, backend.array_types[0], backend)
    return backend
