"""What is computed once for one operation and dtype, and forgotten with the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Keeper"]


class Keeper:
    """Keeps results as long as the scope stays the same.

    >>> keeper = Keeper()
    >>> keeper.keep("exp", 0, lambda: 1), keeper.keep("exp", 0, lambda: 2)
    (1, 1)
    >>> keeper.keep("sin", 0, lambda: 2), keeper.keep("exp", 0, lambda: 3)
    (2, 3)
    """

    def __init__(self) -> None:
        self._cached: dict[Any, Any] = {}
        self._scope: Any = None

    def forget(self) -> None:
        """Forget all that is kept."""
        self._cached.clear()

    def keep(self, scope: Any, key: Any, make: Callable[[], Any]) -> Any:
        """`make()`, kept under `key` as long as the scope stays the same."""
        if scope != self._scope:
            self._scope = scope
            self._cached.clear()
        if key not in self._cached:
            self._cached[key] = make()
        return self._cached[key]
