"""Claims: what the backend says of itself is so.

An operation is supported or said not to be, and its accuracy, where it is measured in units in the
last place, is that of the profile claimed.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from typing import Any

from polygrad.errors import UnsupportedOperationError
from polygrad_conformance.case import Case, Failed, Measure, Unsupported
from polygrad_conformance.checks import make
from polygrad_conformance.checks.value import graded
from polygrad_conformance.compare import compare_call, worst_of
from polygrad_conformance.tolerance import PROFILES, within_profile

# SciPy's functions: a library need not have them, and polygrad says so when they are called.
_OPTIONAL_SPACES = ("special",)


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One."""
    del level

    def action(target: Any) -> Measure | None:
        if target.supports(dtype) if dtype != "none" else True:
            return check_claims(target, subject, dtype)
        for sample in subject.samples(dtype):  # the device says that it has no such dtype
            made = target.evaluate(subject, dtype, sample)
            if made.error is None and any(dtype == a.dtype.name for a in made.hosts):
                raise Failed(f"{target.device} is said to have no {dtype}, and computes with it")
        raise Unsupported(f"{target.device} has no {dtype}")

    yield make(subject, dtype, "claims", "all", action)


def claimed_unsupported(target: Any, key: str, dtype: str) -> bool:
    """Whether the backend's capabilities name the operation, or the operation in this dtype."""
    patterns = target.capabilities.unsupported
    names = (key, f"{key}/{dtype}")
    return any(fnmatch.fnmatchcase(name, p) for name in names for p in patterns)


def profile_of(target: Any, dtype: str) -> str:
    """The accuracy profile that the backend claims in a dtype."""
    profile = dict(target.capabilities.accuracy).get(dtype, "full")
    if profile not in PROFILES:
        raise Failed(f"capabilities.accuracy: {profile!r} is none of {', '.join(PROFILES)}")
    return profile


def check_claims(target: Any, subject: Any, dtype: str) -> Measure | None:
    made = [target.evaluate(subject, dtype, s) for s in subject.samples(dtype)]
    works = any(e.error is None for e in made)
    lacking = all(isinstance(e.error, UnsupportedOperationError) for e in made)
    if claimed_unsupported(target, subject.key, dtype):
        if works:
            raise Failed("it works: take it out of capabilities.unsupported")
        return None
    if lacking and subject.space not in _OPTIONAL_SPACES:
        raise Failed(
            f"it is not supported ({made[0].error}): write a kernel, or name it in "
            "capabilities.unsupported"
        )
    if not works:
        return None  # `value` says why
    worst = worst_of([m for m in _measures(target, subject, dtype) if m.unit == "ulp"])
    profile = profile_of(target, dtype)
    if not within_profile(worst.grade, profile):
        raise Failed(
            f"grade {worst.grade} ({worst.measured:.3g} {worst.unit}, {worst.bound:g} allowed): "
            f"the profile {profile!r} claims {PROFILES[profile]}",
            worst,
        )
    return worst


def _measures(target: Any, subject: Any, dtype: str) -> list[Measure]:
    """Those of `value`, and new ones of the samples that it did not run."""
    made = []
    for sample in graded(subject, dtype, target.level):
        found = target.measures.get((subject.key, dtype, sample.name))
        if found is None:
            call = target.evaluate(subject, dtype, sample)
            if call.error is not None:
                continue
            try:
                found = compare_call(target, subject, dtype, sample, call.results)
            except Failed:
                continue  # `value` says why
        made.append(found)
    return made
