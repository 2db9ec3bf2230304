"""Results against references, by the family of the operation: one measure, or `Failed`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polygrad_conformance import residuals, wide
from polygrad_conformance.case import Element, Failed, Measure
from polygrad_conformance.declarations import load_data
from polygrad_conformance.oracle import ORACLE, flushed
from polygrad_conformance.record import worse
from polygrad_conformance.target import Host, map_arrays
from polygrad_conformance.tolerance import (
    CONDITIONED,
    bounded,
    budget,
    distances,
    exact,
    format_of,
    ulp_errors,
    ulp_measure,
)

__all__ = ["compare_call", "compare_conditioned", "hexadecimal", "inputs_of", "worst_of"]


def compare_call(target: Any, subject: Any, dtype: str, sample: Any, results: Any) -> Measure:
    """The worst measure over the parts of a result; the inputs of the worst element are named.

    Raises
    ------
    Failed
        A part is missing, an exact one differs, or an error is graded F.
    """
    if subject.family == "shape":
        return Measure()
    if subject.family == "residual":
        return residuals.measure(subject.key, sample, results)
    wanted = ORACLE.reference(subject, dtype, sample)
    if len(results) != len(wanted):
        raise Failed(f"{len(results)} results, expected {len(wanted)}")
    measures = [
        _part(target, subject, dtype, sample, i, got, want)
        for i, (got, want) in enumerate(zip(results, wanted, strict=True))
    ]
    return worst_of(measures)


def worst_of(measures: Sequence[Measure]) -> Measure:
    """The measure with the worst grade, of those the one with the greatest ratio to its bound."""
    graded = [m for m in measures if m.grade]
    if not graded:
        return Measure()
    grade = ""
    for m in graded:
        grade = worse(grade, m.grade)
    ratio = lambda m: (m.measured or 0.0) / (m.bound or 1.0)
    return max((m for m in graded if m.grade == grade), key=ratio)


def _part(
    target: Any, subject: Any, dtype: str, sample: Any, i: int, got: Any, want: Any
) -> Measure:
    if not isinstance(want, np.ndarray):
        if not _equal(got, want):
            raise Failed(f"result {i} is {got!r}, expected {want!r}")
        return Measure()
    if not isinstance(got, np.ndarray):
        raise Failed(f"result {i} is a {type(got).__name__}, not a tensor")
    if got.size != want.size:
        raise Failed(f"result {i} has {got.size} elements, expected {want.size}: see its shape")
    got = got.reshape(want.shape)
    floating = want.dtype.kind in "fc" and got.dtype.kind in "fcV"
    if not floating or subject.family == "exact":
        return _exactly(subject, sample, i, got, want)
    if subject.family == "ulp":
        measure, place = _ulp(target, subject, dtype, sample, got, want)
    elif subject.family == "dot":
        bounds = _dot_bounds(subject, dtype, sample, i, got.dtype, want)
        measure, place = bounded(distances(got, want), bounds)
    else:
        size = largest(ORACLE.reference(subject, dtype, sample))
        measure, place = compare_conditioned(
            got,
            want,
            lambda: ORACLE.sensitivity(subject, dtype, sample)[i],
            size / 8,
            unit=_coarsest(sample, got.dtype),
        )
    return _named(measure, place, sample, i, got, want)


def _equal(got: Any, want: Any) -> bool:
    if type(got).__name__ in ("finfo_object", "FinfoObject", "finfo"):
        fields = ("bits", "eps", "max", "min", "smallest_normal")
        return all(getattr(got, f) == getattr(want, f) for f in fields)
    if hasattr(want, "bits") and hasattr(want, "max"):
        names = ("bits", "max", "min")
        return all(getattr(got, f) == getattr(want, f) for f in names)
    return bool(got == want)


def _exactly(subject: Any, sample: Any, i: int, got: Host, want: Host) -> Measure:
    if got.dtype.kind in "fcV" and want.dtype.kind in "fc":
        with np.errstate(all="ignore"):
            want = want.astype(got.dtype)
    place = exact(got, want)
    if place is not None:
        measure = Measure(grade="F", worst=inputs_of(sample, place, want.shape))
        element = Element(sample, i, place, want.shape, want.reshape(-1)[place], 0.0)
        raise Failed(_difference(i, place, got, want), measure, element)
    return Measure()


def _ulp(
    target: Any, subject: Any, dtype: str, sample: Any, got: Host, want: Host
) -> tuple[Measure, int]:
    """In units in the last place; where subnormals may be flushed, also of flushed inputs."""
    subnormals = target.capabilities.subnormals
    entry = load_data("budgets")["ulp"][subject.key]
    allowed = budget(entry, got.dtype, complex_operands=dtype.startswith("complex"))
    errors = ulp_errors(got, want, got.dtype, subnormals=subnormals)
    if not subnormals:
        args, kwargs = map_arrays((sample.args, sample.kwargs), flushed)
        other = ORACLE.compute(subject, dtype, args, kwargs)[0]
        errors = np.minimum(errors, ulp_errors(got, other, got.dtype, subnormals=False))
    return ulp_measure(errors, want, got.dtype, allowed)


# Half precision is added up in single precision and rounded once: docs/promotion_and_dtypes.md.
_ACCUMULATED = ("sum",)


def _dot_bounds(
    subject: Any, dtype: str, sample: Any, i: int, result: Any, want: Host
) -> Host:
    """2 n u sum |terms|: the operation on absolute values, and on ones for the number of terms."""
    absolute, ones = (
        ORACLE.compute(subject, dtype, *map_arrays((sample.args, sample.kwargs), change))[i]
        for change in (_absolute, _ones)
    )
    unit, once = format_of(result).unit * (3 if np.dtype(result).kind == "c" else 1), 0.0
    if np.dtype(result).itemsize == 2 and subject.key in _ACCUMULATED:
        unit, once = format_of(np.float32).unit, unit
    terms = np.maximum(np.abs(ones).astype(wide.REAL), 1)
    bounds = 2 * (terms + 1) * unit * np.abs(absolute).astype(wide.REAL)
    return np.asarray(bounds + once * np.where(np.isfinite(want), np.abs(want), 0))


def _absolute(a: Host) -> Host:
    return np.abs(a) if a.dtype.kind in "iufcV" else a


def _ones(a: Host) -> Host:
    return np.ones(a.shape) if a.dtype.kind in "iufcV" else a


def _coarsest(sample: Any, dtype: Any) -> float:
    """The unit roundoff of the coarsest floating dtype among operands and result."""
    units = [format_of(dtype).unit]
    map_arrays(
        (sample.args, sample.kwargs),
        lambda a: units.append(format_of(a.dtype).unit) if a.dtype.kind in "fcV" else None,
    )
    return max(units)


def largest(parts: Sequence[Any]) -> float:
    """The largest finite absolute value among results: terms of that size may have cancelled."""
    floats = [np.abs(p[np.isfinite(p)]) for p in parts if getattr(p, "dtype", None) is not None
              and p.dtype.kind in "fc"]  # fmt: skip
    return max((float(np.max(f, initial=0)) for f in floats), default=0.0)


def compare_conditioned(
    got: Host, want: Host, sensitivity: Callable[[], Any], size: float, unit: float = 0.0
) -> tuple[Measure, int]:
    """Within a multiple of the rounding error of the result and of what inputs cause.

    `sensitivity` is asked only if the result is not good enough without. `size` is that of terms
    that may have cancelled, `unit` the rounding error of operands that are coarser than the result.
    """
    form = format_of(got.dtype)
    unit = max(unit, form.unit)
    own = np.where(np.isfinite(want), np.abs(want), 0) + size
    errors = distances(got, want)
    found = bounded(errors, CONDITIONED * unit * own + form.tiny)
    if found[0].grade == "A":
        return found
    more = sensitivity()
    if more is not None:
        own = own + np.where(np.isfinite(more), more, 0)
    return bounded(errors, CONDITIONED * unit * own + form.tiny)


def _named(measure: Measure, place: int, sample: Any, i: int, got: Host, want: Host) -> Measure:
    if measure.grade == "A":
        return measure
    measure = replace(measure, worst=inputs_of(sample, place, want.shape))
    if measure.grade == "F":
        text = f"{_difference(i, place, got, want)} ({measure.measured:.3g} {measure.unit}, "
        first = want.reshape(-1)[measure.first]
        element = Element(sample, i, measure.first, want.shape, first, measure.allowed)
        raise Failed(text + f"allowed {measure.bound:g})", measure, element)
    return measure


def _difference(i: int, place: int, got: Host, want: Host) -> str:
    index = tuple(map(int, np.unravel_index(place, want.shape)))
    a, b = got.reshape(-1)[place], want.reshape(-1)[place]
    return f"result {i}{list(index) if index else ''} is {a}, expected {b}"


def hexadecimal(value: Any) -> str:
    """A number as text that loses nothing."""
    kind = np.asarray(value).dtype.kind
    if kind == "c":
        plus = "" if np.signbit(value.imag) else "+"
        return f"{hexadecimal(value.real)}{plus}{hexadecimal(value.imag)}j"
    return float(value).hex() if kind in "fV" else str(value)


def inputs_of(sample: Any, place: int, shape: tuple[int, ...]) -> str:
    """The inputs of one element, if they broadcast to the result; else the element's place."""
    arrays: list[Host] = []
    map_arrays((sample.args, sample.kwargs), lambda a: arrays.append(a) or a)
    texts = []
    for name, a in zip("xyzuvw", arrays, strict=False):
        try:
            value = np.broadcast_to(a, shape).reshape(-1)[place]
        except ValueError:
            return f"sample {sample.name}, element {place}"
        texts.append(f"{name}={hexadecimal(value)}")
    return " ".join(texts)
