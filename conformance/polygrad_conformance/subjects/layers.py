"""Layers: the examples of each on the device, against long double: outputs, gradients, buffers.

Each example runs while it trains, as `0`, with one element along the first axis of each input, as
`0-single`, and after a step of training while it evaluates, as `0-evaluating`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn
from polygrad.errors import PolygradError
from polygrad.testing import Sampler, floating
from polygrad.tree import leaves
from polygrad_conformance import wide
from polygrad_conformance.case import Case, Failed, Measure
from polygrad_conformance.derivatives import weights
from polygrad_conformance.layer_examples import Example, examples_of
from polygrad_conformance.oracle import ORACLE
from polygrad_conformance.programs import Outcome, compare_outcomes
from polygrad_conformance.target import Host, Target, map_arrays

# Kinds of check by how an example runs.
CHECKS = {
    "": ("value", "grad", "dtype", "device", "purity"), "evaluating": ("value", "grad"),
    "single": ("value", "grad"),
}  # fmt: skip
# Vectors of one element are parallel, and what is left of 1 - cos is rounding.
_NOT_SINGLE = frozenset({"CosineSimilarity", "CosineEmbeddingLoss"})


def names() -> list[str]:
    """The layers that have examples."""
    found = []
    for name in nn.__all__:
        cls = getattr(nn, name)
        if isinstance(cls, type) and issubclass(cls, nn.Module) and cls.examples:
            found.append(name)
    return sorted(found)


def cases(level: str) -> Iterator[Case]:
    """For each example of each layer and each way to run it: one of each kind of check."""
    dtypes = ("float32",) if level == "smoke" else ("float32", "float64")
    for name in names():
        for dtype in dtypes:
            for key, example in examples_of(name).items():
                for way, checks in CHECKS.items():
                    plain = not way and "more" not in key
                    if plain or (
                        level != "smoke" and dtype == "float32"
                        and not (way == "single" and name in _NOT_SINGLE)
                    ):  # fmt: skip
                        yield from _cases(name, dtype, key, example, way, checks)


def _cases(
    name: str, dtype: str, key: str, example: Example, way: str, checks: tuple[str, ...]
) -> Iterator[Case]:
    sample = f"{key}-{way}" if way else key
    for check in checks:

        def action(target: Any, check: str = check) -> Measure:
            run = target.keep(
                (f"nn.{name}", dtype), ("run", sample),
                lambda: _Run(name, sample, example, dtype, way),
            )  # fmt: skip
            return run.check(target, check)

        rests = () if check == "value" else (f"nn.{name}/{dtype}/value/{sample}",)
        yield Case(f"nn.{name}", dtype, check, sample, action, "", 6, "nn", "layers", rests)


def input_of(spec: Any, s: Sampler) -> Host:
    """An array for one input of an example.

    A shape, ("index", shape, high), ("unit", shape), or ("sign", shape); an array stays one.
    """
    if isinstance(spec, np.ndarray):
        return spec
    if spec and spec[0] == "index":
        return s.integers(*spec[1], low=0, high=spec[2] if len(spec) > 2 else 2)
    if spec and spec[0] == "unit":
        return s.interval(0.0, 1.0, *spec[1])
    if spec and spec[0] == "sign":
        return np.asarray(2 * s.integers(*spec[1], low=0, high=2) - 1)
    return s.real(*spec)


def _tensors(tree: Any) -> list[pg.Tensor]:
    return [t for t in leaves(tree) if isinstance(t, pg.Tensor)]


class _Run:
    """One example of one layer, run in one way."""

    def __init__(self, name: str, sample: str, example: Example, dtype: str, way: str) -> None:
        self.name, self.sample, self.dtype, self.way = name, sample, dtype, way
        pg.manual_seed(0)
        with pg.device("cpu"):
            args, kwargs = map_arrays((example.args, example.kwargs), pg.tensor)
            self.model = getattr(nn, name)(*args, **kwargs).to(np.dtype(dtype))
        s = Sampler(f"{name} {sample.removesuffix(f'-{way}')}", dtype)
        self.arrays = [input_of(spec, s) for spec in example.inputs]
        if way == "single":
            self.arrays = [a[:1] if a.ndim else a for a in self.arrays]
        fit = lambda a: a.astype(dtype) if a.dtype.kind == "f" else a
        self.arrays, self.call = map_arrays((self.arrays, example.call), fit)

    def check(self, target: Target, check: str) -> Measure:
        """One kind of check."""
        key = (f"nn.{self.name}", self.dtype)
        if self.way == "single" and (refused := target.keep(key, self._at("no"), self._refusal)):
            return self._refuses(target, refused)
        got = target.keep(key, self._at("got"), lambda: self.on(target))
        if check == "device":
            wrong = [t.device for t in got.tensors if t.device != target.device]
            if wrong:
                raise Failed(f"a result is on {wrong[0]}, not on {target.device}")
            return Measure()
        if check == "dtype":
            wrong = {t.dtype.name for t in got.tensors if t.dtype.kind == "f"} - {self.dtype}
            if wrong:
                raise Failed(f"results of {', '.join(sorted(wrong))} in a layer of {self.dtype}")
            return Measure()
        if check == "purity":
            return self._pure(got)
        want = target.keep(key, self._at("want"), lambda: self.reference(None))
        part = "values" if check == "value" else "gradients"
        return compare_outcomes(getattr(got, part), getattr(want, part),
                                lambda: self._sensitivity(part))  # fmt: skip

    def _at(self, what: str) -> tuple[str, str]:
        return what, self.sample

    def _refusal(self) -> type[PolygradError] | None:
        """The error with which the layer refuses one element, wherever it is."""
        try:
            self.reference(None)
        except PolygradError as error:
            return type(error)
        return None

    def _refuses(self, target: Target, expected: type[PolygradError]) -> Measure:
        try:
            self.on(target)
        except expected:
            return Measure()
        raise Failed(f"no {expected.__name__} was raised")

    def _pure(self, got: Outcome) -> Measure:
        for i, (before, after) in enumerate(zip(self.arrays, got.inputs, strict=True)):
            if not np.array_equal(after, before.astype(after.dtype), equal_nan=True):
                raise Failed(f"the call changed input {i}")
        return Measure()

    def on(self, target: Target) -> Outcome:
        """On the device."""
        model = copy.deepcopy(self.model).to(target.device)
        with pg.device(target.device), np.errstate(all="ignore"):
            return self._run(model, target.upload, target.device)

    def reference(self, shake: Any) -> Outcome:
        """In long double; parameters, buffers and inputs perturbed."""
        model = copy.deepcopy(self.model).to(wide.WIDE).to(wide.REAL)
        with wide.here():
            if shake is not None:
                with pg.no_grad():
                    for p in (*model.parameters(), *model.buffers()):
                        if p.dtype.kind == "f":
                            p[...] = pg.tensor(shake(Target.download(p)), device=wide.WIDE)
            upload = lambda a, requires_grad: pg.tensor(
                wide.widen(a if shake is None or a.dtype.kind != "f" else shake(a)),
                device=wide.WIDE, requires_grad=requires_grad,
            )  # fmt: skip
            return self._run(model, upload, wide.WIDE, shake)

    def _run(self, model: Any, upload: Any, device: str, shake: Any = None) -> Outcome:
        place = lambda a: upload(a, requires_grad=a.dtype.kind == "f")
        inputs, call = map_arrays((self.arrays, self.call), place)
        pg.manual_seed(0)
        if self.way == "evaluating":
            with pg.no_grad():
                model(*inputs, **call)
            model.eval()
        made = _tensors(model(*inputs, **call))
        outputs = floating(made)
        sources = [t for t in (*_tensors([inputs, call]), *model.parameters()) if t.requires_grad]
        pairs = []
        for o in outputs:
            if o.requires_grad:
                w = weights(o.shape, self.dtype)
                w = w if shake is None else shake(w)
                pairs.append((o, pg.tensor(w.astype(o.dtype), device=device)))
        gradients = list(
            pg.autograd.grad(
                [o for o, _ in pairs], sources, [w for _, w in pairs], materialize_grads=True
            ) if pairs else ()
        )  # fmt: skip
        buffers = [b for b in model.buffers() if b.dtype.kind == "f"]
        return Outcome([*made, *buffers, *model.parameters()], gradients, inputs)

    def _sensitivity(self, part: str) -> list[Any]:
        return ORACLE.perturbed(
            lambda args, kwargs, shake: getattr(self.reference(shake), part), (), {},
            (self.name, self.sample, part),
        )  # fmt: skip
