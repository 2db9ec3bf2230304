"""Who computes what is expected: never the device under test.

In this order, for the first that has the operation:

1. `exact_reference`: integers and next numbers, element by element in Python.
2. `numpy_reference`: NumPy's function of that name, called directly, in long double.
3. The operation of polygrad on the reference backend (`wide`), in long double, without kernels.

Note [What is independent of what]
---------------------------------
1 and 2 do not run polygrad at all. 3 shares polygrad's formulas with the device: it finds what the
device's library and kernels do wrong, not what a formula does wrong; formulas are held against
differences by the check `grad`, and against other libraries by polygrad's own tests. On NumPy in
double precision, 3 is independent only where long double is wider and NumPy has it: not for
`linalg` (residuals are checked instead) and not for SciPy's functions (`special` is held against
mpmath). `Oracle.how` says for each operation which of the three was used.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance import numpy_reference, wide
from polygrad_conformance.declarations import SEED_REVISION
from polygrad_conformance.keeping import Keeper
from polygrad_conformance.target import Host, Target, leaves, map_arrays

__all__ = ["ORACLE", "Oracle", "flushed", "seeded"]

_STEP = 2.0**-30
_DRAWS = 4


def seeded(*parts: Any) -> np.random.Generator:
    """A generator for one purpose: the same one in every run, order and process."""
    text = "|".join(map(str, (*parts, SEED_REVISION)))
    return np.random.Generator(np.random.PCG64(zlib.crc32(text.encode())))


def _is_floating(array: Host) -> bool:
    return array.dtype.kind in "fcV"


class Oracle(Keeper):
    """Reference values; what it computed for the operation at hand is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.how: dict[str, str] = {}

    def reference(self, subject: Any, dtype: str, sample: Any) -> list[Any]:
        """The parts of the result: NumPy arrays, in long double where they are floating."""
        return self.keep(
            (subject.key, dtype),
            sample,
            lambda: self.compute(subject, dtype, sample.args, sample.kwargs),
        )

    def compute(self, subject: Any, dtype: str, args: Any, kwargs: Any) -> list[Any]:
        """The reference of a call; exact operations keep their dtype."""
        how, function = numpy_reference.find(subject.key)
        if function is not None:
            change = wide.widen if how == "wide" else np.asarray
            with np.errstate(all="ignore"):
                try:
                    made = function(*map_arrays(args, change), **map_arrays(kwargs, change))
                except numpy_reference.Elsewhere:
                    made = None
            if made is not None:
                self.how[subject.key] = "numpy"
                return numpy_leaves(made)
        self.how[subject.key] = "polygrad in long double"
        return self.composite(subject, args, kwargs)

    def composite(self, subject: Any, args: Any, kwargs: Any) -> list[Any]:
        """The operation of polygrad on the reference backend."""
        upload = lambda a: pg.tensor(wide.widen(a), device=wide.WIDE)
        args, kwargs = map_arrays((args, kwargs), upload)
        pg.manual_seed(0)
        with wide.here():
            made = subject.function(*args, **kwargs)
        return [Target.download(leaf) for leaf in leaves(made)]

    def sensitivity(self, subject: Any, dtype: str, sample: Any) -> list[Any]:
        """How much each element changes, in absolute terms, when inputs change by relative 1.

        Estimated: three times the most of four random perturbations by 2^-30.
        """
        return self.keep(
            (subject.key, dtype),
            ("sensitivity", sample),
            lambda: self.perturbed(
                lambda args, kwargs, shake: self.compute(subject, dtype, args, kwargs),
                sample.args, sample.kwargs, (subject.key, dtype, sample.name),
            ),
        )  # fmt: skip

    def perturbed(self, function: Any, args: Any, kwargs: Any, seed: Any) -> list[Any]:
        """The sensitivities of the parts of `function(args, kwargs, shake)`.

        `shake` perturbs what else enters the result, a NumPy array; None where nothing is to be.
        """
        base = function(args, kwargs, None)
        most = [np.zeros(np.shape(part)) if _floats(part) else None for part in base]
        for draw in range(_DRAWS):
            random = seeded(*seed, "perturbation", draw)

            def shake(a: Host, random: Any = random) -> Host:
                if not _is_floating(a):
                    return a
                moved = wide.widen(a) * (1 + _STEP * random.choice([-1.0, 1.0], a.shape))
                return np.asarray(moved)

            moved = function(map_arrays(args, shake), map_arrays(kwargs, shake), shake)
            with np.errstate(all="ignore"):
                for i, (a, b) in enumerate(zip(base, moved, strict=True)):
                    if most[i] is not None and np.shape(a) == np.shape(b):
                        change = np.abs(np.asarray(b) - np.asarray(a)) / _STEP
                        most[i] = np.fmax(most[i], np.where(np.isfinite(change), change, 0))
        return [None if m is None else 3 * m for m in most]


def numpy_leaves(made: Any) -> list[Any]:
    """The parts of a result of NumPy's: arrays for arrays and scalars, the rest as it is."""
    if isinstance(made, (tuple, list)) and any(
        isinstance(v, (np.ndarray, np.generic, tuple, list)) for v in made
    ):
        return [leaf for part in made for leaf in numpy_leaves(part)]
    return [np.asarray(made) if isinstance(made, (np.ndarray, np.generic)) else made]


def flushed(array: Host) -> Host:
    """Subnormal numbers as zeros of their sign."""
    if array.dtype.kind != "f":
        return array
    small = np.abs(array) < np.finfo(array.dtype).smallest_normal
    return np.where(small, np.copysign(np.zeros((), array.dtype), array), array)


def _floats(part: Any) -> bool:
    return isinstance(part, np.ndarray) and _is_floating(part)


ORACLE = Oracle()
