"""The fft extension of the array API standard."""

from __future__ import annotations

from typing import Any

from polygrad.ops import functions_of

_FUNCTIONS = functions_of("fft")
globals().update(_FUNCTIONS)
__all__ = sorted(_FUNCTIONS)  # noqa: PLE0605  the registry's names are not literals


def __getattr__(name: str) -> Any:
    """For type checkers: all names come from the registry."""
    from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

    raise missing(__name__, name)
