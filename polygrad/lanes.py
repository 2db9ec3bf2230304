"""What a backend gives for a queue of a device beside its usual one, and for a recording."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["Lane", "Recording"]


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


class Recording(Protocol):
    """What was submitted once, to be submitted again; whole when its context has ended."""

    def replay(self) -> None:
        """Submit all of it to the current queue."""

    def write(self, target: Any, value: Any) -> None:
        """Copy values into the memory of another array, of the same shape."""
