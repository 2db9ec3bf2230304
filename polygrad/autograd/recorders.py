"""Recorders: they see each node as it is made. Anomaly detection and saved-tensor hooks."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from contextvars import Token
from pathlib import Path
from typing import Any, Self

import numpy as np

from polygrad.config import grad_mode, recorder
from polygrad.errors import GradientError
from polygrad.tape import Node, Packed
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = ["BaseRecorder", "detect_anomaly", "is_internal", "saved_tensors_hooks"]


class BaseRecorder:
    """A context manager that sees nodes; recorders nest, the inner one first."""

    def __init__(self) -> None:
        self._tokens: list[tuple[Token[Any], Token[Any]]] = []
        self.outer: Any = None

    def __enter__(self) -> Self:
        """Start to see nodes."""
        self.outer = recorder.get()
        first = recorder.set(self)
        second = grad_mode.set(self if grad_mode.get() else False)
        self._tokens.append((first, second))
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop."""
        first, second = self._tokens.pop()
        grad_mode.reset(second)
        recorder.reset(first)

    def annotate(self, node: Node) -> None:
        """See a node that was recorded a moment ago."""
        if self.outer is not None:
            self.outer.annotate(node)

    def check(self, node: Node, i: int, g: Any) -> None:
        """See a cotangent that a rule made."""
        if self.outer is not None:
            self.outer.check(node, i, g)

    def before(self, node: Node) -> None:
        """See a node whose rules are about to run."""
        if self.outer is not None:
            self.outer.before(node)

    def after(self, node: Node) -> None:
        """See a node whose rules have run."""
        if self.outer is not None:
            self.outer.after(node)


class detect_anomaly(BaseRecorder):  # noqa: N801  PyTorch's name
    """Find the operation behind a NaN gradient or an error in backward.

    Each operation remembers where it was called; an error in its backward carries that traceback,
    and a gradient with a NaN raises. It makes everything several times slower.

    Parameters
    ----------
    check_nan
        Whether a NaN raises.

    Examples
    --------
    >>> import numpy as np
    >>> import polygrad as pg
    >>> x = pg.tensor([-1.0], requires_grad=True)
    >>> with np.errstate(all="ignore"), pg.autograd.detect_anomaly():
    ...     try:
    ...         pg.sum(pg.sqrt(x)).backward()
    ...     except RuntimeError as error:
    ...         print(error.what)
    the backward of sqrt made a NaN for its input 0
    """

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__()
        self.check_nan = check_nan

    def annotate(self, node: Node) -> None:
        """Keep the traceback of the forward call."""
        frames = [f for f in traceback.extract_stack() if not is_internal(f.filename)]
        node.note = "".join(traceback.format_list(frames))
        super().annotate(node)

    def check(self, node: Node, i: int, g: Any) -> None:
        """Raise for a NaN."""
        if self.check_nan:
            kernels = node.kernels
            array = raw(g) if isinstance(g, Tensor) else g
            host = kernels.backend.to_numpy(array) if hasattr(array, "shape") else array
            if bool(np.isnan(host).any()):
                raise GradientError(
                    f"the backward of {node.primitive.name} made a NaN for its input {i}",
                    f"input shapes {node.shapes}; the forward call was:\n{node.note}",
                    "look for 0/0, inf - inf or a derivative that does not exist",
                )
        super().check(node, i, g)


_PACKAGE = str(Path(__file__).parent.parent) + os.sep


def is_internal(filename: str) -> bool:
    """Whether a file of source is polygrad's own, or a text that it has generated."""
    return filename.startswith((_PACKAGE, "<call of"))


class saved_tensors_hooks(BaseRecorder):  # noqa: N801  PyTorch's name
    """Pack every array saved for backward, and unpack it when backward needs it.

    Parameters
    ----------
    pack
        Called with each saved value as a constant Tensor; what it returns is kept instead.
    unpack
        Called with that; returns the Tensor again.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([2.0], requires_grad=True)
    >>> with pg.autograd.saved_tensors_hooks(lambda t: t.numpy().copy(), pg.asarray):
    ...     y = x * x
    >>> y.backward()
    >>> x.grad
    tensor([4.], dtype=float32)
    """

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        super().__init__()
        self.pack, self.unpack = pack, unpack

    def annotate(self, node: Node) -> None:
        """Replace the arrays among the saved values by what `pack` makes of them."""
        super().annotate(node)
        if type(node.saved) is not tuple:
            return
        kernels, saved = node.kernels, node.saved
        with_hooks_off = grad_mode.set(False)
        try:
            packed = [self._packed(kernels, v) for v in saved]
        finally:
            grad_mode.reset(with_hooks_off)
        unpack = self.unpack

        def restore() -> tuple[Any, ...]:
            return tuple(_map(v, lambda box: raw(unpack(box.content))) for v in packed)

        node.saved = Packed(restore)

    def _packed(self, kernels: Any, value: Any) -> Any:
        def pack(array: Any) -> Any:
            return _Box(self.pack(new_tensor(array, kernels.of(array))))

        if type(value) is tuple and value and all(type(v) is kernels.array_type for v in value):
            return tuple(pack(v) for v in value)
        return pack(value) if type(value) is kernels.array_type else value


class _Box:
    """What `pack` returned."""

    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.content = content


def _map(value: Any, function: Callable[[_Box], Any]) -> Any:
    if type(value) is _Box:
        return function(value)
    if type(value) is tuple and any(type(v) is _Box for v in value):
        return tuple(function(v) for v in value)
    return value
