"""Special functions in double precision, at the points of `special_references`, against mpmath.

SciPy is what other references of these functions come from; mpmath is independent of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad_conformance.case import Failed, Measure, Unsupported
from polygrad_conformance.compare import hexadecimal
from polygrad_conformance.tolerance import bounded, format_of

__all__ = ["check", "has_points"]

_FACTOR = 16
_SLOPES_ONLY = ("softmax", "log_softmax")  # their references are what derivatives need


def has_points(subject: Any, dtype: str, level: str) -> bool:
    """Whether there are any: at level full, in float64, where mpmath has the function."""
    if subject.operation.name in _SLOPES_ONLY:
        return False
    if subject.space != "special" or dtype != "float64" or level == "smoke":
        return False
    from polygrad_conformance.special_references import CASES

    case = CASES.get(subject.operation.name)
    return case is not None and case.reference is not None and not case.weights


def check(target: Any, subject: Any) -> Measure:
    """The worst point.

    Raises
    ------
    Failed
        It is more than eight times its bound off.
    """
    from polygrad_conformance.special_references import CASES

    if not target.supports("float64"):
        raise Unsupported(f"{target.device} has no float64")
    case, measures = CASES[subject.operation.name], []
    for point in case.points:
        args = [
            target.upload(np.asarray(v, np.float64)) if isinstance(v, float) else v for v in point
        ]
        got = np.asarray(target.download(target.call(subject, args, {})))
        want = _reference(case, point)
        size = max([1.0, *(abs(v) for v in point if isinstance(v, float))])
        unit = format_of("float64").unit
        bound = _FACTOR * max(case.rtol, 64 * unit) * abs(want) + 4 * unit * size
        measure, _ = bounded(np.abs(got - want).reshape(1), np.full(1, bound))
        measures.append((measure, point, got, want))
    measure, point, got, want = max(measures, key=lambda m: m[0].measured or 0.0)
    named = " ".join(
        f"{n}={hexadecimal(v)}" for n, v in zip("xyzuvw", point, strict=False) if v is not None
    )
    made = Measure(measure.measured, 1.0, "ratio", measure.grade, named)
    if made.grade == "F":
        raise Failed(f"at {point} it is {got}, mpmath says {want}", made)
    return made


def _reference(case: Any, point: Any) -> Any:
    import mpmath as mp

    with mp.workdps(case.digits):
        made = case.reference(*[mp.mpf(v) if isinstance(v, float) else v for v in point])
        return complex(made) if isinstance(made, mp.mpc) else float(made)
