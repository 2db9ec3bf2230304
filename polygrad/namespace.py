"""polygrad as an array API namespace, one for each device.

Libraries that consume the array API call `xp.zeros(n)` without a device, so a Tensor's namespace is
bound to the Tensor's device. All else in it is the same as in `polygrad` itself, the namespace of
the default device.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
import types
from typing import Any

from polygrad import dtypes
from polygrad.errors import InvalidArgumentError
from polygrad.ops import functions_of
from polygrad.registry import device as use_device
from polygrad.registry import find_device

__all__ = ["CONSTANTS", "Namespace", "namespace"]

CONSTANTS = {"e": math.e, "inf": math.inf, "nan": math.nan, "newaxis": None, "pi": math.pi}
EXTENSIONS = ("fft", "linalg")
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class Namespace(types.ModuleType):
    """The array API namespace of one device; importable, hashable, picklable."""

    __array_api_version__ = "2024.12"

    def __init__(self, device: str) -> None:
        super().__init__("polygrad." + device.replace(":", "_"), self.__doc__)
        self.device_name = device
        for dtype in (*dtypes.ALL,):
            setattr(self, dtype.name, dtype)
        for name, value in CONSTANTS.items():
            setattr(self, name, value)
        for name, function in functions_of().items():
            setattr(self, name, _bound(function, device))
        for space in EXTENSIONS:
            setattr(self, space, _extension(self.__name__, space, device))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by device."""
        return namespace, (self.device_name,)

    def __repr__(self) -> str:
        """What it is."""
        return f"<array API namespace of polygrad on {self.device_name}>"


def _extension(name: str, space: str, device: str) -> types.ModuleType:
    """The functions of an extension, as part of the namespace `name`."""
    part = types.ModuleType(f"{name}.{space}", f"The {space} extension on {device}.")
    for function, of_default_device in functions_of(space).items():
        setattr(part, function, _bound(of_default_device, device))
    return part


def _bound(function: Any, device: str) -> Any:
    """A creation function with the device of its namespace as default; others unchanged."""
    if "device" not in inspect.signature(function).parameters:
        return function

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        with use_device(device):
            return function(*args, **kwargs)

    return inner


@functools.cache
def _make(device: str) -> Namespace:
    made = Namespace(device)
    sys.modules.setdefault(made.__name__, made)
    return made


def namespace(device: Any = None, *, api_version: str | None = None) -> Namespace:
    """The array API namespace of `device`; of the default device if none is given.

    Raises
    ------
    InvalidArgumentError
        `api_version` is one that polygrad does not follow.

    >>> namespace("cpu").zeros(2)
    tensor([0., 0.], dtype=float32)
    """
    if api_version not in (None, *VERSIONS):
        raise InvalidArgumentError(
            f"the array API version {api_version!r} is not known", "argument api_version",
            "versions: " + ", ".join(VERSIONS),
        )  # fmt: skip
    return _make(find_device(device).name)
