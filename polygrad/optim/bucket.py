"""Buckets: parameters that are updated by one call of a rule.

Note [Buckets]
--------------
On small arrays the call of a library function costs more than its work, and an update rule makes
a dozen of them for each parameter. So the small parameters of a group that share device, dtype and
step count form one bucket: their values, gradients and state are laid end to end in one array,
updated by one call, and taken apart again. The parameters' arrays are then views of the new whole,
which is never written: whoever holds an old value keeps it. A value that somebody else replaced
since is noticed, because the parameter's array is no longer the view that the bucket made. A large
parameter is a bucket of its own, and is not copied; so is each of a rule that looks at the
parameter as a whole, as Muon's does at a matrix. Where a rule keeps no state and the backend can
write in place, as plain SGD on NumPy, nothing is to be gained by laying end to end: such a bucket
updates each parameter where it is, in one loop. Where the backend's rule takes gradients in parts
(`<rule>_of_parts`, with a list of them in the place of the gradient), large parameters go into the
bucket as well: a step is one call, whatever there is, and no gradient is copied.

While a bucket exists it owns the state; `Optimizer.state` opens all buckets, which gives each
parameter its part back.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from polygrad import dtypes
from polygrad.config import no_grad
from polygrad.ops.creation import to_place
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.writes import assign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from polygrad.backend import Kernels

__all__ = ["LARGE", "Bucket", "takes_parts", "updates_each"]

LARGE = 1 << 14  # elements: from here on, laying end to end costs more than it saves

Numbers = dict[str, float]


class Bucket:
    """Parameters with equal Kernels and equal numbers (such as the step count), and their state.

    Attributes
    ----------
    numbers
        State that is the same for all: Python numbers by name.
    slots
        The names of the state arrays of the group, in the order in which the rule takes them.
    layout
        The shapes of those that are kept, for a single parameter whose rule is not elementwise.
    arrays
        The state arrays, each the state of all parameters end to end.
    """

    def __init__(
        self,
        rule: str,
        params: Sequence[Tensor],
        numbers: Numbers,
        states: Sequence[dict[str, Any]],
        slots: tuple[str, ...],
        initial: Callable[[str], float],
        layout: dict[str, tuple[int, ...]] | None = None,
    ) -> None:
        self.rule, self.numbers, self.slots = rule, numbers, slots
        self.params = list(params)
        self.kernels = k = self.params[0].kernels
        self.inplace = inplace_rule(k, rule)
        alone = layout is not None or updates_each(k, rule, slots)
        self.flat = (len(self.params) > 1 or k.is_complex) and not alone
        self.in_parts = self.flat and takes_parts(k, rule)
        self.shapes = [tuple(raw(p).shape) for p in self.params]
        self.cuts = self._cuts() if self.flat else []
        self.real = k.with_dtype(dtypes.real_of(k.dtype))
        shapes = (
            dict.fromkeys(slots, self.shapes) if layout is None
            else {slot: [shape] for slot, shape in layout.items()}
        )  # fmt: skip
        self.kept = tuple(shapes)
        with self._guard(), k.explaining(f"the state of {rule} for shapes {self.shapes[:3]}"):
            self.arrays = [
                self._collect(states, slot, initial(slot), own) for slot, own in shapes.items()
            ]
        self.whole: Any = None
        self.parts: list[Any] = [None] * len(self.params)

    def _cuts(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Where each parameter begins and ends in the whole, and its shape."""
        ends = accumulate(map(math.prod, self.shapes), initial=0)
        return [(a, b, shape) for (a, b), shape in zip(pairwise(ends), self.shapes, strict=True)]

    def _guard(self) -> Any:
        guard = self.kernels.guard
        return nullcontext() if guard is None else guard()

    def _collect(
        self,
        states: Sequence[dict[str, Any]],
        slot: str,
        initial: float,
        shapes: Sequence[tuple[int, ...]],
    ) -> Any:
        """One state array of its own memory; parameters without it begin at `initial`.

        The state comes along to where its parameter was moved.
        """
        k = self.kernels
        start = complex(initial, initial) if k.is_complex else initial
        found = [
            raw(to_place(state[slot], k.dtype, k.device)) if slot in state else k.full(shape, start)
            for state, shape in zip(states, shapes, strict=True)
        ]
        return self._join(found) if self.flat else k.backend.copy(found[0])

    def _join(self, arrays: list[Any]) -> Any:
        """Arrays end to end; complex ones as all their real parts, then all the imaginary ones."""
        xp = self.kernels.xp
        if self.kernels.is_complex:
            arrays = [xp.real(a) for a in arrays] + [xp.imag(a) for a in arrays]
        return xp.concat(arrays, axis=None)

    def _split(self, whole: Any) -> list[Any]:
        """The parts of an array made by `_join`."""
        k, reshape = self.kernels, self.kernels.reshape
        if k.is_complex:
            half = whole.shape[0] // 2
            whole = k.cast(whole[:half]) + k.cast(whole[half:]) * 1j
        return [
            whole[start:stop] if len(shape) == 1 else reshape(whole[start:stop], shape)
            for start, stop, shape in self.cuts
        ]

    def fits(self, slots: tuple[str, ...]) -> bool:
        """Whether the parameters are where they were, and the rule still keeps these arrays."""
        if slots != self.slots:
            return False
        k = self.kernels
        for p in self.params:  # noqa: SIM110  every step: a generator costs as much again
            if p.kernels is not k:
                return False
        return True

    def update(self, keywords: dict[str, Any]) -> None:
        """One step of all parameters; each has a gradient. The caller quiets the backend."""
        update = self._update_all if self.flat else self._update_each
        if self.kernels.guard is None:
            update(keywords)
        else:
            with self.kernels.guard():
                update(keywords)

    def _update_each(self, keywords: dict[str, Any]) -> None:
        """The step of each parameter, in place if nobody else sees its value."""
        unshared = self.kernels.backend.unshared
        for p in self.params:
            g: Any = p.gradient
            if self.inplace is not None and not p.alias and unshared(p):
                self.inplace(p.array, raw(g), *self.arrays, **keywords)
            else:
                value, arrays = self._apply(raw(p), raw(g), keywords)
                self._assign(p, value)
                self.arrays = arrays

    def _update_all(self, keywords: dict[str, Any]) -> None:
        """The step of all parameters at once."""
        params = self.params
        for p, part in zip(params, self.parts, strict=True):
            if p.array is not part or part is None:
                self.whole = self._join([raw(p) for p in params])
                break
        grads: list[Any] = [p.gradient for p in params]
        grads = [raw(g) for g in grads]
        g = grads if self.in_parts else self._join(grads)
        whole, arrays = self._apply(self.whole, g, keywords)
        parts = self._split(whole)
        self.whole, self.parts, self.arrays = whole, parts, arrays  # from here on nothing can fail
        for p, part in zip(params, parts, strict=True):
            self._assign(p, part)

    def _assign(self, p: Tensor, value: Any) -> None:
        """A new value for a parameter, which may be a view."""
        if p.alias:
            with no_grad():
                assign(p, new_tensor(value, self.kernels))
        else:
            p.array = value

    def _apply(self, value: Any, g: Any, keywords: dict[str, Any]) -> tuple[Any, list[Any]]:
        """The new value, of memory of its own, and the new state arrays."""
        k = self.real
        if self.inplace is not None:
            value = k.backend.copy(value)
            self.inplace(value, g, *self.arrays, **keywords)
            return value, self.arrays
        rule = self.rule + "_of_parts" if self.in_parts else self.rule
        value, *arrays = getattr(k, rule)(value, g, *self.arrays, **keywords)
        value, *arrays = [
            k.cast(a) if type(a) is k.array_type else k.coerce(a) for a in (value, *arrays)
        ]
        return value, arrays

    def open(self, state: dict[Tensor, dict[str, Any]]) -> None:
        """Give each parameter its part of the state."""
        with self._guard():
            columns = [self._split(a) if self.flat else [a] for a in self.arrays]
        for i, p in enumerate(self.params):
            own = state.setdefault(p, {})
            own.update(self.numbers)
            for slot, column in zip(self.kept, columns, strict=True):
                own[slot] = new_tensor(column[i], self.kernels)


def inplace_rule(k: Kernels, rule: str) -> Callable[..., Any] | None:
    """The backend's `<rule>_`, which writes into what it is given; not if it has a `<rule>`."""
    real = dtypes.real_of(k.dtype)
    if k.backend.table.find(rule, k.device, real) is not None:
        return None
    name = rule + "_"
    if k.backend.table.find(name, k.device, real) is None:
        return None
    kernels = k.backend.kernels(k.device, real)

    def rule_in_place(*arrays: Any, **keywords: Any) -> Any:
        return getattr(kernels, name)(*arrays, **keywords)

    return rule_in_place


def updates_each(k: Kernels, rule: str, slots: tuple[str, ...]) -> bool:
    """Whether parameters of these Kernels are updated one by one: Note [Buckets]."""
    return not slots and not k.is_complex and inplace_rule(k, rule) is not None


def takes_parts(k: Kernels, rule: str) -> bool:
    """Whether the backend has the rule for gradients in parts: Note [Buckets]."""
    return not k.is_complex and (
        k.backend.table.find(rule + "_of_parts", k.device, k.dtype) is not None
    )
