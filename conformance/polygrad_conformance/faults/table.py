"""Which faults there are: one of each class for every pair of operation and check kind declared."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from polygrad.families import OPERATIONS
from polygrad_conformance.case import Case
from polygrad_conformance.collection import collect
from polygrad_conformance.declarations import subjects
from polygrad_conformance.faults.damage import DAMAGES, NUMBERS
from polygrad_conformance.faults.planting import Class, in_attribute, in_function
from polygrad_conformance.faults.sites import OWN, site

__all__ = ["Fault", "cases_by_pair", "classes_of", "faults"]


@dataclass(frozen=True)
class Fault:
    """One class of damage to one operation, layer, optimizer, ...

    Attributes
    ----------
    op
        As of the cases: a key of the registry, `nn.Linear`, `transfer`.
    name
        The class, a key of `classes_of(op)`.
    """

    op: str
    name: str

    def __str__(self) -> str:
        """As the command takes it."""
        return f"{self.op}/{self.kind}/{self.name}"

    @property
    def kind(self) -> str:
        """The check kind that must find it."""
        return self.described.kind

    @property
    def described(self) -> Class:
        """Its class."""
        return classes_of(self.op)[self.name]

    def planted(self) -> AbstractContextManager[None]:
        """While it is open, what `op` names is faulty on the faulty device."""
        described = self.described
        if described.planted is not None:
            return described.planted(self.op)
        if self.op in OPERATIONS:
            return in_function(self.op, described.damage)
        return in_attribute(*site(self.op, self.name), described.damage)


def classes_of(op: str) -> dict[str, Class]:
    """The classes of damage that can be done to what `op` names, by name."""
    for start, own in OWN.items():
        if op.startswith(start) and op not in OPERATIONS:
            return own
    return DAMAGES


def cases_by_pair(level: str = "full") -> dict[tuple[str, str], list[Case]]:
    """The cases of each operation and check kind; those in float32 first, which tell most."""
    found: dict[tuple[str, str], list[Case]] = {}
    for case in collect(level):
        found.setdefault((case.op, case.check), []).append(case)
    for cases in found.values():
        cases.sort(key=lambda case: case.dtype != "float32")
    return found


def faults(level: str = "full") -> list[Fault]:
    """Every fault of every declared pair, in the order of the cases."""
    unspecified = {key for key, subject in subjects().items() if subject.family == "shape"}
    return [
        Fault(op, name) for op, kind in cases_by_pair(level)
        for name, c in classes_of(op).items()
        if c.kind == kind and not (op in unspecified and name in NUMBERS)
    ]  # fmt: skip
