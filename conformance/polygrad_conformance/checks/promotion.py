"""Promotion: operands of two dtypes, and Python numbers, give the dtype of the standard's table.

Kinds that the standard leaves open follow polygrad's documentation: the operand of the higher kind
decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from polygrad.tensor import Tensor
from polygrad_conformance.case import Case, Failed, Measure, Unsupported
from polygrad_conformance.checks import make, rests_on
from polygrad_conformance.compare import compare_call
from polygrad_conformance.declarations import load_data
from polygrad_conformance.result_dtypes import RULES
from polygrad_conformance.samples import Sample


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each partner in `data/promotion.toml`, for the functions that it names."""
    table = load_data("promotion")
    if subject.key not in table["functions"]["names"]:
        return
    sample = subject.samples(dtype)[0]
    partners = table["pairs"].get(dtype, {})
    kinds = subject.operation.kinds
    for partner, promoted in partners.items():
        if _letter(partner) not in kinds + "b" or _letter(promoted) not in kinds:
            continue
        if level == "smoke" and partner not in ("float64", "int64"):
            continue
        for first in (False, True):

            def action(
                target: Any, partner: str = partner, promoted: str = promoted, first: bool = first
            ) -> Measure:
                mixed = _mixed(sample, partner, first=first)
                return _check(target, subject, mixed, promoted)

            name = f"{partner}-first" if first else partner
            yield make(subject, dtype, "promotion", name, action, rests=rests_on(subject, dtype))
    if subject.key in table["functions"]["numbers"]:
        yield from _numbers(subject, dtype, sample, table["numbers"].get(dtype, {}))


def _numbers(subject: Any, dtype: str, sample: Any, numbers: dict[str, str]) -> Iterator[Case]:
    """Python numbers as second operand."""
    for text, promoted in numbers.items():
        if _letter(promoted) not in subject.operation.kinds:
            continue
        number = complex(text) if "j" in text else float(text) if "." in text else int(text)

        def action(target: Any, number: Any = number, promoted: str = promoted) -> Measure:
            made = Sample(f"number {number} of {dtype}", (sample.args[0], number), sample.kwargs)
            return _check(target, subject, made, promoted)

        yield make(subject, dtype, "promotion", text, action, rests=rests_on(subject, dtype))


def _letter(dtype: str) -> str:
    return {"b": "b", "i": "i", "u": "i", "f": "f", "c": "c"}[np.dtype(dtype).kind]


def _mixed(sample: Any, partner: str, *, first: bool) -> Any:
    """The sample with one of its first two operands in another dtype."""
    x, y, *rest = sample.args
    pair = (_small(x, partner), y) if first else (x, _small(y, partner))
    name = f"{sample.name} of {x.dtype.name} as {' and '.join(a.dtype.name for a in pair)}"
    return Sample(name, (*pair, *rest), sample.kwargs)


def _small(array: Any, dtype: str) -> Any:
    """Numbers like those of the array that every dtype holds: integers from 1 to 4 or so."""
    values = array.real.astype(float)
    if np.dtype(dtype).kind in "biu":
        signs = 1 if np.dtype(dtype).kind in "bu" else np.where(values < 0, -1, 1)
        values = signs * (np.minimum(np.trunc(np.abs(values)), 3) + 1)
    return values.astype(dtype)


def _check(target: Any, subject: Any, sample: Any, promoted: str) -> Measure:
    if not target.supports(promoted):
        raise Unsupported(f"{target.device} has no {promoted}")
    made = target.evaluate(subject, promoted, sample).checked()
    rules = load_data("dtypes")["rules"].get(subject.key, "same").split()
    wanted = [RULES[rule](np.dtype(promoted)) for rule in rules]
    found = [part.dtype.name for part in made.made if isinstance(part, Tensor)]
    if found != wanted:
        raise Failed(f"{sample.name}: results of {found}, expected {wanted}")
    return compare_call(target, subject, promoted, sample, made.results)
