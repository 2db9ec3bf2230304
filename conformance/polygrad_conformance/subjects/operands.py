"""Functions that write into operands: running statistics, rows that are too long, `inplace`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance import wide
from polygrad_conformance.case import Case, Failed, Measure
from polygrad_conformance.declarations import subjects
from polygrad_conformance.oracle import ORACLE
from polygrad_conformance.programs import Outcome, compare_outcomes
from polygrad_conformance.target import Host, Target, leaves, map_arrays

_X = (np.arange(48).reshape(2, 3, 8) * 5 % 11 + 20).astype(np.float32)
_MEAN, _VAR, _W, _B = (np.array(v, np.float32) for v in (
    [20, 25, 30], [1, 4, 0.25], [1, -2, 0], [0, 1, 2]))  # fmt: skip
_TABLE = np.array([[3, 4], [0.3, 0.4], [-6, 8], [0, 0]], np.float32)
_ROWS = np.array([[0, 1, 0], [2, 2, 1]])

# By function: calls whose operands are other ones afterwards.
CALLS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "nn.functional.batch_norm": [
        ((_X, _MEAN, _VAR), {"training": True}),
        ((_X, _MEAN, _VAR, _W, _B), {"training": True, "momentum": 0.3}),
        ((_X, _MEAN, _VAR), {"training": True, "momentum": 1.0}),
        ((_X[:, :, 0], _MEAN, _VAR), {"training": True, "momentum": 0.0}),
    ],
    "nn.functional.instance_norm": [
        ((_X, _MEAN, _VAR), {}),
        ((_X, _MEAN, _VAR, _W, _B), {"momentum": 0.3}),
        ((_X[:1], _MEAN, _VAR), {"momentum": 1.0}),
    ],
    "nn.functional.embedding": [
        ((_ROWS, _TABLE), {"max_norm": 2.0}),
        ((_ROWS, _TABLE), {"max_norm": 2.0, "norm_type": 1.0}),
        ((_ROWS[:1], _TABLE), {"max_norm": 3.0, "norm_type": float("inf"), "padding_idx": 0}),
    ],
    "nn.functional.embedding_bag": [
        ((_ROWS, _TABLE), {"max_norm": 2.0, "mode": "sum"}),
        ((_ROWS, _TABLE), {"max_norm": 2.0, "norm_type": 1.0}),
    ],
}


def cases(level: str) -> Iterator[Case]:
    """Each call; at level smoke the first of each function."""
    for name, calls in CALLS.items():
        subject = subjects()[name]
        for i in range(len(calls) if level != "smoke" else 1):

            def action(target: Target, name: str = name, i: int = i) -> Measure:
                return _check(target, name, i)

            yield Case(name, "float32", "value", f"written-{i}", action, "", 6, "nn.functional",
                       subject.chapter)  # fmt: skip


def _after(name: str, i: int, upload: Any) -> Outcome:
    """The results, and every operand afterwards."""
    args, kwargs = CALLS[name][i]
    operands: list[Any] = []

    def place(a: Host) -> Any:
        operands.append(upload(a))
        return operands[-1]

    args, kwargs = map_arrays((args, kwargs), place)
    pg.manual_seed(0)
    made = leaves(subjects()[name].function(*args, **kwargs))
    return Outcome([*made, *operands])


def _check(target: Target, name: str, i: int) -> Measure:
    with pg.device(target.device), np.errstate(all="ignore"):
        got = _after(name, i, target.upload)

    def reference(args: Any, kwargs: Any, shake: Any) -> list[Host]:
        change = (lambda a: a) if shake is None else shake
        with wide.here():
            return _after(name, i, lambda a: pg.tensor(wide.widen(change(a)), device=wide.WIDE))\
                .values  # fmt: skip

    want = reference((), {}, None)
    before = [a for a in CALLS[name][i][0] if isinstance(a, np.ndarray)]
    if all(np.array_equal(a, b) for a, b in zip(before, want[-len(before) :], strict=True)) and (
        CALLS[name][i][1].get("momentum") != 0
    ):
        raise Failed("nothing was written, on the reference")
    return compare_outcomes(
        got.values, want, lambda: ORACLE.perturbed(reference, (), {}, (name, "written", i))
    )
