"""What a workload is held to: goals on the medians of polygrad and the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Medians = Mapping[str, float]


def duration(seconds: float) -> str:
    """Three digits and a unit: `1.25 ms`."""
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


@dataclass(frozen=True)
class AtMost:
    """polygrad takes at most `seconds`."""

    seconds: float

    def is_met(self, medians: Medians) -> bool | None:
        """Whether it is met; None if what it needs was not measured."""
        return medians["polygrad"] <= self.seconds

    def __str__(self) -> str:
        return f"<= {duration(self.seconds)}"


@dataclass(frozen=True)
class AtMostOver:
    """polygrad takes at most `seconds` more than `other`."""

    seconds: float
    other: str

    def is_met(self, medians: Medians) -> bool | None:
        """Whether it is met; None if what it needs was not measured."""
        if self.other not in medians:
            return None
        return medians["polygrad"] - medians[self.other] <= self.seconds

    def __str__(self) -> str:
        return f"<= {self.other} + {duration(self.seconds)}"


@dataclass(frozen=True)
class AtMostTimes:
    """`ours`, a polygrad, takes at most `ratio` times as much time or memory as `other`."""

    ratio: float
    other: str
    ours: str = "polygrad"

    def is_met(self, medians: Medians) -> bool | None:
        """Whether it is met; None if what it needs was not measured."""
        if self.other not in medians or self.ours not in medians:
            return None
        return medians[self.ours] <= self.ratio * medians[self.other]

    def __str__(self) -> str:
        who = "" if self.ours == "polygrad" else f"{self.ours} "
        return f"{who}<= {self.ratio:.2f} {self.other}"


Goal = AtMost | AtMostOver | AtMostTimes
