"""Compiles kernels when they are first called, and launches them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polygrad.backends.bfloat16 import BFLOAT16, narrowed
from polygrad.backends.cupy_kernels.layout import (
    THREADS,
    Rows,
    blocks_for,
    is_dense,
    launch_of,
    two_strides,
)
from polygrad.backends.cupy_kernels.text import source
from polygrad.kernels import FORWARDS, Array, Kernel, Kernels, bind
from polygrad.lanes import Numbers, Recording

__all__ = ["OPTIONS", "Family", "Launcher", "Row", "forward"]

# Products and sums are rounded one by one, as elsewhere: Note [One text for CUDA and HIP].
OPTIONS = {"cuda": ("--std=c++14", "--fmad=false"), "rocm": ("-ffp-contract=off",)}


class Row(NamedTuple):
    """One operation served by kernels.

    `call(launcher, F, *inputs, **keywords)` is what the operation is, on raw arrays; `kernels` are
    those of the family's text that it launches.
    """

    op: str
    call: Callable[..., Any]
    dtypes: tuple[str, ...]
    kernels: tuple[str, ...]


class Family(NamedTuple):
    """Kernels that are compiled together, once for each dtype."""

    name: str
    text: str
    rows: tuple[Row, ...]


class Launcher:
    """What calls kernels.

    Parameters
    ----------
    library
        CuPy, or what makes arrays as CuPy does.
    module
        Compiles a text; of what it gives, `get_function(name)` is a kernel, called with the grid,
        the block and the arguments.
    recording
        What the calling thread records, if it does: Note [State in a graph].
    """

    def __init__(
        self, library: Any, module: Callable[[str], Any],
        recording: Callable[[], Recording | None] = lambda: None,
    ) -> None:  # fmt: skip
        self.library, self.module, self.recording = library, module, recording
        self.threads = THREADS
        self._kernels: dict[tuple[str, Any, str], Any] = {}

    def run(
        self, family: Family, name: str, dtype: Any, blocks: int, threads: int, *arguments: Any
    ) -> None:
        """Launch a kernel: ints go as long long, floats as double, arrays as their addresses."""
        key = (family.name, dtype, name)
        if (kernel := self._kernels.get(key)) is None:
            module = self.module(source(family.text, getattr(dtype, "name", dtype)))
            for row in family.rows:
                for each in row.kernels:
                    self._kernels[family.name, dtype, each] = module.get_function(each)
            kernel = self._kernels[key]
        kernel((blocks,), (threads,), arguments)

    def over_rows(self, family: Family, name: str, x: Array, rows: Rows, *arguments: Any) -> None:
        """Launch a kernel for the rows of x; their description follows the arguments."""
        blocks, threads, numbers = launch_of(rows)
        self.run(family, name, x.dtype, blocks, threads, *arguments, *numbers)

    def over_all(self, family: Family, name: str, x: Array, n: int, *arguments: Any) -> None:
        """Launch a kernel of a thread for each of n elements."""
        self.run(family, name, x.dtype, blocks_for(n), self.threads, *arguments)

    # ---- what a recording is told ----------------------------------------------------------------
    def uploaded(self, host: np.ndarray[Any, Any]) -> Array:
        """Host values on the device, where they are at each replay too, if this is recorded."""
        recording = self.recording()
        return self.library.asarray(host) if recording is None else recording.place(host)

    def numbers(
        self, reckon: Callable[[Mapping[str, Any]], Sequence[float]], values: Sequence[float]
    ) -> tuple[int, Array]:
        """(1, memory with these values) if this is recorded, else (0, what is not looked at)."""
        recording = self.recording()
        if recording is None:
            return 0, self.library.empty((1,), "float64")
        array = recording.place(np.array(values, np.float64))
        recording.numbers.append(Numbers(array, reckon))
        return 1, array

    # ---- arrays ---------------------------------------------------------------------------------
    def empty(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """C-ordered, not filled."""
        return self.library.empty(shape, dtype)

    def nothing(self) -> Array:
        """For an argument that is not looked at: no integers."""
        return self.library.empty((1,), "int64")

    def no_mask(self) -> Array:
        """For an argument that is not looked at: no booleans."""
        return self.library.empty((1,), "bool")

    def strides_of(self, shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
        """Of a C-ordered array, in bytes."""
        found, step = [], itemsize
        for n in reversed(shape):
            found.append(step)
            step *= n
        return tuple(reversed(found))

    def address(self, x: Array) -> int:
        """Where the memory of x is."""
        return int(x.data.ptr)

    def like(self, x: Array, dtype: Any = None) -> Array:
        """Not filled, and in memory in the order of x, which is dense."""
        return self.library.empty_like(x, dtype=dtype)

    def dense(self, x: Array) -> Array:
        """x, or a C-ordered copy of it."""
        return x if is_dense(x) else self.contiguous(x)

    def contiguous(self, x: Array) -> Array:
        """x, or a C-ordered copy of it."""
        return self.library.ascontiguousarray(x)

    def beside(self, a: Array, x: Array) -> Array | None:
        """An array that has each element where x, dense, has its own; None: of another shape."""
        if a.shape != x.shape or a.dtype != x.dtype:
            return None
        if a.strides == x.strides:
            return a
        made = self.like(x)
        made[...] = a
        return made

    def in_order_of(self, x: Array, a: Array) -> Array:
        """An array of the shape of x, dense, in memory in the same order."""
        if all(s * x.itemsize == t * a.itemsize for s, t in zip(a.strides, x.strides, strict=True)):
            return a
        made = self.like(x, a.dtype)
        made[...] = a
        return made

    def broadcast(self, a: Array, shape: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
        """A stack of matrices read as one of another shape; the strides of `two_strides`, and two.

        Matrix q begins at `q // n * s + q % n * t`.
        """
        view = self.library.broadcast_to(a, shape)
        if (lead := two_strides(view, view.ndim - 2)) is None:
            view = self.contiguous(view)
            lead = two_strides(view, view.ndim - 2)
        return view, (*(lead or (1, 0, 0)), *(s // a.itemsize for s in view.strides[-2:]))

    def per_row(self, rows: Rows, x: Array, axis: Any, dtype: Any) -> Array:
        """Not filled, an element for each row of x, where axes reduced have the length 1."""
        along = {a % x.ndim for a in ((axis,) if isinstance(axis, int) else axis)}
        shape = [1 if i in along else x.shape[i] for i in rows.order]
        made = self.empty(tuple(shape), dtype)
        return made.transpose(tuple(rows.order.index(i) for i in range(x.ndim)))

    def row_order(self, rows: Rows, a: Array, dtype: Any) -> Array:
        """An array with an element for each row, in the order of rows."""
        return self.contiguous(a.transpose(rows.order).astype(dtype, copy=False))


def forward(name: str, F: Kernels, *inputs: Any, **keywords: Any) -> Any:
    """The operation's own forward, for what its kernel does not do."""
    found: Kernel | None = FORWARDS[name]
    if found is None:
        raise KeyError(name)
    made = bind(found, F)(*inputs, **keywords)
    return narrowed(made, F.native_dtype) if F.native_dtype.name == BFLOAT16 else made
