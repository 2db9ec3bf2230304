"""In-place operators and `inplace=True`: the same numbers, in the same tensor, on the tape."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.declarations import dtypes_of, subjects
from polygrad_conformance.derivatives import weights
from polygrad_conformance.oracle import seeded
from polygrad_conformance.target import Host, Target

OPERATORS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], str]] = {
    "iadd": (operator.iadd, operator.add, "ifc"),
    "isub": (operator.isub, operator.sub, "ifc"),
    "imul": (operator.imul, operator.mul, "ifc"),
    "itruediv": (operator.itruediv, operator.truediv, "fc"),
    "ifloordiv": (operator.ifloordiv, operator.floordiv, "if"),
    "imod": (operator.imod, operator.mod, "if"),
    "ipow": (operator.ipow, operator.pow, "f"),
    "iand": (operator.iand, operator.and_, "bi"),
    "ior": (operator.ior, operator.or_, "bi"),
    "ixor": (operator.ixor, operator.xor, "bi"),
    "ilshift": (operator.ilshift, operator.lshift, "i"),
    "irshift": (operator.irshift, operator.rshift, "i"),
}


def cases(level: str) -> Iterator[Case]:
    """Each operator with a tensor, a number and through a view; each function with `inplace`."""
    for name, (write, plain, kinds) in OPERATORS.items():
        for dtype in dtypes_of(kinds, level):
            for sample in ("tensor", "number", "view", "itself", "overlap"):

                def action(
                    target: Any, write: Any = write, plain: Any = plain, dtype: str = dtype,
                    sample: str = sample,
                ) -> None:  # fmt: skip
                    run = _aliased if sample in ("itself", "overlap") else _operator
                    run(target, write, plain, dtype, sample)

                yield Case(f"in_place.{name}", dtype, "value", sample, action, "", 3, "",
                           "in place")  # fmt: skip
            if np.dtype(dtype).kind == "f" and name not in ("ifloordiv", "imod"):
                yield Case(
                    f"in_place.{name}", dtype, "grad", "view",
                    lambda t, w=write, p=plain, d=dtype: _gradient(t, w, p, d), "", 5, "",
                    "in place",
                )  # fmt: skip
    for subject in subjects().values():
        if "inplace" in inspect.signature(subject.operation.function).parameters:
            yield Case(
                subject.key, "float32", "value", "in-place", lambda t, s=subject: _keyword(t, s),
                "", subject.step, subject.space, subject.chapter,
            )  # fmt: skip


def _operands(dtype: str) -> tuple[Host, Host]:
    random = seeded("in place", dtype)
    plain = np.dtype(dtype)
    if plain.kind == "b":
        return random.uniform(size=(3, 4)) < 0.5, random.uniform(size=4) < 0.5
    if plain.kind in "iu":
        return (random.integers(1, 9, (3, 4)).astype(dtype), random.integers(1, 4, 4).astype(dtype))
    x, y = (random.uniform(0.5, 2.0, shape) for shape in ((3, 4), (4,)))
    return x.astype(dtype), y.astype(dtype)


def _equal(got: Host, want: Host, what: str) -> None:
    if got.dtype != want.dtype or got.shape != want.shape:
        raise Failed(
            f"{what} is {got.dtype} of shape {got.shape}, expected {want.dtype}, {want.shape}"
        )
    if got.tobytes() != want.tobytes():
        raise Failed(f"{what} is not what the plain operation gives")


def _operator(target: Target, write: Any, plain: Any, dtype: str, sample: str) -> None:
    x, y = _operands(dtype)
    base, other = target.upload(x), target.upload(y)
    if sample == "number":
        other = True if np.dtype(dtype).kind == "b" else 2
    want = target.download(plain(target.upload(x), other))
    t = base[1:, ::2] if sample == "view" else base
    other = other[::2] if sample == "view" else other
    made = write(t, other)
    if made is not t:
        raise Failed("the operator returned another tensor")
    if sample == "view":
        whole = target.fits(x).copy()
        whole[1:, ::2] = want[1:, ::2]
        want = whole
    _equal(target.download(base), want, "the tensor")


def _aliased(target: Target, write: Any, plain: Any, dtype: str, sample: str) -> None:
    """With itself, or with a part of itself that it overlaps: read before anything is written."""
    x, _ = _operands(dtype)
    base, want = target.upload(x), target.fits(x).copy()
    to, source = (slice(None), slice(None)) if sample == "itself" else (slice(1, 3), slice(0, 2))
    want[to] = target.download(plain(target.upload(x[to]), target.upload(x[source])))
    write(base[to], base[source])
    _equal(target.download(base), want, "the tensor")


def _gradient(target: Target, write: Any, plain: Any, dtype: str) -> None:
    """Through a view of a copy: the same gradients as of the plain operation, to the last bit."""
    x, y = _operands(dtype)
    w = target.upload(weights(x.shape, dtype))
    results = []
    for place in (True, False):
        a, b = target.upload(x, requires_grad=True), target.upload(y, requires_grad=True)
        c = a * 1
        if place:
            write(c[1:], b)
        else:
            c = pg.concat([c[:1], plain(c[1:], b)], axis=0)
        results.append([target.download(g) for g in pg.autograd.grad([c], [a, b], [w])])
    for i, (got, want) in enumerate(zip(*results, strict=True)):
        if not np.allclose(got.astype(float), want.astype(float), rtol=1e-2 if
                           got.dtype.itemsize == 2 else 1e-5):  # fmt: skip
            raise Failed(f"the gradient of operand {i} is not that of the plain operation")


def _keyword(target: Target, subject: Any) -> None:
    sample = subject.samples("float32")[0]
    args = [target.upload(a) if isinstance(a, np.ndarray) else a for a in sample.args]
    want = target.download(target.call(subject, args, sample.kwargs))
    made = target.call(subject, args, {**sample.kwargs, "inplace": True})
    _equal(target.download(args[0]), want, "the operand")
    _equal(target.download(made), want, "the result")
