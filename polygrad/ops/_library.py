"""The extensions of a library's namespace, `linalg` and `fft`, which need not be there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygrad.errors import UnsupportedOperationError

__all__ = ["Extension", "library"]


class Extension:
    """An extension of the library's namespace, which need not be there: `library(F).inv(x)`."""

    __slots__ = ("F", "space")

    def __init__(self, F: Any, space: str) -> None:
        self.F, self.space = F, space

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """A function of it.

        Raises
        ------
        UnsupportedOperationError
            The library has none of that name.
        """
        F = self.F
        found = getattr(getattr(F.xp, self.space, None), name, None)
        if found is None:
            raise UnsupportedOperationError(
                f"{F.backend.name} has no {self.space}.{name}",
                f"device {F.device}, dtype {F.dtype}",
                f"register one with backend.kernel({name!r}), or move the data with .to(device)",
            )
        return found  # type: ignore[no-any-return]


def library(F: Any, space: str = "linalg") -> Extension:
    """An extension of the library's namespace."""
    return Extension(F, space)
