"""Who holds a device's memory, for the message of an error: what is alive, and how large.

Nothing is counted while a program runs. When memory has run out, the objects that Python's
collector knows are looked through once: Tensors hold values, nodes of the tape what they saved for
backward, the buckets of optimisers their state. Arrays that only the program holds are not seen.
"""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from polygrad.device import Device
from polygrad.sizes import size_text

__all__ = ["holders"]

_ATTRIBUTES = {  # where an object of polygrad's holds arrays, and what they are then
    "array": "tensors", "saved": "saved for backward", "arrays": "optimiser state",
}  # fmt: skip
_SHOWN = 3


def holders(backend: Any, device: Device) -> str:
    """What polygrad's objects hold on a device, the largest groups first; empty if nothing."""
    groups: Counter[tuple[str, str, int]] = Counter()
    seen: set[int] = set()
    for array, what in _arrays(device):
        if id(array) in seen or not isinstance(array, backend.array_types):
            continue
        seen.add(id(array))
        shape = tuple(array.shape)
        dtype = backend.dtype_of(array)
        groups[what, f"{dtype} {shape}", math.prod(shape) * dtype.itemsize] += 1
    texts = []
    for what in _ATTRIBUTES.values():
        held = [(label, size, n) for (kind, label, size), n in groups.items() if kind == what]
        if not held:
            continue
        held.sort(key=lambda entry: -entry[1] * entry[2])
        largest = ", ".join(
            f"{n} x {label} of {size_text(size)}" for label, size, n in held[:_SHOWN]
        )
        total = sum(size * n for _, size, n in held)
        texts.append(f"{what}: {size_text(total)} ({largest}{', ...' * (len(held) > _SHOWN)})")
    return "; ".join(texts)


def _arrays(device: Device) -> Iterator[tuple[Any, str]]:
    """Raw arrays of a device, and in what role they were found."""
    ours: dict[type, bool] = {}
    for thing in gc.get_objects():
        cls = type(thing)
        if cls not in ours:
            ours[cls] = any(str(b.__module__).startswith("polygrad.") for b in cls.__mro__)
        if not ours[cls]:
            continue
        kernels = _of(thing, "kernels")
        if getattr(kernels, "device", None) != device:
            continue
        is_view = type(_of(thing, "alias")) not in (type(None), set)
        for name, what in _ATTRIBUTES.items():
            value = _of(thing, name)
            if value is None or is_view:
                continue
            for array in value if isinstance(value, (tuple, list)) else (value,):
                yield array, what


def _of(thing: Any, name: str) -> Any:
    """An attribute that is there already, or None; no code of the object's class is run."""
    try:
        return object.__getattribute__(thing, name)
    except AttributeError:
        return None
