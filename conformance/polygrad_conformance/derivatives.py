"""First and second derivatives of one call, on the device and on the reference backend.

Both take the derivative of the same number: the real part of the sum of the results, weighted with
cosines. Of factors that are determined up to a phase the absolute values are taken first.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.testing import floating
from polygrad_conformance import wide
from polygrad_conformance.case import Failed
from polygrad_conformance.compare import largest
from polygrad_conformance.oracle import ORACLE, seeded
from polygrad_conformance.target import Host, Target, map_arrays

__all__ = ["Derivative", "against_differences", "weights"]

_STEP = 2.0**-18
_LIMIT = 2e-6


def weights(shape: tuple[int, ...], dtype: Any, shift: float = 0.0) -> Host:
    """Fixed cotangents: cosines, with an imaginary part for complex results."""
    w = np.cos(np.arange(np.prod(shape, dtype=int)) + shift).reshape(shape)
    return np.asarray(w * (1 - 0.5j) if np.dtype(dtype).kind == "c" else w).astype(dtype)


def _determined(key: str, made: list[Any], *, hard: bool) -> list[Any]:
    """What does not depend on the phases of vectors; at hard inputs, that may have equal values
    whose vectors are free, the values alone.
    """
    if hard and key in ("linalg.eigh", "linalg.svd"):
        return [t for t in made if t.ndim == min(p.ndim for p in made)]
    if key in ("linalg.eigh", "linalg.svd", "linalg.eig", "linalg.qr"):
        return [pg.abs(t) if t.ndim > 1 else t for t in made]
    return made


class Derivative:
    """The derivative of a call with respect to its floating operands.

    At hard inputs every third cotangent is `fill`: 0, or infinite.
    """

    def __init__(self, subject: Any, sample: Any, *, fill: float | None = None) -> None:
        self.subject, self.sample, self.fill = subject, sample, fill
        self.operands: list[Host] = []

        def collect(a: Host) -> Host:
            if _tracked(a):
                self.operands.append(a)
            return a

        map_arrays((sample.args, sample.kwargs), collect)

    # ---- on the device ----------------------------------------------------------------------
    def on(self, target: Target, order: int = 1) -> list[Host]:
        """The gradients of the operands on the device."""
        upload = lambda a: target.upload(a, requires_grad=_tracked(a))
        with pg.device(target.device), np.errstate(all="ignore"):
            found = self._derive(upload, order)
        for g in found:
            if g.device != target.device:
                raise Failed(f"a gradient is on {g.device}, not on {target.device}")
        return [target.download(g) for g in found]

    # ---- the reference ----------------------------------------------------------------------
    def reference(self, order: int = 1) -> list[Host]:
        """The gradients in long double."""
        args, kwargs = self.sample.args, self.sample.kwargs
        return self._kept(("reference", order), lambda: self._wide(args, kwargs, order))

    def size(self, order: int = 1) -> float:
        """The size of terms that may have cancelled: of the gradients, and of what was derived."""
        dtype = self.operands[0].dtype.name
        below = (
            self.reference(order - 1)
            if order > 1
            else ORACLE.reference(self.subject, dtype, self.sample)
        )
        across = max(1.0, largest(self.operands))
        return max(largest(self.reference(order)), min(1.0, largest(below)) / across)

    def sensitivity(self, order: int = 1) -> list[Any]:
        """How much each gradient changes when operands and cotangents change by relative 1."""
        return self._kept(("sensitivity", order), lambda: self._sensitivity(order))

    def _kept(self, key: Any, make: Any) -> Any:
        dtype = self.operands[0].dtype.name
        return ORACLE.keep((self.subject.key, dtype), (self.sample, self.fill, key), make)

    def _sensitivity(self, order: int) -> list[Any]:
        return ORACLE.perturbed(
            lambda args, kwargs, shake: self._wide(args, kwargs, order, shake),
            self.sample.args, self.sample.kwargs, (self.subject.key, self.sample.name, order),
        )  # fmt: skip

    def _wide(self, args: Any, kwargs: Any, order: int, shake: Any = None) -> list[Host]:
        upload = lambda a: pg.tensor(wide.widen(a), device=wide.WIDE, requires_grad=_tracked(a))
        with wide.here():
            found = self._derive(upload, order, args, kwargs, shake)
        return [Target.download(g) for g in found]

    def value(self, operands: Sequence[Host], order: int = 1) -> Any:
        """What is derived, at other operands: the weighted sum, or that of the gradients."""
        left = iter(operands)
        args, kwargs = map_arrays(
            (self.sample.args, self.sample.kwargs), lambda a: next(left) if _tracked(a) else a
        )
        if order == 1:
            upload = lambda a: pg.tensor(wide.widen(a), device=wide.WIDE)
            with wide.here():
                made = self._results(upload, args, kwargs)
        else:
            upload = lambda a: pg.tensor(wide.widen(a), device=wide.WIDE, requires_grad=_tracked(a))
            with wide.here():
                made = self._derive(upload, 1, args, kwargs)
        total = wide.REAL.type(0)
        for part in map(Target.download, made):
            w = weights(part.shape, self._narrow(part), order - 1.0)
            total += np.sum(np.real(np.conj(wide.widen(w)) * part))
        return total

    # ---- both -------------------------------------------------------------------------------
    def _results(self, upload: Any, args: Any, kwargs: Any) -> list[Any]:
        args, kwargs = map_arrays((args, kwargs), upload)
        pg.manual_seed(0)
        made = floating(self.subject.function(*args, **kwargs))
        return _determined(self.subject.key, made, hard=self.fill is not None)

    def _narrow(self, part: Any) -> Any:
        """The dtype that weights are rounded to: single precision everywhere, or half."""
        half = self.operands[0].dtype.itemsize == 2
        if np.dtype(part.dtype).kind == "c":
            return np.complex64
        return self.operands[0].dtype if half else np.float32

    def _cotangent(self, t: Any, shift: float, shake: Any) -> Any:
        w = weights(t.shape, self._narrow(t), shift)
        if self.fill is not None:
            w.reshape(-1)[1::3] = self.fill
        return pg.tensor((w if shake is None else shake(w)).astype(t.dtype), device=t.device)

    def _derive(
        self, upload: Any, order: int, args: Any = None, kwargs: Any = None, shake: Any = None
    ) -> list[Any]:
        """The gradients, of the weighted sum or of that of the gradients; weights may be shaken."""
        leaves: list[Any] = []

        def leaf(a: Host) -> Any:
            made = upload(a)
            if _tracked(a):
                leaves.append(made)
            return made

        args = self.sample.args if args is None else args
        kwargs = self.sample.kwargs if kwargs is None else kwargs
        made = self._results(leaf, args, kwargs)
        for k in range(order):
            tracked = [t for t in made if t.requires_grad]
            if not tracked:
                return [pg.zeros_like(x) for x in leaves]
            cotangents = [self._cotangent(t, float(k), shake) for t in tracked]
            made = list(
                pg.autograd.grad(
                    tracked, leaves, cotangents, create_graph=k + 1 < order,
                    materialize_grads=True, allow_unused=True,
                )
            )  # fmt: skip
        return made


@functools.cache
def _kinds() -> frozenset[str]:
    return frozenset("fcV")


def _tracked(a: Host) -> bool:
    return a.dtype.kind in _kinds()


def against_differences(derivative: Derivative, order: int = 1) -> None:
    """Hold the reference derivative against a central difference along one direction.

    Raises
    ------
    Failed
        They differ: the rule is wrong, not the device.
    """
    gradients = derivative.reference(order)
    random = seeded(derivative.subject.key, derivative.sample.name, "direction")
    operands = [wide.widen(a) for a in derivative.operands]
    directions = []
    for a in operands:
        d = random.uniform(0.5, 1.0, a.shape) * random.choice([-1.0, 1.0], a.shape)
        if a.dtype.kind == "c":
            d = d + 1j * random.uniform(0.5, 1.0, a.shape)
        directions.append(d)
    up, down = (
        derivative.value(
            [np.asarray(a + s * _STEP * d) for a, d in zip(operands, directions, strict=True)],
            order,
        )
        for s in (1, -1)
    )
    want = (up - down) / (2 * _STEP)
    products = [np.real(np.conj(g) * d) for g, d in zip(gradients, directions, strict=True)]
    got = sum(np.sum(p) for p in products)
    size = sum(np.sum(np.abs(p)) for p in products) + abs(up) + abs(down)
    if not abs(got - want) <= _LIMIT * (size + 1) and np.isfinite(want):
        raise Failed(
            f"the rule is wrong, on every device: the slope along one direction is {float(got)}, "
            f"differences give {float(want)}"
        )
