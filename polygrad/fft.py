"""The fft extension of the array API standard."""

from __future__ import annotations

from typing import Any

from polygrad.families import operations_of

globals().update({name: operation.function for name, operation in operations_of("fft").items()})
__all__ = sorted(operations_of("fft"))  # noqa: PLE0605  the registry's names are not literals


def __getattr__(name: str) -> Any:
    """For type checkers: all names come from the registry."""
    raise AttributeError(f"module 'polygrad.fft' has no attribute {name!r}")
