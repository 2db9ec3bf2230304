"""What all metrics share: a state that batches, and other workers' states, are added to.

Note [One addition]
-------------------
A metric says what a batch measures, as a small dictionary of numbers and NumPy arrays, and how two
such dictionaries add up. `update` adds that of a batch, `merge` that of another metric: so batches
may come in any number, size and order, from any number of workers. What is counted is exact.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from polygrad.config import no_grad
from polygrad.errors import InvalidArgumentError, InvalidTypeError

__all__ = ["Metric", "State"]

State = dict[str, Any]


class Metric(ABC):
    """Base of all metrics: a subclass defines `empty`, `measure`, `compute`, and `add` if needed.

    Arguments of `update` may be Tensors of any device, arrays of any known library, or nested lists
    of numbers. A Tensor's history is neither used nor kept. What `compute` returns is a float, or a
    NumPy array.

    >>> class Largest(Metric):
    ...     def empty(self):
    ...         return {"largest": float("-inf")}
    ...     def measure(self, values):
    ...         return {"largest": max(values)}
    ...     def add(self, a, b):
    ...         return {"largest": max(a["largest"], b["largest"])}
    ...     def compute(self):
    ...         return self.state["largest"]
    >>> largest = Largest()
    >>> largest.update([1, 5]), largest.update([3])
    (None, None)
    >>> largest.compute()
    5
    """

    def __init__(self) -> None:
        self.state = self.empty()

    # ---- what a metric says -------------------------------------------------------------------
    @abstractmethod
    def empty(self) -> State:
        """The state before the first batch."""

    @abstractmethod
    def measure(self, *args: Any, **kwargs: Any) -> State:
        """The state of one batch: what `update` was given."""

    def add(self, a: State, b: State) -> State:
        """The state of both; neither is changed."""
        return {name: value + b[name] for name, value in a.items()}

    @abstractmethod
    def compute(self) -> Any:
        """The value, of all that was added since the last `reset`."""

    # ---- what a user calls --------------------------------------------------------------------
    def update(self, *args: Any, **kwargs: Any) -> None:
        """Add a batch. One that raises leaves the metric as it was."""
        with no_grad():
            measured = self.measure(*args, **kwargs)
        self.state = self.add(self.state, measured)

    def reset(self) -> None:
        """Forget all batches."""
        self.state = self.empty()

    def merge(self, other: Self) -> Self:
        """Add what another metric of the same class and options has seen; returns this one.

        Raises
        ------
        InvalidTypeError, InvalidArgumentError
            `other` is of another class, or was made with other options.
        """
        where = f"{type(self).__name__}.merge"
        if type(other) is not type(self):
            raise InvalidTypeError(
                f"a {type(other).__name__} cannot be added", where, f"pass a {type(self).__name__}"
            )
        if repr(other.options()) != repr(self.options()):
            raise InvalidArgumentError(
                f"the options differ: {other!r}, {self!r}", where, "make both with the same"
            )
        self.state = self.add(self.state, other.state)
        return self

    def options(self) -> dict[str, Any]:
        """What the metric was made with."""
        return {name: value for name, value in vars(self).items() if name != "state"}

    def state_dict(self) -> State:
        """What was added so far, of numbers and arrays that `pg.save` takes."""
        return {"metric": type(self).__name__, **copy.deepcopy(self.state)}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from what `state_dict` returned.

        Raises
        ------
        InvalidTypeError, InvalidArgumentError
            It is none, or that of a metric of another class or size.
        """
        where = f"load_state_dict of {self!r}"
        if not isinstance(state_dict, Mapping):
            raise InvalidTypeError(
                f"a state_dict is a dictionary, not {type(state_dict).__name__}", where,
                "pass what state_dict() returned",
            )  # fmt: skip
        given = dict(state_dict)
        kind, empty = given.pop("metric", None), self.empty()
        if kind != type(self).__name__ or given.keys() != empty.keys():
            raise InvalidArgumentError(
                f"this is the state of {kind}, with {sorted(given)}", where,
                f"pass that of a {type(self).__name__}, which has {sorted(empty)}",
            )  # fmt: skip
        for name, value in empty.items():
            if isinstance(value, list):  # of parts of any size: the class looks at them itself
                continue
            if np.asarray(given[name]).dtype.kind not in "biuf":
                raise InvalidTypeError(
                    f"{name} is {given[name]!r}, which is no number", where,
                    "pass what state_dict() returned",
                )  # fmt: skip
            if np.shape(value) != np.shape(given[name]) and np.size(value):
                raise InvalidArgumentError(
                    f"{name} has shape {np.shape(given[name])}, not {np.shape(value)}", where,
                    "make the metric with the options that the state was saved with",
                )  # fmt: skip
        self.state = copy.deepcopy(given)

    def __repr__(self) -> str:
        """The class and its options."""
        options = ", ".join(f"{name}={value!r}" for name, value in self.options().items())
        return f"{type(self).__name__}({options})"
