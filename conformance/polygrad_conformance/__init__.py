"""The conformance suite: does a device compute what polygrad promises, and how accurately?

On the command line `polygrad-conformance run --backend NAME`; in a notebook
`check_backend(Backend())`; in the tests of a plugin `@parametrize_with_cases(Backend())`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polygrad_conformance.api import check_backend, parametrize_with_cases
    from polygrad_conformance.record import Result, Run

__all__ = ["Result", "Run", "check_backend", "parametrize_with_cases"]
__version__ = "1.0.0"

_HOMES = {
    "Result": "record", "Run": "record", "check_backend": "api", "parametrize_with_cases": "api",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What the package offers, imported when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"polygrad_conformance.{_HOMES[name]}"), name)
