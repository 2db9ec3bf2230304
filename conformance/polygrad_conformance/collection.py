"""All cases of a level, in a fixed order, and the part of them that was asked for."""

from __future__ import annotations

import fnmatch
import functools
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polygrad_conformance.case import Case, SuiteError
from polygrad_conformance.checks import KINDS, cases_of
from polygrad_conformance.declarations import LEVELS, subjects

__all__ = ["Selection", "collect", "digest", "select"]


@dataclass(frozen=True)
class Selection:
    """What to run.

    Attributes
    ----------
    words
        A case runs if its id matches one of them: a glob (`*/float16/*`), the beginning of an id
        (`exp/float32`), or a text without a slash that the id contains (`softmax`).
    checks
        The kinds of check; empty: all.
    without
        Kinds of check to leave out.
    dtypes
        Empty: all.
    part
        (i, n): the i-th of n parts of equal size on average, from 1 on.
    """

    words: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    part: tuple[int, int] = (1, 1)

    def __str__(self) -> str:
        """As options; empty if everything runs."""
        parts = [f"-k {word}" for word in self.words]
        kinds = {"checks": self.checks, "without": self.without, "dtypes": self.dtypes}
        parts += [f"--{name} {','.join(words)}" for name, words in kinds.items() if words]
        if self.part != (1, 1):
            parts.append(f"--part {self.part[0]}/{self.part[1]}")
        return " ".join(parts)

    def __contains__(self, case: Case) -> bool:
        """Whether a case is to run."""
        if self.checks and case.check not in self.checks:
            return False
        if case.check in self.without or (self.dtypes and case.dtype not in self.dtypes):
            return False
        i, n = self.part
        if n > 1 and zlib.crc32(case.op.encode()) % n != i - 1:  # whole operations: they share work
            return False
        return not self.words or any(_matches(case.id, word) for word in self.words)


def _matches(path: str, word: str) -> bool:
    if any(c in word for c in "*?["):
        return fnmatch.fnmatchcase(path, word)
    return path.startswith(word) if "/" in word else word in path


@functools.cache
def collect(level: str = "smoke", ops: frozenset[str] | None = None) -> tuple[Case, ...]:
    """Every case of a level, or those of some operations, by step of the ladder.

    Raises
    ------
    SuiteError
        A declaration is wrong, an id occurs twice, or there is no such level.
    """
    from polygrad_conformance.subjects import own_cases

    if level not in LEVELS:
        raise SuiteError(f"there is no level {level!r}: take one of {', '.join(LEVELS)}")
    made: list[Case] = [*own_cases(level)]
    if ops is not None:
        made = [case for case in made if case.op in ops]
    for subject in subjects().values():
        if ops is None or subject.key in ops:
            made += cases_of(subject, level)
    _unique(made)
    return tuple(sorted(made, key=lambda case: case.step))  # stable: otherwise in order


def _unique(cases: Iterable[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise SuiteError(f"two cases are called {case.id}")
        if case.check not in KINDS:
            raise SuiteError(f"{case.id}: there is no check {case.check!r}")
        seen.add(case.id)


def select(cases: Sequence[Case], selection: Selection) -> list[Case]:
    """The cases that were asked for, in order."""
    return [case for case in cases if case in selection]


def digest(cases: Iterable[Case]) -> str:
    """SHA-256 of the sorted ids."""
    text = "\n".join(sorted(case.id for case in cases))
    return hashlib.sha256(text.encode()).hexdigest()
