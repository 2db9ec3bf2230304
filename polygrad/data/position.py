"""Where a loader stands: in which order, and how many batches have been handed out.

Note [Positions]
----------------
An order is drawn when an epoch begins. So an epoch is given by the states that the generators had
then, and the place in it by a number of batches. To go on there, the generators are set back for
the moment in which the order is drawn once more, the first batches of it are left out without
being fetched, and the generators return to where they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.random import Generator, GeneratorState

__all__ = ["Counted", "Position", "read_state", "set_back"]


@dataclass
class Position:
    """An epoch by the generators' states when it began, and the batches handed out since."""

    begun: list[GeneratorState]
    batches: int = 0
    over: bool = False


class Counted:
    """An iterator over the batches of an epoch that keeps its position."""

    def __init__(self, batches: Iterator[Any], position: Position) -> None:
        self._batches, self._position = batches, position

    def __iter__(self) -> Counted:
        """Itself."""
        return self

    def __next__(self) -> Any:
        """The next batch."""
        try:
            batch = next(self._batches)
        except StopIteration:
            self._position.over = True
            raise
        self._position.batches += 1
        return batch


@contextmanager
def set_back(generators: list[Generator], states: list[GeneratorState]) -> Iterator[None]:
    """Inside, the generators go on from `states`; after, from where they were."""
    now = [generator.get_state() for generator in generators]
    try:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        yield
    finally:
        for generator, state in zip(generators, now, strict=True):
            generator.set_state(state)


def _count(value: Any) -> int:
    """A number, also of a library's. Raises ValueError, TypeError."""
    number = int(value)
    if number != value or number < 0:
        raise ValueError(f"{value} is no count")
    return number


def _generator_state(one: Any) -> GeneratorState:
    """A generator's state that a Generator takes. Raises ValueError, TypeError."""
    found = GeneratorState(*map(_count, one))
    Generator(0).set_state(found)
    return found


def read_state(state: Any, number: int) -> tuple[list[GeneratorState], Position | None]:
    """The generators' states and the position in a `state_dict`, of so many generators.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        It is no state of a loader, or of one with other generators.
    """
    where = "DataLoader.load_state_dict"
    if not isinstance(state, Mapping) or set(state) != {"generators", "epoch"}:
        raise InvalidTypeError(
            f"this {type(state).__name__} is no state of a loader", where,
            "pass what state_dict() returned",
        )  # fmt: skip
    try:
        generators = [_generator_state(one) for one in state["generators"]]
        position, epoch = None, state["epoch"]
        if epoch is not None:
            begun = [_generator_state(one) for one in epoch["begun"]]
            position = Position(begun, _count(epoch["batches"]))
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"the state is not as state_dict() returned it: {error}", where, "save it again"
        ) from error
    if len(generators) != number or (position and len(position.begun) != number + 1):
        raise InvalidArgumentError(
            f"the state is of a loader with {len(generators)} generators, this one has {number}",
            where, "make it with the same arguments",
        )  # fmt: skip
    return generators, position
