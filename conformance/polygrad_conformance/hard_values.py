"""Hard inputs by dtype: ties, NaN, infinities, signed zeros, the ends of the range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygrad_conformance.tolerance import format_of

__all__ = ["Calls", "Hard", "Make"]

Host = np.ndarray[Any, Any]

# Rows of five: among them lanes with a tie, with NaN at each place, with both infinities.
_TIES = [[1, 3, 3, 2, 3], [2, 0, 1, 0, 2], [1, 1, 1, 1, 1], [3, 2, 2, 1, 0]]
_NAN = [
    [2, np.nan, 5, np.nan, 1], [np.nan, 1, 2, 0, -1], [1, 2, 3, 4, np.nan],
    [np.inf, np.nan, 1, 0, -2],
]  # fmt: skip
_INFINITE = [[1, np.inf, 2, np.inf, 0], [0, -np.inf, -1, -np.inf, 2], [-0.0, 0.0, 0.0, -0.0, 0.0]]


class Hard:
    """The hard inputs in one dtype.

    Attributes
    ----------
    dtype, kind
        The dtype, and NumPy's letter of it: one of buifc.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = np.dtype("float32" if dtype == "none" else dtype)
        self.kind = self.dtype.kind

    def __call__(self, values: Any, dtype: Any = None) -> Host:
        """These values in the dtype; negative ones as their absolute value if it is unsigned."""
        made = np.asarray(values)
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if dtype.kind == "u":
            made = np.abs(made)
        return np.asarray(made).astype(dtype)

    @property
    def floats(self) -> bool:
        """Whether there are fractions, NaN and infinities."""
        return self.kind in "fc"

    @property
    def largest(self) -> Any:
        """The largest finite number."""
        return format_of(self.dtype).largest if self.floats else np.iinfo(self.dtype).max

    @property
    def ends(self) -> Host:
        """Both ends of the range, what lies about zero, and where doubles run out of integers."""
        if self.kind == "b":
            return np.array([False, True])
        if self.floats:
            big = self.dtype.type(format_of(self.dtype).largest)
            return np.array([big, big / 2, 2, 1, 0.5, 0.0, -0.0, -0.5, -1, -2, -big / 2, -big])\
                .astype(self.dtype)  # fmt: skip
        info = np.iinfo(self.dtype)
        bits = 8 * self.dtype.itemsize
        found = {info.max, info.max - 1, info.max // 2 + 1, info.max // 2, 3, 2, 1, 0}
        found |= {info.min, info.min + 1, -1, -2}
        found |= {2**b + d for b in (bits - 1, 24, 53) for d in (-1, 0, 1)}
        return np.array([v for v in sorted(found) if info.min <= v <= info.max], self.dtype)

    @property
    def line(self) -> Host:
        """The ends and, of a floating dtype, infinities and NaN."""
        if not self.floats:
            return self.ends
        return np.concatenate([self.ends, np.array([np.inf, -np.inf, np.nan], self.dtype)])

    @property
    def lanes(self) -> Host:
        """Rows of five with everything that a row can have, for reductions and orders."""
        if self.kind == "b":
            return np.array([[0, 0, 1, 0, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
        rows = self(_TIES)
        if self.floats:
            return np.concatenate([rows, self(_NAN), self(_INFINITE)])
        info = np.iinfo(self.dtype)
        half = info.max // 2
        more = [[info.max, info.min, info.max, half, info.min], [half + 1, half, info.max, 1, 0]]
        if info.bits == 64:
            more.append([2**53, 2**53 + 1, 2**53 - 1, 2**53 + 2, 2**53 + 1])
        return np.concatenate([rows, np.array(more, self.dtype)])

    @property
    def finite(self) -> Host:
        """The lanes that have no NaN and no infinity."""
        found = self.lanes
        return found[np.isfinite(found).all(axis=1)] if self.floats else found

    @property
    def block(self) -> Host:
        """Three axes of different sizes, (2, 3, 4), with ties along each."""
        values = np.arange(24).reshape(2, 3, 4) * 7 % 5 - (0 if self.kind in "bu" else 2)
        return self(values)

    @property
    def holes(self) -> Host:
        """The block, with NaN in some lanes of each axis."""
        made = self.block
        if self.floats:
            made[0, 1, 2] = made[1, 1, 2] = made[1, 0, 3] = np.nan
        return made

    @property
    def empty(self) -> Host:
        """Three rows of none."""
        return np.empty((3, 0), self.dtype)

    def pairs(self, values: Sequence[Any] | Host) -> tuple[Host, Host]:
        """Each with each, in full: no gradient is added up over others."""
        made = np.asarray(values)
        a, b = np.broadcast_arrays(made[:, None], made[None, :])
        return a.copy(), b.copy()


Calls = list[tuple[tuple[Any, ...], dict[str, Any]]]
Make = Callable[[Hard], Calls]
