"""How far a result may be from its reference, and the grade of how far it is.

Three measures. *Units in the last place* for elementwise functions: the budget is data, and a grade
says by how much it is missed. An *a-priori bound* for sums of products, 2 n u sum |terms|, which
every order of summation keeps. A *conditioned bound* for everything composed of those: a multiple
of the rounding error that the inputs alone cause, found by perturbing them in the reference.

Everything is computed in long double on the host.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad_conformance.case import Measure

__all__ = [
    "CONDITIONED", "PROFILES", "Format", "bounded", "budget", "exact", "format_of", "ulp_errors",
    "ulp_measure", "within_profile",
]  # fmt: skip

Host = np.ndarray[Any, Any]
WIDE = np.longdouble
# The worst grade that each accuracy profile allows.
PROFILES = {"ieee": "A", "full": "A", "relaxed": "B", "fast": "C"}
# Rounding errors, in units of the inputs' own, that a composition may make before it is suspicious.
CONDITIONED = 32.0
_FAR = 8.0  # so many times its bound a result may be off, with a worse grade
_SLACK = 0.01  # a reference has rounding errors of its own


@dataclass(frozen=True)
class Format:
    """A floating-point format: bits of the fraction, the least and largest normal numbers."""

    bits: int
    tiny: Any
    largest: Any

    @property
    def unit(self) -> float:
        """Half of the spacing at 1: the largest relative error of rounding."""
        return 2.0 ** -(self.bits + 1)


@functools.cache
def format_of(dtype: Any) -> Format:
    """The format of a floating dtype; of a complex one that of its parts."""
    dtype = dtypes.real_of(np.dtype(dtype))
    if dtype.name == "bfloat16":
        return Format(7, WIDE(2.0) ** -126, WIDE(2.0) ** 127 * (2 - WIDE(2.0) ** -7))
    info = np.finfo(dtype)
    return Format(info.nmant, WIDE(info.smallest_normal), WIDE(info.max))


def spacing(values: Host, dtype: Any) -> Host:
    """The unit in the last place of `dtype` at each value; that of the least normal below it."""
    form = format_of(dtype)
    size = np.clip(np.abs(values).astype(WIDE), form.tiny, form.largest)
    return np.asarray(np.ldexp(WIDE(1), np.frexp(size)[1] - 1 - form.bits))


def _real_errors(got: Host, want: Host, dtype: Any, *, subnormals: bool) -> Host:
    form = format_of(dtype)
    got, want = got.astype(WIDE), want.astype(WIDE)
    unit = spacing(want, dtype)
    beyond = form.largest + spacing(form.largest, dtype)  # what an infinity stands for
    a = np.where(np.isinf(got), np.copysign(beyond, got), got)
    b = np.where(np.abs(want) > beyond, np.copysign(beyond, want), want)
    errors = np.where(got == want, 0, np.abs(a - b) / unit)
    if not subnormals:
        errors = np.where((np.abs(want) < form.tiny) & (a == 0), 0, errors)
    apart = np.isnan(got) != np.isnan(want)
    return np.where(apart, np.inf, np.where(np.isnan(want), 0, errors))


def ulp_errors(got: Host, want: Host, dtype: Any, *, subnormals: bool = True) -> Host:
    """The error of each element in units of the last place of `dtype`.

    An infinity where the reference is finite counts as the number after the largest; NaN equals
    NaN, and is infinitely far from anything else. A complex error is measured in units of the
    absolute value; where a part is not finite both parts are compared.
    """
    with np.errstate(all="ignore"):
        if want.dtype.kind != "c":
            return _real_errors(got, want, dtype, subnormals=subnormals)
        got = got.astype(want.dtype)
        errors = np.abs(got - want) / spacing(np.abs(want), dtype)
        strict = ~(np.isfinite(got) & np.isfinite(want))
        parts = np.maximum(
            _real_errors(got.real, want.real, dtype, subnormals=subnormals),
            _real_errors(got.imag, want.imag, dtype, subnormals=subnormals),
        )
        if not subnormals:
            errors = np.minimum(errors, parts)
        return np.where(strict, parts, errors)


def budget(entry: Any, dtype: Any, *, complex_operands: bool = False) -> float:
    """The number of units that `[ulp]` of budgets.toml grants to results of a dtype."""
    if not isinstance(entry, dict):
        return float(entry)
    name = np.dtype(dtype).name
    if name in entry:
        return float(entry[name])
    return float(entry["complex" if complex_operands else "real"])


def ulp_measure(errors: Host, want: Host, dtype: Any, allowed: float) -> tuple[Measure, int]:
    """The worst error with its grade, and its place in the flattened result."""
    if not errors.size:
        return Measure(0.0, allowed, "ulp", "A"), 0
    with np.errstate(all="ignore"):
        relative = errors * spacing(np.abs(want), dtype) / np.abs(want).astype(WIDE)
    limit = math.sqrt(2.0 * format_of(dtype).unit)
    hard = (errors > 8 * allowed + _SLACK) & ~(relative <= limit)
    flat = np.where(hard, errors + 1e300, errors).reshape(-1)  # a hard one is the worst
    place = int(np.argmax(flat))
    worst = float(errors.reshape(-1)[place])
    if hard.any():
        first = int(np.flatnonzero(hard)[0])
        room = allowed * float(spacing(np.abs(want.reshape(-1)[first]), dtype))
        return Measure(worst, allowed, "ulp", "F", first=first, allowed=room), place
    grade = "A" if worst <= allowed + _SLACK else "B" if worst <= 8 * allowed + _SLACK else "C"
    return Measure(worst, allowed, "ulp", grade), place


def bounded(errors: Host, bounds: Host) -> tuple[Measure, int]:
    """The worst ratio of an error to its bound, graded, and its place in the flattened result."""
    if not errors.size:
        return Measure(0.0, 1.0, "ratio", "A"), 0
    with np.errstate(all="ignore"):
        ratios = np.where(errors == 0, 0, errors / bounds)
    ratios = np.where(np.isnan(ratios), np.inf, ratios).reshape(-1)
    place = int(np.argmax(ratios))
    worst = float(ratios[place])
    if worst <= _FAR:
        return Measure(worst, 1.0, "ratio", "A" if worst <= 1 else "B"), place
    first = int(np.flatnonzero(ratios > _FAR)[0])
    room = float(np.broadcast_to(bounds, errors.shape).reshape(-1)[first])
    return Measure(worst, 1.0, "ratio", "F", first=first, allowed=room), place


def distances(got: Host, want: Host) -> Host:
    """|got - want|: 0 for equal infinities and for two NaNs, infinite if just one is either."""
    with np.errstate(all="ignore"):
        got, want = np.asarray(got), np.asarray(want)
        wide = np.clongdouble if "c" in (got.dtype.kind, want.dtype.kind) else WIDE
        got, want = got.astype(wide), want.astype(wide)
        same = (got == want) | (np.isnan(got) & np.isnan(want))
        apart = np.abs(got - want)
        return np.where(same, 0, np.where(np.isnan(apart), np.inf, apart))


def exact(got: Host, want: Host) -> int | None:
    """The place of the first element that differs; NaN equals NaN, -0 equals 0. None: all equal."""
    same = got == want
    if got.dtype.kind in "fcV" and want.dtype.kind in "fcV":
        same = same | ((got != got) & (want != want))  # noqa: PLR0124  NaN, of bfloat16 too
    wrong = np.flatnonzero(~np.asarray(same).reshape(-1))
    return int(wrong[0]) if wrong.size else None


def within_profile(grade: str, profile: str) -> bool:
    """Whether a grade is good enough for a profile.

    >>> within_profile("B", "full"), within_profile("B", "relaxed")
    (False, True)
    """
    return "ABCF".index(grade or "A") <= "ABCF".index(PROFILES[profile])
