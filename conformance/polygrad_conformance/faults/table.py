"""Which faults there are: one of each class for every pair of operation and check kind declared."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from polygrad.families import OPERATIONS
from polygrad_conformance.case import Case
from polygrad_conformance.collection import collect
from polygrad_conformance.faults.damage import DAMAGES, Class

__all__ = ["Fault", "cases_by_pair", "faults"]


@dataclass(frozen=True)
class Fault:
    """One class of damage to one operation.

    Attributes
    ----------
    op
        Its key in the registry.
    name
        The class, a key of `DAMAGES`.
    """

    op: str
    name: str

    def __str__(self) -> str:
        """As the command takes it."""
        return f"{self.op}/{self.kind}/{self.name}"

    @property
    def kind(self) -> str:
        """The check kind that must find it."""
        return DAMAGES[self.name].kind

    @property
    def described(self) -> Class:
        """Its class."""
        return DAMAGES[self.name]

    @contextmanager
    def planted(self) -> Iterator[None]:
        """While it is open, the operation is faulty on the faulty device."""
        right = OPERATIONS[self.op]
        OPERATIONS[self.op] = replace(right, function=self.described.damage(right.function))
        try:
            yield
        finally:
            OPERATIONS[self.op] = right


def cases_by_pair(level: str = "full") -> dict[tuple[str, str], list[Case]]:
    """The cases of each operation and check kind; those in float32 first, which tell most."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in collect(level):
        if case.op in OPERATIONS:
            found.setdefault((case.op, case.check), []).append(case)
    for cases in found.values():
        cases.sort(key=lambda case: case.dtype != "float32")
    return found


def faults(level: str = "full") -> list[Fault]:
    """Every fault of every declared pair, in the order of the cases."""
    pairs = cases_by_pair(level)
    return [Fault(op, name) for op, kind in pairs for name, c in DAMAGES.items() if c.kind == kind]
