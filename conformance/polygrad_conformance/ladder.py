"""The bring-up ladder: what to fix first, and what cannot be judged before that.

A case rests on others. If one of them failed, it is `blocked` and does not run: one broken transfer
gives one failure, not nine hundred.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polygrad_conformance.case import Case
from polygrad_conformance.record import Result

__all__ = ["STEPS", "blocker", "first_thing"]

STEPS = (
    "import, devices, transfers",
    "creation, dtypes, copies",
    "elementwise functions",
    "indexing and manipulation",
    "reductions and contractions",
    "gradients",
    "layers, losses, optimizers",
    "linear algebra",
    "Fourier transforms and special functions",
    "all steps",
)
TRANSFER = "transfer/{dtype}/value/plain"
_BROKEN = frozenset({"error", "crash", "timeout", "blocked"})
_WRONG = _BROKEN | {"fail"}
# Checks that compare numbers: they say nothing new where the plain value is wrong already.
_NUMBERS = frozenset({"layout", "promotion", "repeat", "grad", "gradgrad"})


def blocker(case: Case, statuses: Mapping[str, str]) -> str:
    """The id of the failed case that this one rests on, or an empty string.

    `statuses` has the status of every case that has run and is not a pass.
    """
    transfer = TRANSFER.format(dtype=case.dtype)
    if transfer != case.id and statuses.get(transfer) in _WRONG:
        return transfer
    wrong = _WRONG if case.check in _NUMBERS else _BROKEN
    return next((rest for rest in case.rests if statuses.get(rest) in wrong), "")


def first_thing(results: Iterable[Result]) -> Result | None:
    """The failure to mend first: of the lowest step, the first."""
    failed = [r for r in results if r.failed]
    return min(failed, key=lambda r: r.step, default=None)
