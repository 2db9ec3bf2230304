"""Who is measured: polygrad, PyTorch eager, and NumPy by hand."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# A step does the work once; a setup makes a step for a device.
Step = Callable[[], object]
Setup = Callable[[str], Step]


@dataclass(frozen=True)
class Contender:
    """A library, and the kinds of device that it is measured on (None: every one)."""

    module: str
    install: str
    device_kinds: tuple[str, ...] | None = None

    def reason_to_skip(self, device: str) -> str | None:
        """Why it is not measured on `device`, or None."""
        if importlib.util.find_spec(self.module) is None:
            return f"{self.module} not installed: {self.install}"
        if self.device_kinds is not None and device.partition(":")[0] not in self.device_kinds:
            return f"not measured on {device}"
        return None

    def version(self) -> str | None:
        """The installed version, or None."""
        try:
            return importlib.metadata.version(self.module)
        except importlib.metadata.PackageNotFoundError:
            return None


# In the order of the table's columns; the first is divided by the others.
CONTENDERS = {
    "polygrad": Contender("polygrad", "pip install --editable ."),
    "PyTorch": Contender("torch", "pip install torch==2.13.0", ("cpu", "cuda")),
    "NumPy": Contender("numpy", "pip install numpy", ("cpu",)),
}


def side_by_side(
    taped: Callable[..., Step], by_hand: Callable[..., Step] | None = None, **options: Any
) -> dict[str, Setup]:
    """The setups of polygrad and PyTorch from one text, and of its hand-written twin.

    They are called as `taped(library, device, **options)` and `by_hand(**options)`.
    """

    def on(name: str) -> Setup:
        module = CONTENDERS[name].module
        return lambda device: taped(importlib.import_module(module), device, **options)

    setups = {name: on(name) for name in ("polygrad", "PyTorch")}
    if by_hand is not None:
        setups["NumPy"] = lambda _device: by_hand(**options)
    return setups
