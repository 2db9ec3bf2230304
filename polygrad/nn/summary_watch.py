"""How `summary` runs a forward: its arguments, what the modules do meanwhile, no trace after it."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from polygrad import dtypes, random, tree
from polygrad.config import default_dtype, no_grad
from polygrad.errors import InvalidArgumentError
from polygrad.nn.hooks import register_module_forward_hook, register_module_forward_pre_hook
from polygrad.nn.module import Module
from polygrad.nn.multiply_adds import multiply_adds
from polygrad.nn.places import put_in_place
from polygrad.ops.creation import to_place
from polygrad.ops.filling import zeros
from polygrad.registry import kernels_for
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import View
from polygrad.writes import assign

if TYPE_CHECKING:
    from polygrad.device import Device

__all__ = ["Seen", "Watch", "arguments", "bytes_of", "untouched"]


def bytes_of(t: Tensor) -> int:
    """The memory that the numbers of a tensor take."""
    return t.size * t.dtype.itemsize


# ---- arguments ----------------------------------------------------------------------------------
def arguments(
    given: Any, device: Device, dtype: Any, tensors: list[Tensor]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments of forward, shapes among them made Tensors.

    Raises
    ------
    InvalidArgumentError
        There are several dtypes, but not one for each shape.
    """
    if given is None:
        return (), {}
    if isinstance(given, Mapping):
        values, keys = list(given.values()), list(given)
    elif _is_shape(given) or not isinstance(given, (list, tuple)) or tree.is_namedtuple(given):
        values, keys = [given], []
    else:
        values, keys = list(given), []
    shapes = sum(map(_is_shape, values))
    several = isinstance(dtype, (list, tuple))
    wanted = list(dtype) if several else [dtype] * shapes
    if len(wanted) != shapes:
        raise InvalidArgumentError(
            f"{len(wanted)} dtypes for {shapes} shapes", "summary, argument dtype",
            "pass one for all, or one for each shape",
        )  # fmt: skip
    floating = next((t.dtype for t in tensors if t.kernels.inexact), default_dtype())
    numbers, places = random.Generator(0), iter(wanted)
    made = [
        _filled(tuple(v), next(places) or floating, device, numbers) if _is_shape(v) else v
        for v in values
    ]
    return ((), dict(zip(keys, made, strict=True))) if keys else (tuple(made), {})


def _is_shape(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple)) and bool(value)
        and all(isinstance(n, int) and not isinstance(n, bool) for n in value)
    )  # fmt: skip


def _filled(
    shape: tuple[int, ...], dtype: Any, device: Device, numbers: random.Generator
) -> Tensor:
    """Normal numbers, of integers zeros: they are valid indices."""
    dtype = dtypes.canonical(dtype)
    if dtypes.kind_of(dtype) < dtypes.REAL:
        return zeros(shape, dtype=dtype, device=device)
    kernels_for(device, dtype, "summary, argument dtype")
    real = dtypes.real_of(dtype)
    drawn = random.normal(shape, dtype=real, device=device, generator=numbers)
    return to_place(drawn, dtype)


# ---- watching -----------------------------------------------------------------------------------
@dataclass
class Seen:
    """What one module did."""

    outputs: list[Any] = field(default_factory=list)
    bytes: int = 0
    multiply_adds: int | None = None
    seconds: float = math.inf
    running: float = 0.0


class Watch:
    """Listens to this thread's calls of modules: what they return, then how long they take."""

    def __init__(self, modules: list[Module], tensors: list[Tensor]) -> None:
        self.seen = {module: Seen() for module in modules}
        self.places = {(t.kernels.backend, t.device) for t in tensors}
        self.memory: dict[int, weakref.ref[Tensor]] = {}
        self.started: list[tuple[Module, float]] = []
        self.timing, self.thread = False, threading.get_ident()
        for t in tensors:
            self._is_new(t)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Within the block."""
        with (
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, with_kwargs=True),
        ):
            yield

    @contextmanager
    def clock(self) -> Iterator[None]:
        """One forward of the model is timed."""
        self.timing, self.started = True, []
        for seen in self.seen.values():
            seen.running = 0.0
        yield
        for seen in self.seen.values():
            seen.seconds = min(seen.seconds, seen.running)

    def _now(self) -> float:
        for backend, device in self.places:
            backend.synchronize(device)
        return time.perf_counter()

    def _before(self, module: Module, args: tuple[Any, ...]) -> None:
        del args
        if self.timing and module in self.seen and self.thread == threading.get_ident():
            self.started.append((module, self._now()))

    def _after(
        self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any
    ) -> None:
        if module not in self.seen or self.thread != threading.get_ident():
            return
        seen = self.seen[module]
        if self.timing:
            end = self._now()
            called, start = self.started.pop()
            while called is not module:  # its forward raised, and the model went on
                called, start = self.started.pop()
            seen.running += end - start
            return
        seen.outputs.append(tree.tree_map(_described, output))
        found = [t for t in tree.leaves(output) if isinstance(t, Tensor)]
        seen.bytes += sum(bytes_of(t) for t in found if self._is_new(t))
        count = multiply_adds(module, (args, kwargs, output))
        if count is not None:
            seen.multiply_adds = (seen.multiply_adds or 0) + count

    def _is_new(self, t: Tensor) -> bool:
        """Whether nobody returned this memory before; an id alone may be used again."""
        root = t.alias.root if type(t.alias) is View else t
        known = self.memory.get(id(root))
        if known is not None and known() is root:
            return False
        self.memory[id(root)] = weakref.ref(root)
        return True


def _described(value: Any) -> Any:
    """The shape of a Tensor, the class of anything else."""
    if isinstance(value, Tensor):
        return value.shape
    return None if value is None else type(value).__name__


# ---- no trace -----------------------------------------------------------------------------------
@contextmanager
def untouched(model: Module) -> Iterator[None]:
    """After the block modes, parameters, buffers, gradients and random numbers are as before.

    The arrays are held meanwhile, so that writes go to copies.
    """
    modules = list(model.modules())
    modes = [m.training for m in modules]
    held = [(dict(m.registry), {n: m.__dict__[n] for n in m.registry}) for m in modules]
    tensors = [*model.parameters(), *model.buffers()]
    gradients = [t.gradient for t in tensors]
    values = [(t, raw(t), t.kernels) for t in (*tensors, *gradients) if t is not None]
    try:
        with random.fork_rng():
            yield
    finally:
        for module, mode, (registry, attributes) in zip(modules, modes, held, strict=True):
            module.__dict__["training"] = mode
            for added in set(module.registry) - set(registry):
                module.__dict__.pop(added, None)
            module.registry.clear()
            module.registry.update(registry)
            module.__dict__.update(attributes)
        for t, gradient in zip(tensors, gradients, strict=True):
            t.gradient = gradient
        for t, array, kernels in values:
            _restore(t, new_tensor(array, kernels))


def _restore(t: Tensor, value: Tensor) -> None:
    if raw(t) is value.array:
        return
    if t.kernels is not value.kernels:
        put_in_place(t, value)
        return
    with no_grad():
        assign(t, value)
