"""Fixtures that every test shares: each device in turn, and a fresh start."""

from __future__ import annotations

import importlib.util

import pytest

import polygrad as pg
from tests.devices import DEVICES, use

# Doctests import every module; a plugin cannot be imported where its library is not installed.
PLUGINS = {"cupy": "cupy", "dpnp": "dpnp", "jax": "jax", "strict": "array_api_strict"}
collect_ignore = [
    f"polygrad/backends/{name}_backend.py"
    for name, library in PLUGINS.items()
    if importlib.util.find_spec(library) is None
]
# Modules that import SciPy or einops: tests run them in a Python of their own; PyTorch: none does.
collect_ignore_glob = [
    "conformance/citizens/*", "conformance/pytorch_parity/*",
    "polygrad/interop/einops_backend.py", "polygrad/interop/scipy_fft.py",
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
