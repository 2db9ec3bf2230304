"""What a backend gives for a queue of a device beside its usual one, and for a recording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Lane", "Numbers", "Recording"]


class Lane(Protocol):
    """A queue of a device beside its usual one."""

    native: Any

    def enter(self) -> None:
        """Submit here from now on, in this thread, after what was submitted before."""

    def leave(self) -> None:
        """Submit where it was done before."""

    def join(self) -> None:
        """Let what is submitted from now on run after what was submitted here."""

    def wait(self) -> None:
        """Let the host wait for what was submitted here."""


class Numbers(NamedTuple):
    """Numbers that a recorded kernel reads from memory, rather than from its arguments.

    `reckon(keywords)` are those of a call with other keywords.
    """

    array: Any
    reckon: Callable[[Mapping[str, Any]], Sequence[float]]


class Recording(Protocol):
    """What was submitted once, to be submitted again; whole when its context has ended.

    Attributes
    ----------
    numbers
        Those that kernels have been given, in their order.
    """

    numbers: list[Numbers]

    def replay(self) -> None:
        """Submit what `renew` was given, then all that was recorded, to the current queue."""

    def place(self, values: np.ndarray[Any, Any]) -> Any:
        """An array that holds these values at each replay, or those of the last `renew`."""

    def renew(self, target: Any, values: np.ndarray[Any, Any]) -> None:
        """Let an array made by `place` hold other values from the next replay on."""

    def write(self, target: Any, value: Any) -> None:
        """Copy values into the memory of another array, of the same shape."""
