"""The suite proves itself: each planted fault is found by the check kind that names it.

A fault that made no difference in any case of its kind is void: the sign of a zero gradient. A pair
of operation and kind whose faults are all void has a check that cannot fail.
"""

from __future__ import annotations

import fnmatch
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from polygrad_conformance.case import Case
from polygrad_conformance.checks import KINDS
from polygrad_conformance.collection import collect
from polygrad_conformance.declarations import load_data
from polygrad_conformance.execution import execute
from polygrad_conformance.faults.device import FAULTY, install
from polygrad_conformance.faults.planting import TOUCHED
from polygrad_conformance.faults.table import Fault, cases_by_pair
from polygrad_conformance.faults.variants import variant
from polygrad_conformance.record import Result
from polygrad_conformance.target import Target

__all__ = [
    "Outcome", "Proof", "false_alarms", "independent", "needed", "prove", "replay", "search",
]  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of one fault: `found`, `void` or `missed`, by which case, in how many seconds."""

    fault: Fault
    status: str
    by: str = ""
    message: str = ""
    seconds: float = 0.0


@dataclass
class Proof:
    """The outcomes of all faults."""

    outcomes: list[Outcome] = field(default_factory=list)

    def of(self, status: str) -> list[Outcome]:
        """Those with a status."""
        return [o for o in self.outcomes if o.status == status]

    @property
    def toothless(self) -> list[tuple[str, str]]:
        """Pairs of operation and check kind that no fault is found by."""
        pairs = {(o.fault.op, o.fault.kind) for o in self.outcomes}
        return sorted(pairs - {(o.fault.op, o.fault.kind) for o in self.of("found")})

    def __str__(self) -> str:
        """A line for each class, and the sum."""
        counts = Counter((o.fault.name, o.status) for o in self.outcomes)
        seconds = Counter[str]()
        for o in self.outcomes:
            seconds[o.fault.name] += o.seconds
        lines = [f"{'class of fault':40}{'kind':10}{'found':>7}{'missed':>7}{'void':>6}{'s':>8}"]
        kinds = {o.fault.name: o.fault.kind for o in self.outcomes}
        for name, kind in sorted(kinds.items(), key=lambda item: KINDS.index(item[1])):
            found, missed, void = (counts[name, s] for s in ("found", "missed", "void"))
            lines.append(f"{name:40}{kind:10}{found:7}{missed:7}{void:6}{seconds[name]:8.1f}")
        pairs = {(o.fault.op, o.fault.kind) for o in self.outcomes}
        lines.append(
            f"{len(self.of('found'))} found, {len(self.of('missed'))} missed, "
            f"{len(self.of('void'))} void; {len(pairs) - len(self.toothless)} of {len(pairs)} "
            f"pairs of operation and kind have a fault that is found"
        )
        return "\n".join(lines)


def search(fault: Fault, cases: Sequence[Case], level: str) -> Outcome:
    """Run cases with the fault planted, until one fails."""
    begin, touched = time.perf_counter(), TOUCHED[0]
    with fault.planted():
        for _, result in execute(cases, Target(FAULTY.name, level)):
            if result is not None and result.failed:
                seconds = time.perf_counter() - begin
                return Outcome(fault, "found", result.id, result.message, seconds)
    status = "void" if TOUCHED[0] == touched else "missed"
    return Outcome(fault, status, seconds=time.perf_counter() - begin)


def prove(
    chosen: Iterable[Fault], level: str = "full", progress: Callable[[Outcome], None] | None = None
) -> Proof:
    """Search each fault with the cases of its own kind."""
    install()
    pairs, proof = cases_by_pair(level), Proof()
    for fault in chosen:
        outcome = search(fault, pairs[fault.op, fault.kind], level)
        proof.outcomes.append(outcome)
        if progress is not None:
            progress(outcome)
    return proof


def needed(kind: str, chosen: Iterable[Fault], level: str = "full") -> Outcome | None:
    """A fault that only this kind finds, and that would escape without it; None: there is none."""
    install()
    pairs = cases_by_pair(level)
    for fault in chosen:
        if fault.kind != kind or search(fault, pairs[fault.op, kind], level).status != "found":
            continue
        others = [c for (op, other), cases in pairs.items() if op == fault.op and other != kind
                  for c in cases]  # fmt: skip
        if search(fault, others, level).status != "found":
            return search(fault, pairs[fault.op, kind], level)
    return None


def false_alarms(name: str, level: str = "smoke") -> list[Result]:
    """What fails on a device that is right, but has a legal variant."""
    install()
    with variant(name):
        return [
            result for _, result in execute(collect(level), Target(FAULTY.name, level))
            if result is not None and result.failed
        ]  # fmt: skip


# Globs of the cases that call what a fault touches, where they are not called so themselves.
_CALLED_BY = {
    "indexing": ("getitem", "setitem"), "getitem_adjoint": ("getitem",),
    "take_adjoint": ("take",), "take_along_axis_adjoint": ("take_along_axis",),
    "best_indices": ("topk",), "cofactor": ("linalg.det",), "eigh": ("linalg.eig*",),
    "convolution": ("nn.functional.conv?d",), "fourier": ("fft.*",), "engine": ("multiply",),
    "max_pool": ("nn.functional.max_pool?d",), "place_in_windows": ("nn.functional.max_pool?d",),
    "losses": ("nn.functional.*entropy*",), "adam_step": ("optim.Adam*",),
    **{f"{name.lower()}_step": (f"optim.{name}",)
       for name in ("SGD", "RMSprop", "Adagrad", "Adadelta", "Lion", "Rprop")},
}  # fmt: skip


def independent(
    patterns: Sequence[str] = (),
    progress: Callable[[str, Result | None, str], None] | None = None,
    *,
    thorough: bool = False,
) -> dict[str, tuple[Result | None, str]]:
    """What finds each fault of the independent set, and among which cases it was looked for.

    First those of what the fault touches, at level full; then all of level smoke; if the search is
    thorough then all of level full, which takes minutes for each fault that nothing finds.
    """
    from polygrad_conformance.faults.independent import INDEPENDENT

    install()
    found: dict[str, tuple[Result | None, str]] = {}
    for name, fault in INDEPENDENT.items():
        if patterns and not any(fnmatch.fnmatch(name, p) for p in patterns):
            continue
        result, where = None, ""
        for stage, cases, level in _stages(fault.touches, thorough=thorough):
            where = stage
            result = _first_failure(fault, cases, level)
            if result is not None:
                break
        found[name] = result, where
        if progress is not None:
            progress(name, result, where)
    return found


def replay(name: str) -> Result | None:
    """The failure of the one case that `data/independent.toml` names, with the fault planted.

    Of what is legal all of its own cases run, and none may fail.
    """
    from polygrad_conformance.faults.independent import INDEPENDENT

    install()
    fault, case = INDEPENDENT[name], load_data("independent")["found"].get(name)
    if case is None:
        _, cases, level = next(_stages(fault.touches, thorough=False))
        return _first_failure(fault, cases, level)
    return _first_failure(fault, [_full_cases()[case]], "full")


@functools.cache
def _full_cases() -> dict[str, Case]:
    return {case.id: case for case in collect("full")}


def _first_failure(fault: Any, cases: Sequence[Case], level: str) -> Result | None:
    with fault.planted():
        results = execute(cases, Target(FAULTY.name, level))
        return next((r for _, r in results if r is not None and r.failed), None)


def _stages(touches: str, *, thorough: bool) -> Iterator[tuple[str, Sequence[Case], str]]:
    """Cases to look among, the likely ones first."""
    full, globs = collect("full"), _CALLED_BY.get(touches, (touches,))
    likely = [
        c for c in full
        if any(fnmatch.fnmatchcase(name, g) for g in globs
               for name in (c.op, c.op.rpartition(".")[2], c.op.replace(".", "_")))
    ]  # fmt: skip
    yield "its own cases", sorted(likely, key=lambda c: c.dtype != "float32"), "full"
    yield "all of smoke", collect("smoke"), "smoke"
    if thorough:
        yield "all of full", full, "full"
