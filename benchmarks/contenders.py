"""Who is measured: polygrad, PyTorch eager, NumPy, dpnp and CuPy by hand, and other tapes."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

# A step does the work once; a setup makes a step for a device.
Step = Callable[[], object]
Setup = Callable[[str], Step]


@dataclass(frozen=True)
class Contender:
    """A library, and the kinds of device that it is measured on (None: every one).

    `text` is whose text of a workload it runs, `needs` what must be installed besides `module`.
    """

    module: str
    install: str
    text: str
    device_kinds: tuple[str, ...] | None = ("cpu",)
    needs: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def reason_to_skip(self, device: str) -> str | None:
        """Why it is not measured on `device`, or None."""
        for module in (self.module, *self.needs):
            if importlib.util.find_spec(module) is None:
                return f"{module} not installed: {self.install}"
        if self.device_kinds is not None and device.partition(":")[0] not in self.device_kinds:
            return f"not measured on {device}"
        return None

    def version(self) -> str | None:
        """The installed version, or None."""
        try:
            return importlib.metadata.version(self.module)
        except importlib.metadata.PackageNotFoundError:
            return None

    def prepare(self, threads: int) -> None:
        """Import it, in the process that it will run in, and tell it how many threads to use."""
        module = importlib.import_module(self.module)
        if self.module == "torch":
            module.set_num_threads(threads)


FAST = "polygrad[fast]"
# In the order of the table's columns; the first is divided by the others.
CONTENDERS = {
    "polygrad": Contender(
        "polygrad", "pip install --editable .", "polygrad", None,
        environment={"POLYGRAD_FAST": "0"},
    ),
    FAST: Contender(
        "polygrad", "pip install --editable '.[fast]'", "polygrad", needs=("numba",),
        environment={"POLYGRAD_FAST": "1"},
    ),
    "PyTorch": Contender("torch", "pip install torch==2.13.0", "PyTorch", ("cpu", "cuda")),
    "NumPy": Contender("numpy", "pip install numpy", "NumPy"),
    "dpnp": Contender("dpnp", "pip install dpnp", "dpnp", ("sycl",)),
    "CuPy": Contender("cupy", "pip install 'polygrad[cuda13]'", "CuPy", ("cuda", "rocm")),
    "JAX": Contender("jax", "pip install jax", "JAX", environment={"JAX_PLATFORMS": "cpu"}),
    "autograd": Contender("autograd", "pip install autograd", "autograd"),
    "MyGrad": Contender("mygrad", "pip install mygrad", "MyGrad"),
}  # fmt: skip


def side_by_side(
    taped: Callable[..., Step],
    by_hand: Callable[..., Step] | None = None,
    in_dpnp: Callable[..., Step] | None = None,
    in_cupy: Callable[..., Step] | None = None,
    **options: Any,
) -> dict[str, Setup]:
    """The setups of polygrad and PyTorch from one text, and of its hand-written twins.

    They are called as `taped(library, device, **options)`, `by_hand(**options)`, and
    `in_dpnp(device, **options)`, `in_cupy(device, **options)`.
    """

    def on(name: str) -> Setup:
        module = CONTENDERS[name].module
        return lambda device: taped(importlib.import_module(module), device, **options)

    setups = {name: on(name) for name in ("polygrad", "PyTorch")}
    if by_hand is not None:
        setups["NumPy"] = lambda _device: by_hand(**options)
    if in_dpnp is not None:
        setups["dpnp"] = lambda device: in_dpnp(device, **options)
    if in_cupy is not None:
        setups["CuPy"] = lambda device: in_cupy(device, **options)
    return setups
