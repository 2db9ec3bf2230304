"""Devices: hashable values that compare equal to their names."""

from __future__ import annotations

from typing import Any, NoReturn

from polygrad.errors import InvalidTypeError

__all__ = ["Device"]


class Device:
    """A place where arrays live: a kind such as `cuda`, and what follows, such as `0`.

    A Device equals, and hashes as, its name: `pg.Device("cuda:0") == "cuda:0"`. Names are
    canonical: `cuda` alone is resolved to `cuda:0` by the backend when a device is looked up.

    >>> d = Device("sycl:cpu:0")
    >>> d.kind, d.rest, d == "sycl:cpu:0", {d: 1}["sycl:cpu:0"]
    ('sycl', 'cpu:0', True, 1)
    """

    __slots__ = ("kind", "name", "rest")

    name: str
    kind: str
    rest: str

    def __init__(self, name: Any) -> None:
        if isinstance(name, Device):
            name = name.name
        if not isinstance(name, str) or not name:
            raise InvalidTypeError(
                f"a device is named by a string, not {name!r}",
                "Device, argument name",
                'write "cpu", "cuda:0", "sycl:gpu:0", … (pg.devices() lists those present)',
            )
        self.name = name
        self.kind, _, self.rest = name.partition(":")

    def __getattr__(self, name: str) -> NoReturn:
        """PyTorch's `type` and `index`: the error says what to write."""
        from polygrad.hints import missing_device_part  # noqa: PLC0415  for a mistake only

        raise missing_device_part(name)

    def __eq__(self, other: object) -> bool:
        """Equal to a Device or a string of the same name."""
        if isinstance(other, Device):
            return self.name == other.name
        return self.name == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        """The hash of the name, so that a string finds the same dictionary entry."""
        return hash(self.name)

    def __str__(self) -> str:
        """The name."""
        return self.name

    def __repr__(self) -> str:
        """How to write this device."""
        return f"Device({self.name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name."""
        return Device, (self.name,)
