"""What a namespace tells its consumers of itself: devices, dtypes, capabilities.

The functions of `xp.__array_namespace_info__()`, as the array API standard defines them.
"""

from __future__ import annotations

from typing import Any

from polygrad import dtypes
from polygrad.config import default_complex_dtype, default_dtype
from polygrad.device import Device
from polygrad.errors import InvalidArgumentError
from polygrad.registry import default_integer, find_backend, find_device

__all__ = ["ArrayNamespaceInfo"]

_KINDS = {
    "bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu",
    "real floating": "f", "complex floating": "c", "numeric": "iufc",
}  # fmt: skip


class ArrayNamespaceInfo:
    """Inspection of the namespace of one device; of the default device if none is given.

    >>> import polygrad as pg
    >>> info = pg.namespace("cpu").__array_namespace_info__()
    >>> info.default_device(), info.default_dtypes()["real floating"]
    (Device('cpu'), dtype('float32'))
    """

    def __init__(self, device: str | None = None) -> None:
        self._device = device

    def _find(self, device: Any) -> Device:
        return find_device(self._device if device is None else device)

    def capabilities(self) -> dict[str, Any]:
        """Boolean indexing, data-dependent shapes (bools) and max dimensions (an int or None)."""
        has = find_backend(self._find(None).kind).capabilities
        return {
            "boolean indexing": has.data_dependent_shapes,
            "data-dependent shapes": has.data_dependent_shapes,
            "max dimensions": has.max_dimensions,
        }

    def default_device(self) -> Device:
        """The device of arrays that are made without `device=`."""
        return self._find(None)

    def default_dtypes(self, *, device: Any = None) -> dict[str, dtypes.Dtype]:
        """The dtypes of arrays that are made without `dtype=`, and of indices.

        Raises
        ------
        UnknownDeviceError
            There is no such device.
        """
        whole = default_integer(self._find(device))
        return {
            "real floating": default_dtype(),
            "complex floating": default_complex_dtype(),
            "integral": whole,
            "indexing": whole,
        }

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, dtypes.Dtype]:
        """The standard's dtypes that a device has, by name; of one kind or several if given.

        Raises
        ------
        InvalidArgumentError
            The standard has no such kind.
        UnknownDeviceError
            There is no such device.

        >>> ArrayNamespaceInfo("cpu").dtypes(kind="real floating")
        {'float32': dtype('float32'), 'float64': dtype('float64')}
        """
        found = self._find(device)
        supports = find_backend(found.kind).supports
        kinds = (kind,) if isinstance(kind, str) else kind
        for name in kinds or ():
            if name not in _KINDS:
                raise InvalidArgumentError(
                    f"{name!r} is no kind of dtypes", "dtypes, argument kind",
                    "kinds: " + ", ".join(_KINDS),
                )  # fmt: skip
        codes = "biufc" if kinds is None else "".join(_KINDS[name] for name in kinds)
        return {d.name: d for d in dtypes.STANDARD if d.kind in codes and supports(d, found)}

    def devices(self) -> list[Device]:
        """The devices that the array library of this namespace has.

        Those of other libraries, to which `device=` and `to_device` reach as well, are in
        `pg.devices()`: to list them is to import every array library that is installed.
        """
        return list(find_backend(self._find(None).kind).devices())
