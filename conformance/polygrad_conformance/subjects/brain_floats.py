"""bfloat16, where a device has it: values, result dtypes and gradients of what float16 has.

ml_dtypes, which has the dtype, is asked for when a case runs: which cases there are does not depend
on what is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.case import Case, Failed, Measure, Unsupported
from polygrad_conformance.checks.claims import check_claims
from polygrad_conformance.checks.grad import compare_gradients
from polygrad_conformance.checks.value import compared
from polygrad_conformance.compare import worst_of
from polygrad_conformance.declarations import subjects
from polygrad_conformance.derivatives import Derivative
from polygrad_conformance.points import domain_of, every_number, points
from polygrad_conformance.result_dtypes import expected
from polygrad_conformance.subjects.transfers import plainly
from polygrad_conformance.target import Target

NAME = "bfloat16"
_SPACES = ("", "nn.functional")
_COUNT = 1024


def cases(level: str) -> Iterator[Case]:
    """The transfer of all its bit patterns, and those of each operation; none at level smoke."""
    if level == "smoke":
        return
    yield Case("transfer", NAME, "value", "plain", _there_and_back, "", 0, "", "transfers")
    for subject in subjects().values():
        if subject.space not in _SPACES or "float16" not in subject.dtypes(level):
            continue
        actions = _actions(subject, level)
        if subject.family == "shape":  # what the values are is not said
            del actions["value", "declared"]
        head = next(iter(actions))
        for (check, sample), (action, step) in actions.items():
            first = f"{subject.key}/{NAME}/{head[0]}/{head[1]}"
            yield Case(
                subject.key, NAME, check, sample, _where_it_is(action), "",
                max(step, subject.step), subject.space, subject.chapter,
                () if (check, sample) == head else (first,),
            )  # fmt: skip


Action = Callable[[Target], Measure | None]


def _actions(subject: Any, level: str) -> dict[tuple[str, str], tuple[Action, int]]:
    """By check and sample: what is done, and the lowest step of the ladder for it."""
    made: dict[tuple[str, str], tuple[Action, int]] = {
        ("value", "declared"): (lambda t: _values(t, subject, subject.samples(NAME)), 0),
        ("dtype", "declared"): (lambda t: _dtypes(t, subject), 0),
        ("claims", "all"): (lambda t: check_claims(t, subject, NAME), 0),
    }
    domain = domain_of(subject.key)
    if domain is not None:
        made["value", f"points-{_COUNT}"] = (
            lambda t: _values(t, subject, [points(subject, NAME, _COUNT)]), 0,
        )  # fmt: skip
        if level == "exhaustive" and domain["inputs"] == 1:
            made["value", "every"] = lambda t: _values(t, subject, [every_number(domain, NAME)]), 0
    if subject.operation.differentiable:
        made["grad", "declared"] = lambda t: _gradients(t, subject), 5
    return made


def _where_it_is(action: Action) -> Action:
    def inner(target: Target) -> Measure | None:
        _needed(target)
        return action(target)

    return inner


def _needed(target: Target) -> None:
    try:
        dtype = pg.bfloat16
    except pg.PolygradError as error:
        raise Unsupported(str(error)) from error
    if not target.supports(dtype):
        raise Unsupported(f"{target.device} has no {NAME}")


def _there_and_back(target: Target) -> None:
    _needed(target)
    plainly(target, np.arange(2**16, dtype=np.uint16).view(pg.bfloat16))


def _values(target: Target, subject: Any, samples: Any) -> Measure:
    return worst_of([compared(target, subject, NAME, sample) for sample in samples])


def _dtypes(target: Target, subject: Any) -> None:
    for sample in subject.samples(NAME):
        made = target.evaluate(subject, NAME, sample).checked()
        found = [part.dtype.name for part in made.made if isinstance(part, pg.Tensor)]
        wanted = expected(subject.key, NAME, sample.name, target)
        if found != wanted:
            raise Failed(f"sample {sample.name}: results of {found}, expected {wanted}")


def _gradients(target: Target, subject: Any) -> Measure:
    made = [Derivative(subject, sample) for sample in subject.samples(NAME)]
    return worst_of([compare_gradients(d, d.on(target)) for d in made if d.operands])
