"""polygrad: one tape-based autograd for every array library that follows the Python array API.

>>> import polygrad as pg
>>> x = pg.tensor([1.0, 2.0], requires_grad=True)
>>> pg.sum(x * x).backward()
>>> x.grad
tensor([2., 4.], dtype=float32)
"""

from __future__ import annotations

import importlib
from typing import Any

import polygrad.backends
import polygrad.methods  # noqa: F401  it attaches the operators
from polygrad.config import default_dtype as get_default_dtype
from polygrad.config import (
    enable_grad,
    is_grad_enabled,
    no_grad,
    set_default_dtype,
    set_grad_enabled,
    use_deterministic_algorithms,
)
from polygrad.device import Device
from polygrad.dtypes import STANDARD as _STANDARD
from polygrad.dtypes import float16
from polygrad.errors import GraphCutWarning, PolygradError
from polygrad.inspection import ArrayNamespaceInfo as _ArrayNamespaceInfo
from polygrad.interop.imports import when_imported as _when_imported
from polygrad.namespace import CONSTANTS as _CONSTANTS
from polygrad.namespace import VERSION as _VERSION
from polygrad.namespace import namespace
from polygrad.ops import LATE as _LATE
from polygrad.ops import functions_of as _functions_of
from polygrad.ops import late_function as _late_function
from polygrad.registry import default_device as get_default_device
from polygrad.registry import device, devices, set_default_device
from polygrad.tensor import Tensor

__version__ = "0.1.0"
__array_api_version__ = _VERSION
__array_namespace_info__ = _ArrayNamespaceInfo

_LAZY = {
    "amp", "autograd", "data", "debug", "fft", "io", "linalg", "metrics", "nn", "optim", "random",
    "special", "testing",
}  # fmt: skip
_LAZY_NAMES = {
    "manual_seed": "random", "Generator": "random", "show_kernels": "debug",
    "load": "io", "save": "io", "device_properties": "properties",
    "empty_cache": "accelerator", "memory_stats": "accelerator", "stream": "accelerator",
    "synchronize": "accelerator", "OutOfMemoryError": "errors", "cuda_graph": "capture",
    "profile": "profiling", "summary": "nn.summary",
    "enable_scipy": "interop.scipy_switch", "external": "interop.external",
}  # fmt: skip

globals().update({dtype.name: dtype for dtype in _STANDARD})
globals().update(_CONSTANTS)
_FUNCTIONS = _functions_of()
globals().update(_FUNCTIONS)

__all__ = [  # noqa: PLE0604  the registry's names are not literals
    "Device", "GraphCutWarning", "PolygradError", "Tensor", "device", "devices", "enable_grad",
    "float16", "get_default_device", "get_default_dtype", "is_grad_enabled", "namespace", "no_grad",
    "set_default_device", "set_default_dtype", "set_grad_enabled", "use_deterministic_algorithms",
    *sorted(_LAZY_NAMES), *sorted(_LAZY), *(dtype.name for dtype in _STANDARD), *_CONSTANTS,
    *_FUNCTIONS, *(name for names in _LATE.values() for name in names),
]  # fmt: skip


_when_imported("einops._backends", "polygrad.interop.einops_backend")


def __getattr__(name: str) -> Any:
    """Subpackages are imported when they are first used."""
    if name == "bfloat16":
        from polygrad import dtypes  # noqa: PLC0415

        return dtypes.bfloat16
    function = _late_function(name)
    if function is not None:
        return globals().setdefault(name, function)
    module = _LAZY_NAMES.get(name)
    if module is not None:
        return getattr(importlib.import_module(f"polygrad.{module}"), name)
    if name in _LAZY:
        return importlib.import_module(f"polygrad.{name}")
    from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

    raise missing(__name__, name)


def __dir__() -> list[str]:
    """All public names."""
    return sorted(__all__)
