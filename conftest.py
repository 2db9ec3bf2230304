"""Fixtures that every test shares: each device in turn, and a fresh start."""

from __future__ import annotations

import gc
import importlib.util
import os
import sys
from pathlib import Path

import pytest

# What everybody has; tests/test_numba_kernels.py is about the kernels that need numba.
os.environ.setdefault("POLYGRAD_FAST", "0")

import polygrad as pg
from tests.devices import DEVICES, use

# Doctests import every module; a plugin cannot be imported where its library is not installed.
PLUGINS = {"cupy": "cupy", "dpnp": "dpnp", "jax": "jax", "strict": "array_api_strict"}
MISSING = [name for name, library in PLUGINS.items() if importlib.util.find_spec(library) is None]
# Modules that import SciPy or einops: tests run them in a Python of their own; PyTorch: none does.
collect_ignore_glob = [
    "conformance/citizens/*", "conformance/pytorch_parity/*",
    "polygrad/interop/einops_backend.py", "polygrad/interop/scipy_fft.py",
    *(f"polygrad/backends/{name}_*.py" for name in MISSING),
    *(["polygrad/backends/numba_kernels/*"] if importlib.util.find_spec("numba") is None else []),
]


@pytest.fixture(params=DEVICES)
def device(request):
    """Each device in turn."""
    return use(request.param)


@pytest.fixture(autouse=True)
def _fresh_defaults():
    """Each test starts from the same defaults and the same random numbers."""
    pg.manual_seed(0)
    yield
    pg.set_default_dtype(pg.float32)
    pg.set_default_device(None)
    _forget_compiled()


_GROWTH = 2 << 30  # bytes of compiled code that a worker may gather
_forgotten = [0]


def _forget_compiled():
    """Drop what JAX compiled, which it keeps for ever, when the process has grown too much."""
    compiler, statm = sys.modules.get("jax"), Path("/proc/self/statm")
    if compiler is None or not statm.exists():
        return
    pages = int(statm.read_text(encoding="ascii").split()[1])
    if pages * os.sysconf("SC_PAGE_SIZE") > _forgotten[0] + _GROWTH:
        compiler.clear_caches()
        gc.collect()
        pages = int(statm.read_text(encoding="ascii").split()[1])
        _forgotten[0] = pages * os.sysconf("SC_PAGE_SIZE")
