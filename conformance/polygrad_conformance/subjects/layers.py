"""Layers: the examples of each on the device, against long double: outputs, gradients, buffers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn
from polygrad.testing import Sampler, floating
from polygrad_conformance import wide
from polygrad_conformance.case import Case, Failed, Measure
from polygrad_conformance.derivatives import weights
from polygrad_conformance.oracle import ORACLE
from polygrad_conformance.programs import Outcome, compare_outcomes
from polygrad_conformance.target import Host, Target

CHECKS = ("value", "grad", "dtype", "device", "purity")


def names() -> list[str]:
    """The layers that have examples."""
    found = []
    for name in nn.__all__:
        cls = getattr(nn, name)
        if isinstance(cls, type) and issubclass(cls, nn.Module) and cls.examples:
            found.append(name)
    return sorted(found)


def cases(level: str) -> Iterator[Case]:
    """For each example of each layer: one of each kind of check."""
    dtypes = ("float32",) if level == "smoke" else ("float32", "float64")
    for name in names():
        for dtype in dtypes:
            for i in range(len(getattr(nn, name).examples)):
                for check in CHECKS:

                    def action(
                        target: Any, name: str = name, i: int = i, check: str = check,
                        dtype: str = dtype,
                    ) -> Measure:  # fmt: skip
                        example = target.keep(
                            (f"nn.{name}", dtype), ("example", i), lambda: _Example(name, i, dtype)
                        )
                        return example.check(target, check)

                    rests = () if check == "value" else (f"nn.{name}/{dtype}/value/{i}",)
                    yield Case(f"nn.{name}", dtype, check, str(i), action, "", 6, "nn", "layers",
                               rests)  # fmt: skip


def input_of(spec: Any, s: Sampler) -> Host:
    """An array for one input of an example.

    A shape, ("index", shape, high), ("unit", shape), or ("sign", shape).
    """
    if spec and spec[0] == "index":
        return s.integers(*spec[1], low=0, high=spec[2] if len(spec) > 2 else 2)
    if spec and spec[0] == "unit":
        return s.interval(0.0, 1.0, *spec[1])
    if spec and spec[0] == "sign":
        return np.asarray(2 * s.integers(*spec[1], low=0, high=2) - 1)
    return s.real(*spec)


class _Example:
    """One example of one layer."""

    def __init__(self, name: str, i: int, dtype: str) -> None:
        self.name, self.i, self.dtype = name, i, dtype
        args, kwargs, specs = getattr(nn, name).examples[i]
        pg.manual_seed(0)
        with pg.device("cpu"):
            self.model = getattr(nn, name)(*args, **kwargs).to(np.dtype(dtype))
        s = Sampler(f"{name} {i}", dtype)
        self.arrays = [input_of(spec, s) for spec in specs]

    def check(self, target: Target, check: str) -> Measure:
        """One kind of check."""
        key = (f"nn.{self.name}", self.dtype)
        got = target.keep(key, ("got", self.i), lambda: self.on(target))
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
        want = target.keep(key, ("want", self.i), lambda: self.reference(None))
        part = "values" if check == "value" else "gradients"
        return compare_outcomes(getattr(got, part), getattr(want, part),
                                lambda: self._sensitivity(part))  # fmt: skip

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
        inputs = [upload(a, requires_grad=a.dtype.kind == "f") for a in self.arrays]
        pg.manual_seed(0)
        outputs = floating(model(*inputs))
        leaves = [t for t in (*inputs, *model.parameters()) if t.requires_grad]
        pairs = []
        for o in outputs:
            if o.requires_grad:
                w = weights(o.shape, self.dtype)
                w = w if shake is None else shake(w)
                pairs.append((o, pg.tensor(w.astype(o.dtype), device=device)))
        gradients = list(
            pg.autograd.grad(
                [o for o, _ in pairs], leaves, [w for _, w in pairs], materialize_grads=True
            ) if pairs else ()
        )  # fmt: skip
        buffers = [b for b in model.buffers() if b.dtype.kind == "f"]
        return Outcome([*outputs, *buffers], gradients, inputs)

    def _sensitivity(self, part: str) -> list[Any]:
        return ORACLE.perturbed(
            lambda args, kwargs, shake: getattr(self.reference(shake), part), (), {},
            (self.name, self.i, part),
        )  # fmt: skip
