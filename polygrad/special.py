"""Special functions, named and defined as in `scipy.special`, with derivatives of every order.

Read when first asked for: as `polygrad.special`, as `.special` of a namespace, or by SciPy, which
looks there first (`SCIPY_ARRAY_API=1`). docs/special_functions.md has the table: which function is
differentiable with respect to what, and on which devices.
"""

from __future__ import annotations

from typing import Any

from polygrad.ops import functions_of

_FUNCTIONS = functions_of("special")
globals().update(_FUNCTIONS)
__all__ = sorted(_FUNCTIONS)  # noqa: PLE0605  the registry's names are not literals


def __getattr__(name: str) -> Any:
    """For type checkers: all names come from the registry."""
    from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

    raise missing(__name__, name)
