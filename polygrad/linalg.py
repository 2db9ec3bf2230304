"""The linear algebra extension of the array API standard, and more."""

from __future__ import annotations

from typing import Any

from polygrad.families import operations_of

globals().update({name: operation.function for name, operation in operations_of("linalg").items()})
__all__ = sorted(operations_of("linalg"))  # noqa: PLE0605  the registry's names are not literals


def __getattr__(name: str) -> Any:
    """For type checkers: all names come from the registry."""
    raise AttributeError(f"module 'polygrad.linalg' has no attribute {name!r}")
