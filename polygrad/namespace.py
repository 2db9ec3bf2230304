"""polygrad as an array API namespace, one for each device.

Libraries that consume the array API call `xp.zeros(n)` without a device, so a Tensor's namespace is
bound to the Tensor's device. All else in it is the same as in `polygrad` itself, the namespace of
the default device.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import math
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.errors import InvalidArgumentError, PolygradError
from polygrad.inspection import ArrayNamespaceInfo
from polygrad.ops import functions_of, late_function
from polygrad.registry import chosen_device, entries, find_device, load
from polygrad.tensor import Tensor

__all__ = ["CONSTANTS", "HIDDEN", "VERSION", "Namespace", "namespace"]

CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}
EXTENSIONS = ("fft", "linalg")
_PARTS = (*EXTENSIONS, "special")
VERSION = "2024.12"
# Libraries that find these in a namespace take them for NumPy's, which write to their argument.
HIDDEN = ("put_along_axis",)
VERSIONS = ("2021.12", "2022.12", "2023.12", VERSION, "2025.12")


class Namespace(types.ModuleType):
    """The array API namespace of one device; importable, hashable, picklable.

    Its name is that of the device: `polygrad.cpu`, `polygrad.sycl_gpu_0`.
    """

    __array_api_version__ = VERSION

    def __init__(self, device: str) -> None:
        super().__init__(_module_name(device), self.__doc__)
        self.device_name = device
        self.__path__ = []  # a package: its extensions can be imported
        for dtype in dtypes.ALL:
            setattr(self, dtype.name, dtype)
        for name, value in CONSTANTS.items():
            setattr(self, name, value)
        _fill(self, "", device)
        for space in EXTENSIONS:
            setattr(self, space, _part(self.__name__, space, device))

    def __getattr__(self, name: str) -> Any:
        """What is made when first asked for; what belongs to no device, as `xp.nn`.

        The latter is found in polygrad: `xp.bfloat16`, `xp.Tensor`.
        """
        if name.startswith("__") or name in HIDDEN:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if name == "special":
            self.special = _part(self.__name__, name, self.device_name)
            sys.modules.setdefault(self.special.__name__, self.special)
            return self.special
        function = late_function(name)
        if function is not None:
            _give(self, name, function, self.device_name)
            return getattr(self, name)
        return getattr(importlib.import_module("polygrad"), name)

    def __array_namespace_info__(self) -> ArrayNamespaceInfo:
        """Devices, dtypes and capabilities, as seen from the device of this namespace."""
        return ArrayNamespaceInfo(self.device_name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by device."""
        return namespace, (self.device_name,)

    def __repr__(self) -> str:
        """What it is."""
        return f"<array API namespace of polygrad on {self.device_name}>"


def _module_name(device: str) -> str:
    return "polygrad." + device.replace(":", "_")


def _part(name: str, space: str, device: str) -> types.ModuleType:
    """The functions of an extension, as part of the namespace `name`."""
    part = types.ModuleType(f"{name}.{space}", f"The {space} extension here.")
    _fill(part, space, device)
    return part


def _fill(module: types.ModuleType, space: str, device: str) -> None:
    """Give `module` the functions of a part of polygrad, bound to `device`."""
    for name, function in functions_of(space).items():
        if name in HIDDEN:
            continue
        _give(module, name, function, device)


def _give(module: types.ModuleType, name: str, function: Callable[..., Any], device: str) -> None:
    bind = _bound_asarray if name == "asarray" else _bound
    bound = bind(function, device)
    bound.__module__, bound.__qualname__ = module.__name__, name  # what pickles store
    setattr(module, name, bound)


def _bound(function: Callable[..., Any], device: str) -> Callable[..., Any]:
    """`function` with `device` as the default one: of what it creates, of numbers among numbers.

    A Tensor that comes first says where the function runs, so there is nothing to choose.
    """
    place = find_device(device)

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], Tensor):
            return function(*args, **kwargs)
        token = chosen_device.set(place)
        try:
            return function(*args, **kwargs)
        finally:
            chosen_device.reset(token)

    return inner


def _bound_asarray(function: Callable[..., Any], device: str) -> Callable[..., Any]:
    """`asarray` of NumPy's arrays, which are data like lists, goes to the namespace's device."""
    plain = _bound(function, device)

    @functools.wraps(function)
    def inner(obj: Any, /, **options: Any) -> Any:
        if isinstance(obj, (np.ndarray, np.generic)) and options.get("device") is None:
            options["device"] = device
        return plain(obj, **options)

    return inner


@functools.cache
def _make(device: str) -> Namespace:
    made = Namespace(device)
    for module in (made, *(getattr(made, space) for space in EXTENSIONS)):
        sys.modules.setdefault(module.__name__, module)
    return made


def namespace(device: Any = None, *, api_version: str | None = None) -> Namespace:
    """The array API namespace of `device`; of the default device if none is given.

    Raises
    ------
    InvalidArgumentError
        `api_version` is one that polygrad does not follow.
    UnknownDeviceError, BackendNotInstalledError, BackendBrokenError
        There is no such device here.

    >>> namespace("cpu").zeros(2)
    tensor([0., 0.], dtype=float32)
    """
    return _of_version(find_device(device).name, api_version)


def _of_version(device: str, api_version: str | None) -> Namespace:
    if api_version not in (None, *VERSIONS):
        raise InvalidArgumentError(
            f"the array API version {api_version!r} is not known", "argument api_version",
            "versions: " + ", ".join(VERSIONS),
        )  # fmt: skip
    return _make(device)


def _array_namespace(self: Tensor, /, *, api_version: str | None = None) -> Namespace:
    """The array API namespace of this tensor's device. Raises as `namespace`."""
    return _of_version(self.kernels.device.name, api_version)


Tensor.__array_namespace__ = _array_namespace  # type: ignore[attr-defined]


# ---- import polygrad.cpu ------------------------------------------------------------------------
class _Finder:
    """Finds `polygrad.sycl_gpu_0` for a process that has not made it: one that reads a pickle."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of a namespace or of an extension of one, None for all other modules."""
        del path, target
        package, _, last = name.rpartition(".")
        if package == "polygrad":
            device = _device_called(last)
            made: Any = None if device is None else namespace(device)
        else:
            inside = isinstance(sys.modules.get(package), Namespace) and last in _PARTS
            made = getattr(sys.modules[package], last) if inside else None
        loader: Any = _Loader(made)  # without importlib.abc, which takes time to import
        return None if made is None else importlib.machinery.ModuleSpec(name, loader)


class _Loader:
    """Loads what there is already."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """The one namespace of the device, or its part."""
        del spec
        return self.module

    def exec_module(self, module: types.ModuleType) -> None:
        """It is complete."""


def _device_called(name: str) -> str | None:
    """The device whose namespace is called `name`, if it is here."""
    for entry in entries():
        if name.startswith(entry.device_kinds):
            try:
                found = load(entry.name).devices()
            except PolygradError:
                continue
            for device in found:
                if _module_name(device.name) == f"polygrad.{name}":
                    return device.name
    return None


sys.meta_path.append(_Finder)
