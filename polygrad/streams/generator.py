"""The generator: one counter-based stream, the same bits on every device.

Note [The stream]
-----------------
Block b of the stream of seed s is Philox4x64-10 with key (s, 0) and counter b + 1, as NumPy has it:
four words of 64 bits. Every call takes whole blocks, so that its numbers depend on the seed, on the
block it starts at and on nothing else; a device could make any part of them by itself. Number i of
a call does not depend on how many it makes. With `w` a word of 64 bits, and `h` one of 32, of which
w holds two, the low half first, they are

- uniform: `(h >> 8) * 2**-24` in float32, `(w >> 11) * 2**-53` in float64; so 0 <= v < 1;
- normal: Box and Muller's `r cos(a)` and `r sin(a)` of consecutive pairs, with `a = 2 pi v` and
  `r = sqrt(-2 log(u))`, where u is `(h + 1) * 2**-32` or `((w >> 11) + 1) * 2**-53` of the first of
  a pair, and v the uniform number of the second;
- integers below n: the high 64 bits of the product `w * n`, biased by at most n / 2**64;
- bernoulli(p): `h < p * 2**32`, the right side rounded;
- permutation: the order that sorts n words w;
- other distributions: in float64 for every dtype, by the formulas of `polygrad.random`.

Note [Attempts]
---------------
Where numbers may be rejected, number i has block b + i of a call that starts at block b for itself,
and its attempt r, counted from 0, takes the block of the same counter and key (s, r and 1 more if r
is not 0). So an attempt of one number never moves another number, nor the stream.

The k-th child seed is the first word of the block with key (s, 1) and counter k + 1: streams of
other seeds that do not move this one.

They are made on the host and copied. Words, uniform numbers, integers, permutations and booleans
are the same on every machine; where logarithms and the like are taken, NumPy's may differ in the
last bit from one kind of processor to another.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from polygrad.errors import InvalidArgumentError, InvalidTypeError, OutOfMemoryError
from polygrad.streams.philox import WORDS, blocks_at, philox

__all__ = [
    "Blocks", "Generator", "GeneratorState", "default_generator", "fork_rng", "get_state",
    "initial_seed", "manual_seed", "seed", "set_state",
]  # fmt: skip

Host = np.ndarray[Any, Any]
_MASK = (1 << 64) - 1
_SET_STATE = "set_state, argument state"


class GeneratorState(NamedTuple):
    """Where a generator stands: its seed, how many blocks and how many child seeds it has given."""

    seed: int
    position: int
    children: int = 0


# Those that there are: a registry of locks to renew after a fork.
_every: weakref.WeakSet[Generator] = weakref.WeakSet()


class Generator:
    """A stream of random numbers. It belongs to no device: what it makes goes to any.

    One generator may be used by several threads: none gets the numbers of another. `pickle` and
    `copy` take the seed and the place with them.

    Parameters
    ----------
    seed
        An int, taken modulo 2**64; one that the operating system chooses, if not given.

    >>> import polygrad as pg
    >>> pg.random.uniform(2, generator=pg.Generator(0))
    tensor([0.03474188, 0.01154673], dtype=float32)
    """

    def __init__(self, seed: int | None = None) -> None:
        self._lock = threading.Lock()
        self._state = GeneratorState(_entropy() if seed is None else _seed(seed), 0)
        self._philox: Any = None
        _every.add(self)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`, an int (taken modulo 2**64), and return the generator."""
        self.set_state(GeneratorState(_seed(seed), 0))
        return self

    def seed(self) -> int:
        """Start a stream whose seed the operating system chooses; returns the seed."""
        chosen = _entropy()
        self.manual_seed(chosen)
        return chosen

    def initial_seed(self) -> int:
        """The seed of the stream."""
        return self._state.seed

    def get_state(self) -> GeneratorState:
        """Where the stream stands now."""
        return self._state

    def set_state(self, state: GeneratorState) -> None:
        """Go on from `state`, which `get_state` returned: the numbers after it come again."""
        found = _state(state)
        with self._lock:
            self._state = found
            self._philox = None

    def words(self, n: int) -> Host:
        """The next n words of 64 bits, on the host; the stream moves on by whole blocks."""
        blocks = -(-n // WORDS)
        with self._lock:
            seed, position, children = self._state
            source, self._philox = self._philox or philox(seed, 0, position), None
            drawn = _drawn(source, blocks * WORDS)
            self._state = GeneratorState(seed, position + blocks, children)
            self._philox = source  # not before: an interrupt must not part it from the state
        return drawn[:n]

    def halves(self, n: int) -> Host:
        """The next n words of 32 bits, on the host."""
        return self.words(-(-n // 2)).astype("<u8", copy=False).view("<u4")[:n]

    def blocks(self, n: int) -> Blocks:
        """The next n blocks, one for each of n numbers that may be rejected."""
        with self._lock:
            seed, position, children = self._state
            self._state = GeneratorState(seed, position + n, children)
            self._philox = None
        return Blocks(seed, position)

    def child_seed(self) -> int:
        """A seed for another stream, a new one at each call; this stream does not move.

        >>> g = Generator(1)
        >>> g.child_seed() != g.child_seed(), g
        (True, <Generator seed=1 position=0>)
        """
        with self._lock:
            seed, position, children = self._state
            self._state = GeneratorState(seed, position, children + 1)
        return int(philox(seed, 1, children).random_raw())

    def spawn(self, n: int) -> list[Generator]:
        """Generators of the next n child seeds, for n workers; this stream does not move.

        Raises
        ------
        InvalidArgumentError
            n is no int of at least 0.

        >>> [g.initial_seed() for g in Generator(1).spawn(2)]
        [1386294051110952485, 15840211338496410308]
        """
        if not hasattr(n, "__index__") or n < 0:
            raise InvalidArgumentError(
                f"{n!r} generators", "spawn, argument n", "pass an int of at least 0"
            )
        return [Generator(self.child_seed()) for _ in range(n)]

    def renew_lock(self) -> None:
        """Forget who holds the lock."""
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Seed and position."""
        return f"<Generator seed={self._state.seed} position={self._state.position}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by state."""
        return _restored, (tuple(self._state),)


class Blocks(NamedTuple):
    """Blocks of a stream that belong to one call: see Note [Attempts]."""

    seed: int
    position: int

    def run(self, start: int, stop: int) -> Host:
        """The words of the first attempts of the numbers from start to stop, of shape (n, 4)."""
        made: Host = philox(self.seed, 0, self.position + start).random_raw(WORDS * (stop - start))
        return made.reshape(-1, WORDS)

    def again(self, places: Host, attempt: int) -> Host:
        """The words of attempt 1, 2, … of the numbers at `places`, of shape (n, 4)."""
        return blocks_at(self.seed, attempt + 1, self.position, places)


def _state(given: Any) -> GeneratorState:
    """A state, or its three ints as a file gives them back."""
    if not isinstance(given, (tuple, list)) or len(given) != len(GeneratorState._fields):
        raise InvalidTypeError(
            f"a generator's state is what get_state() returned, not {type(given).__name__}",
            _SET_STATE, "to start a stream from an int, call manual_seed",
        )  # fmt: skip
    if not all(type(part) is int and part >= 0 for part in given) or given[0] > _MASK:
        raise InvalidArgumentError(
            f"{tuple(given)} is no state: it holds a seed below 2**64 and two counts", _SET_STATE,
            "pass what get_state() returned",
        )  # fmt: skip
    return GeneratorState(*given)


def _drawn(source: Any, n: int) -> Host:
    try:
        words: Host = source.random_raw(n)
    except (MemoryError, ValueError, OverflowError) as error:  # NumPy's, of sizes beyond addresses
        raise OutOfMemoryError(
            f"{n} random words of 64 bits: {error}", "random numbers, on the host",
            "draw fewer at a time",
        ) from error  # fmt: skip
    return words


def _renew_locks() -> None:
    for generator in list(_every):
        generator.renew_lock()


def _restored(state: tuple[int, int, int]) -> Generator:
    made = Generator(0)
    made.set_state(GeneratorState(*state))
    return made


def _entropy() -> int:
    return int.from_bytes(os.urandom(8), "little")


def _seed(seed: Any) -> int:
    try:
        return int(seed.__index__()) & _MASK
    except AttributeError:
        raise InvalidTypeError(
            f"a seed is an int, not {type(seed).__name__}", "manual_seed, argument seed",
            "pass an int; it is taken modulo 2**64",
        ) from None  # fmt: skip


default_generator = Generator()
if hasattr(os, "register_at_fork"):  # other threads may have held locks, which the child has not
    os.register_at_fork(after_in_child=_renew_locks)


# ---- the default generator ------------------------------------------------------------------
def manual_seed(seed: int) -> Generator:
    """Start the stream of the default generator that belongs to `seed`; returns the generator."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Start the default stream at a seed that the operating system chooses; returns the seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed of the default generator's stream."""
    return default_generator.initial_seed()


def get_state() -> GeneratorState:
    """Where the default generator stands."""
    return default_generator.get_state()


def set_state(state: GeneratorState) -> None:
    """Make the default generator go on from `state`."""
    default_generator.set_state(state)


@contextmanager
def fork_rng(generator: Generator | None = None) -> Iterator[None]:
    """What is drawn inside does not move the generator for the code after.

    Parameters
    ----------
    generator
        The default generator, if not given. Other threads that draw from it see it set back, too.

    >>> manual_seed(1)
    <Generator seed=1 position=0>
    >>> with fork_rng():
    ...     _ = default_generator.words(100)
    >>> default_generator
    <Generator seed=1 position=0>
    """
    chosen = default_generator if generator is None else generator
    if not isinstance(chosen, Generator):
        raise InvalidTypeError(
            f"a {type(chosen).__name__} is no generator", "fork_rng, argument generator",
            "pass a pg.Generator",
        )  # fmt: skip
    state = chosen.get_state()
    try:
        yield
    finally:
        chosen.set_state(state)
