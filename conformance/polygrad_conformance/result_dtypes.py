"""The dtypes of results: a committed table, so that a change of one is seen.

`data/dtypes.toml` has a rule for each operation, or the dtypes of each sample where there is none.
`python -m polygrad_conformance.result_dtypes` prints it anew, as NumPy's backend answers today;
what differs from the committed one is to be judged against the standard first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad_conformance.declarations import Subject, load_data, subjects
from polygrad_conformance.target import Target

__all__ = ["RULES", "as_on_numpy", "expected", "render"]

Rule = Callable[[np.dtype[Any]], str]


def _sum(dtype: np.dtype[Any]) -> str:
    """Small integers are added up in 64 bits."""
    if dtype.kind in "bi":
        return "int64"
    return "uint64" if dtype.kind == "u" else dtype.name


RULES: dict[str, Rule] = {
    "same": lambda d: d.name,
    "real": lambda d: dtypes.real_of(d).name,
    "complex": lambda d: dtypes.complex_of(d).name,
    "floating": lambda d: d.name if dtypes.kind_of(d) >= dtypes.REAL else "float32",
    "sum": _sum,
    **{d.name: lambda d, name=d.name: name for d in dtypes.ALL},  # type: ignore[misc]
}


def expected(key: str, dtype: str, sample: str, target: Any) -> list[str]:
    """The dtypes of the parts of a result; 64-bit integers narrowed where a device has none."""
    table = load_data("dtypes")
    entry = table["rules"].get(key)
    if entry is None:
        row = table["samples"].get(key, {})
        entry = row.get(sample, row.get(f"{sample} {dtype}"))
    if entry is None:  # an operation younger than the table: a test of the declarations says so
        found = observed_on_numpy(key, dtype).get(sample, "").split()
        return [_fits(name, target) for name in found]
    plain = np.dtype("float32") if dtype == "none" else dtypes.canonical(dtype)
    return [_fits(RULES[rule](plain), target) for rule in entry.split()]


def _fits(name: str, target: Any) -> str:
    """The dtype itself, or the next best of those that the device has."""
    instead = {"int64": ("int32",), "uint64": ("uint32", "int64", "int32")}
    return next((d for d in (name, *instead.get(name, ())) if target.supports(d)), name)


@functools.cache
def observed_on_numpy(key: str, dtype: str) -> dict[str, str]:
    """The dtypes that NumPy's backend gives, by sample."""
    subject, target = subjects()[key], Target("cpu", "full")
    return {s.name: _names(target.evaluate(subject, dtype, s)) for s in subject.samples(dtype)}


def as_on_numpy(subject: Subject, dtype: str, sample: Any, target: Target) -> list[str]:
    """The dtypes that NumPy's backend gives for one sample, as far as the device has them."""
    made = Target("cpu", "full").evaluate(subject, dtype, sample)
    return [_fits(name, target) for name in _names(made).split()]


def _names(made: Any) -> str:
    return " ".join(part.dtype.name for part in made.made if hasattr(part, "kernels"))


def missing() -> list[str]:
    """The operations without an entry in the table."""
    table = load_data("dtypes")
    return [key for key in subjects() if key not in table["rules"] and key not in table["samples"]]


def observed(subject: Subject, target: Target) -> dict[str, dict[str, str]]:
    """The dtypes of results as they are: by dtype and sample."""
    found: dict[str, dict[str, str]] = {}
    for dtype in subject.dtypes("full"):
        row = found[dtype] = {}
        for sample in subject.samples(dtype):
            made = target.evaluate(subject, dtype, sample)
            if made.error is None:
                row[sample.name] = _names(made)
    return found


def _rule(texts: dict[str, str]) -> str | None:
    """A rule for each part that fits the results of every dtype; None: there is none."""
    counts = {len(text.split()) for text in texts.values()}
    if len(counts) != 1:
        return None
    chosen = []
    for part in range(counts.pop()):
        for name, rule in RULES.items():
            if all(
                text.split()[part] == rule(np.dtype("float32" if dtype == "none" else dtype))
                for dtype, text in texts.items()
            ):
                chosen.append(name)
                break
        else:
            return None
    return " ".join(chosen)


def _lines(key: str, found: dict[str, dict[str, str]]) -> tuple[str, str]:
    """The line of an operation under [rules], or the one under [samples]."""
    names = list(dict.fromkeys(name for row in found.values() for name in row))
    by_sample = {n: _rule({d: row[n] for d, row in found.items() if n in row}) for n in names}
    if None not in by_sample.values() and len(set(by_sample.values())) == 1:
        return f'"{key}" = "{by_sample[names[0]]}"', ""
    pairs = []
    for name, rule in by_sample.items():
        if rule is not None:
            pairs.append(f'"{name}" = "{rule}"')
            continue
        pairs += [
            f'"{name} {dtype}" = "{row[name]}"' for dtype, row in found.items() if name in row
        ]
    return "", f'"{key}" = {{ {", ".join(pairs)} }}'


def render() -> str:
    """The table as TOML, from what NumPy's backend answers."""
    target = Target("cpu", "full")
    lines = [_lines(k, observed(s, target)) for k, s in sorted(subjects().items())]
    head = [
        "# Dtypes of results, by operation: a rule for each part of the result (see RULES in",
        "# result_dtypes.py), or a rule for each sample, where samples differ.",
        "[rules]",
    ]
    return (
        "\n".join(
            [*head, *(a for a, _ in lines if a), "", "[samples]", *(b for _, b in lines if b)]
        )
        + "\n"
    )


if __name__ == "__main__":
    print(render(), end="")
