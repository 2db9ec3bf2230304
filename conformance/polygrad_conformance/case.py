"""A case: one check of one operation in one dtype on one sample, and how its outcome is recorded.

A case is data and an action. The action takes the `Target`, and returns what it measured or raises:
`Failed` for a wrong result, `Unsupported` for what the device does not have. Any other exception is
recorded as an error of the device, not of the suite.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from polygrad.errors import UnsupportedOperationError
from polygrad_conformance.record import Result

__all__ = ["Case", "Element", "Failed", "Measure", "SuiteError", "Unsupported"]

SHOWN = 3  # places of code in a message


class SuiteError(Exception):
    """A declaration of the suite is wrong: no samples, an unknown name."""


@dataclass(frozen=True)
class Measure:
    """What a check measured: see the fields of the same names of `Result`.

    Of grade F also where the first element that fails is, and how far off it may be.
    """

    measured: float | None = None
    bound: float | None = None
    unit: str = ""
    grade: str = ""
    worst: str = ""
    first: int = 0
    allowed: float = 0.0


@dataclass(frozen=True)
class Element:
    """One element that a check is not content with.

    Attributes
    ----------
    sample
        The call: as declared, or a smaller one that fails too.
    part, place, shape
        Which part of the result, where in that part, flattened, and the shape of that part.
    want, allowed
        What is expected there, and how far from it a result may be.
    signed
        Of a special value, whether the sign of a zero counts; for each part of a complex number.
    """

    sample: Any
    part: int
    place: int
    shape: tuple[int, ...]
    want: Any
    allowed: float
    signed: tuple[bool, ...] = ()


class Failed(Exception):  # noqa: N818  it is an outcome
    """The device's result is wrong."""

    def __init__(
        self, message: str, measure: Measure | None = None, element: Element | None = None
    ) -> None:
        super().__init__(message)
        self.measure, self.element = measure, element


class Unsupported(Exception):  # noqa: N818  it is an outcome
    """The device does not have what the case needs."""


@dataclass(frozen=True)
class Case:
    """One check; `id` is its path, which `run -k` and known-failure lists select by.

    Attributes
    ----------
    op, dtype, check, sample, layout, step, space, chapter
        As of `Result`.
    action
        Does it: takes the Target, returns a Measure or None, or raises.
    rests
        Ids of the cases that must hold for this one to mean anything.
    call
        The Sample of the one call that is judged, if it is one.
    """

    op: str
    dtype: str
    check: str
    sample: str
    action: Callable[[Any], Measure | None] = field(repr=False, compare=False)
    layout: str = ""
    step: int = 0
    space: str = ""
    chapter: str = ""
    rests: tuple[str, ...] = ()
    call: Any = field(default=None, repr=False, compare=False)

    @property
    def id(self) -> str:
        """`op/dtype/check/sample`, and `@layout`."""
        path = f"{self.op}/{self.dtype}/{self.check}/{self.sample}"
        return f"{path}@{self.layout}" if self.layout else path

    def empty(self) -> Result:
        """The record of this case before it ran."""
        return Result(
            self.id, self.op, self.dtype, self.check, self.sample, self.layout, self.space,
            self.chapter, self.step,
        )  # fmt: skip

    def run(self, target: Any) -> Result:
        """Do it, and record what came of it."""
        begin = time.perf_counter()
        measure, message, status = None, "", "pass"
        try:
            measure = self.action(target)
        except Failed as found:
            measure, message, status = found.measure, str(found), "fail"
        except (Unsupported, UnsupportedOperationError) as found:
            message, status = str(found), "unsupported"
        except SuiteError:
            raise
        except Exception as found:  # noqa: BLE001  whatever a device raises is a result
            message, status = f"{type(found).__name__}: {found}{_raised_at(found)}", "error"
        ms = round((time.perf_counter() - begin) * 1e3, 3)
        measure = measure or Measure()
        return replace(
            self.empty(), status=status, ms=ms, message=message[:2000], measured=measure.measured,
            bound=measure.bound, unit=measure.unit, grade=measure.grade, worst=measure.worst[:400],
        )  # fmt: skip


def _raised_at(error: BaseException) -> str:
    """Where an error comes from: polygrad's line, what it called there, and the line that raised.

    Of the first cause: polygrad puts a library's errors in words of its own, at a line of its own.
    """
    causes = [error]
    while (cause := causes[-1].__cause__) and cause not in causes:  # some are their own cause
        causes.append(cause)
    frames = list(traceback.walk_tb(causes[-1].__traceback__))
    owners = [str(f.f_globals.get("__name__", "")).partition(".")[0] for f, _ in frames]
    if "polygrad" not in owners:
        return ""
    after = frames[len(owners) - 1 - owners[::-1].index("polygrad") :]
    shown = after if len(after) <= SHOWN else [*after[: SHOWN - 1], after[-1]]
    return f" (at {' > '.join(_place(frame, line) for frame, line in shown)})"


def _place(frame: FrameType, line: int) -> str:
    """By the module's name: a path would differ from machine to machine."""
    return f"{frame.f_globals.get('__name__', '?')}:{line}, in {frame.f_code.co_name}"
