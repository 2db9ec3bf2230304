"""Subjects: what the suite knows of each operation, from its declaration beside it in polygrad.

A `Subject` is an `Operation` of polygrad's registry with what conformance adds: the dtypes of a
level, the step of the ladder, and how its results are compared (`data/budgets.toml`).
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np

from polygrad.families import OPERATIONS, Operation
from polygrad.ops import load_all
from polygrad.testing import samples_of
from polygrad_conformance.case import SuiteError
from polygrad_conformance.samples import EXTRA, WITHOUT_ARRAYS, Sample

__all__ = ["LEVELS", "SEED_REVISION", "Subject", "dtypes_of", "load_data", "subjects"]

SEED_REVISION = 1
LEVELS = ("smoke", "full", "exhaustive")

# Chapters by the step of the ladder that they stand on; others are found by their space.
_STEPS = {
    "creation": 1, "data_type": 1,
    "elementwise": 2, "special": 2,
    "manipulation": 3, "indexing": 3, "searching": 3, "sorting": 3, "sets": 3, "scattering": 3,
    "masking": 3, "diagonals": 3, "index arrays": 3, "selection": 3, "splitting": 3,
}  # fmt: skip
_SPACES = {"": 4, "nn.functional": 6, "linalg": 7, "fft": 8, "special": 8}

_SMOKE = {"b": ("bool",), "i": ("int32",), "f": ("float32",), "c": ("complex64",)}
_FULL = {
    "b": ("bool",),
    "i": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "f": ("float16", "float32", "float64"),
    "c": ("complex64", "complex128"),
}
# Spaces without half precision: what is below them, LAPACK or SciPy, has none.
_WITHOUT_HALF = ("linalg", "fft", "special")


@functools.cache
def load_data(name: str) -> dict[str, Any]:
    """A table of `data/`, by its name without `.toml`."""
    text = resources.files("polygrad_conformance").joinpath("data", f"{name}.toml").read_text()
    return tomllib.loads(text)


def dtypes_of(kinds: str, level: str, *, half: bool = True) -> tuple[str, ...]:
    """The dtypes of these kinds that a level runs.

    >>> dtypes_of("ifc", "smoke")
    ('int32', 'float32')
    """
    if level == "smoke":
        if "f" in kinds:
            kinds = kinds.replace("c", "").replace("b", "")
        elif "i" in kinds:
            kinds = kinds.replace("b", "")
        found = [d for kind in "bifc" if kind in kinds for d in _SMOKE[kind]]
    else:
        found = [d for kind in "bifc" if kind in kinds for d in _FULL[kind]]
    return tuple(d for d in found if half or d != "float16")


@dataclass(frozen=True)
class Subject:
    """An operation as the suite sees it.

    Attributes
    ----------
    key
        Its name with its space: `linalg.qr`.
    operation
        Its declaration.
    step
        The step of the ladder.
    family
        How results are compared: exact, ulp, dot, residual, shape (values are unspecified), or
        conditioned.
    """

    key: str
    operation: Operation
    step: int
    family: str

    @property
    def function(self) -> Any:
        """What is called: looked up now, so that a planted fault is."""
        return OPERATIONS[self.key].function

    @property
    def space(self) -> str:
        """The part of polygrad."""
        return self.operation.space

    @property
    def chapter(self) -> str:
        """The chapter."""
        return self.operation.chapter

    def dtypes(self, level: str) -> tuple[str, ...]:
        """The dtypes that a level runs."""
        if self.key in WITHOUT_ARRAYS:
            return ("none",)
        kinds, own = self.operation.kinds, load_data("budgets")["dtypes"].get(self.key)
        found = dtypes_of(kinds, level, half=self.space not in _WITHOUT_HALF)
        return found if own is None else tuple(d for d in found if d in own)

    def samples(self, dtype: str) -> list[Sample]:
        """The samples in a dtype.

        Raises
        ------
        SuiteError
            There are none.
        """
        return _samples(self.key, dtype)


@functools.cache
def _samples(key: str, dtype: str) -> list[Sample]:
    operation = OPERATIONS[key]
    made = []
    if operation.samples is not None or operation.domain:
        with np.errstate(all="ignore"):
            calls = samples_of(operation, dtype)
        made = [Sample(str(i), args, kwargs) for i, (args, kwargs) in enumerate(calls)]
    if key in EXTRA:
        made += EXTRA[key](operation, dtype)
    if not made:
        raise SuiteError(f"{key} names the dtype {dtype} and has no sample for it")
    return made


@functools.cache
def subjects() -> dict[str, Subject]:
    """Every operation of the registry, by key, in the order of the ladder."""
    load_all()
    families = load_data("budgets")
    of = {key: name for name, keys in families["families"].items() for key in keys}
    of.update(dict.fromkeys(families["ulp"], "ulp"))
    made = []
    for key, operation in OPERATIONS.items():
        step = _SPACES.get(operation.space, 4)
        if not operation.space:
            step = _STEPS.get(operation.chapter, 4)
        chapter = families["chapters"].get(f"{operation.space}:{operation.chapter}", "conditioned")
        made.append(Subject(key, operation, step, of.get(key, chapter)))
    for key in of:
        if key not in OPERATIONS:
            raise SuiteError(f"data/budgets.toml names {key}, which is no operation")
    return {s.key: s for s in sorted(made, key=lambda s: (s.step, s.key))}
