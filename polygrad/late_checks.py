"""Index ranges, on devices that do not check them and that the host runs ahead of.

To look at an index array the host would have to wait for the device, at each use. Instead the
device is told to compare, and what it found is looked at when the host next waits for it anyway:
`item`, `numpy`, a copy to the host, `pg.synchronize`. Until then an index beyond its axis has read
whatever the library reads there; the error comes late, but it comes, and names the operation.
`pg.debug.check_indices()` makes each use wait and raise itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from polygrad.config import checks_now
from polygrad.errors import OutOfRangeError

if TYPE_CHECKING:
    from polygrad.device import Device

__all__ = ["LateChecks", "check_later", "check_range", "is_late"]

_MOST = 64  # put-off checks of a device; with one more, the host waits


class LateChecks:
    """The checks of one backend that were put off.

    Attributes
    ----------
    pending
        For each device, pairs of a 0-d array, true where an index was out of range, and the text of
        the error.
    paused
        While a graph is recorded: what it computes now will never be.
    """

    def __init__(self) -> None:
        self.pending: dict[Device, list[tuple[Any, Callable[[], OutOfRangeError]]]] = {}
        self.paused = False

    def add(self, backend: Any, device: Device, flag: Any, error: Any) -> None:
        """Put a check off."""
        if self.paused:
            return
        waiting = self.pending.setdefault(device, [])
        waiting.append((flag, error))
        if len(waiting) > _MOST:
            self.settle(backend, device)

    def settle(self, backend: Any, device: Device) -> None:
        """Look at what was put off on a device, and raise for the first that failed."""
        waiting = self.pending.pop(device, None)
        if not waiting or self.paused:
            return
        for flag, error in waiting:
            if bool(backend.to_numpy(flag)):
                raise error()


def is_late(backend: Any) -> bool:
    """Whether checks are put off on a backend, here and now."""
    return backend.capabilities.late_index_checks and not checks_now.get()


def check_range(kernels: Any, array: Any, length: int, where: Callable[[], str]) -> None:
    """Refuse indices out of range where the library would not: now, or when the host next waits.

    Raises
    ------
    OutOfRangeError
        Now, unless the backend is one whose checks are put off.
    """
    if is_late(kernels.backend):
        check_later(kernels, array, -length, length, where())
        return
    low, high = kernels.index_range(array)
    if low < -length or high >= length:
        raise OutOfRangeError(
            f"index {low if low < -length else high} is out of range: the axis has length {length}",
            where(), f"indices go from {-length} to {length - 1}",
        )  # fmt: skip


def check_later(kernels: Any, array: Any, low: int, end: int, where: str) -> None:
    """Have the device compare indices with the range from `low` to below `end`."""
    backend = kernels.backend
    error = lambda: OutOfRangeError(
        "an index was out of range (found when the host next waited for the device)", where,
        f"indices go from {low} to {end - 1}; pg.debug.check_indices() raises where it is used, "
        "and says which",
    )  # fmt: skip
    flag = kernels.index_outside(array, low, end)
    backend.late.add(backend, kernels.device, flag, error)
