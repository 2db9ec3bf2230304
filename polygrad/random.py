"""Random numbers: one counter-based stream, the same bits on every device.

Note [The stream]
-----------------
Block b of the stream of seed s is Philox4x64-10 (Salmon, Moraes, Dror, Shaw, "Parallel random
numbers: as easy as 1, 2, 3", 2011) with key (s mod 2**64, 0) and counter b + 1, as NumPy has it:
four words of 64 bits. Every call takes whole blocks, so that its numbers depend on the seed, on the
block it starts at and on nothing else; a device could make any part of them by itself. With `w` a
word of 64 bits, and `h` one of 32, of which w holds two, the low half first, they are

- uniform: `(h >> 8) * 2**-24` in float32, `(w >> 11) * 2**-53` in float64; so 0 <= u < 1;
- normal: Box and Muller's `r cos(a)` and `r sin(a)` of consecutive pairs, with `a = 2 pi v` and
  `r = sqrt(-2 log(u))`, where u is `(h + 1) * 2**-32` or `((w >> 11) + 1) * 2**-53` of the first of
  a pair, and v the uniform number of the second;
- integers below n: the high 64 bits of the product `w * n`, biased by at most n / 2**64;
- bernoulli(p): `h < p * 2**32`;
- permutation: the order that sorts n words w.

The k-th child seed is the first word of the block with key (s, 1) and counter k + 1: streams of
other seeds that do not move this one.

They are made on the host, in float64 or (also for float16 and bfloat16) float32, and copied.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from polygrad import dtypes
from polygrad.config import default_dtype
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError
from polygrad.indexing import shape_tuple, size_of
from polygrad.registry import find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor

__all__ = [
    "Generator", "GeneratorState", "bernoulli", "default_generator", "fork_rng", "get_state",
    "initial_seed", "integers", "manual_seed", "normal", "permutation", "seed", "set_state",
    "uniform",
]  # fmt: skip

Host = np.ndarray[Any, Any]
_WORDS = 4  # of 64 bits, in a block
_MASK = (1 << 64) - 1


class GeneratorState(NamedTuple):
    """Where a generator stands: its seed, how many blocks and how many child seeds it has given."""

    seed: int
    position: int
    children: int = 0


class Generator:
    """A stream of random numbers. It belongs to no device: what it makes goes to any.

    >>> g = Generator().manual_seed(0)
    >>> uniform((2,), generator=g)
    tensor([0.03474188, 0.01154673], dtype=float32)
    """

    def __init__(self, seed: int | None = None) -> None:
        self._lock = threading.Lock()
        self._state = GeneratorState(_entropy() if seed is None else _seed(seed), 0)
        self._philox: Any = None

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
        given: Any = state
        if not isinstance(given, tuple) or len(given) != len(GeneratorState._fields):
            raise InvalidTypeError(
                f"a generator's state is what get_state() returned, not {type(state).__name__}",
                "set_state, argument state", "to start a stream from an int, call manual_seed",
            )  # fmt: skip
        with self._lock:
            self._state = GeneratorState(*state)
            self._philox = None

    def words(self, n: int) -> Host:
        """The next n words of 64 bits, on the host; the stream moves on by whole blocks."""
        blocks = -(-n // _WORDS)
        with self._lock:
            seed, position, children = self._state
            if self._philox is None:
                self._philox = _philox(seed, 0, position)
            drawn: Host = self._philox.random_raw(blocks * _WORDS)
            self._state = GeneratorState(seed, position + blocks, children)
        return drawn[:n]

    def halves(self, n: int) -> Host:
        """The next n words of 32 bits, on the host."""
        return self.words(-(-n // 2)).astype("<u8", copy=False).view("<u4")[:n]

    def child_seed(self) -> int:
        """A seed for another stream, a new one at each call; this stream does not move.

        >>> g = Generator(1)
        >>> g.child_seed() != g.child_seed(), g
        (True, <Generator seed=1 position=0>)
        """
        with self._lock:
            seed, position, children = self._state
            self._state = GeneratorState(seed, position, children + 1)
        return int(_philox(seed, 1, children).random_raw())

    def renew_lock(self) -> None:
        """Forget who holds the lock."""
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        """Seed and position."""
        return f"<Generator seed={self._state.seed} position={self._state.position}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy by state."""
        return _restored, (tuple(self._state),)


def _philox(seed: int, stream: int, position: int) -> Any:
    """NumPy's generator; its words as arrays, for of a list NumPy makes float64 from 2**63 on."""
    counter = np.array([position & _MASK, position >> 64, 0, 0], np.uint64)
    return np.random.Philox(key=np.array([seed, stream], np.uint64), counter=counter)


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
if hasattr(os, "register_at_fork"):  # another thread may have held it, which the child has not
    os.register_at_fork(after_in_child=default_generator.renew_lock)


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
def fork_rng() -> Iterator[None]:
    """What is drawn inside does not move the default generator for the code after.

    >>> manual_seed(1)
    <Generator seed=1 position=0>
    >>> with fork_rng():
    ...     _ = uniform((100,))
    >>> default_generator
    <Generator seed=1 position=0>
    """
    state = get_state()
    try:
        yield
    finally:
        set_state(state)


# ---- tensors --------------------------------------------------------------------------------
def _place(shape: Any, dtype: Any, device: Any, name: str) -> tuple[tuple[int, ...], Any]:
    """The shape, and the Kernels of a real floating dtype."""
    wanted = default_dtype() if dtype is None else dtypes.canonical(dtype)
    if dtypes.kind_of(wanted) != dtypes.REAL:
        raise DtypeError(
            f"the numbers are real floating ones, not {wanted}", f"random.{name}, argument dtype",
            "pass a real floating dtype",
        )  # fmt: skip
    return shape_tuple(shape, f"random.{name}"), kernels_for(find_device(device), wanted, name)


def _finish(host: Host, kernels: Any, requires_grad: bool) -> Tensor:
    made = new_tensor(kernels.from_numpy(host), kernels)
    return made.requires_grad_() if requires_grad else made


def _units(generator: Generator, n: int, double: bool) -> Host:
    """Numbers in [0, 1)."""
    if double:
        return (generator.words(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return (generator.halves(n) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def uniform(
    shape: int | tuple[int, ...],
    low: float = 0.0,
    high: float = 1.0,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers spread evenly over [low, high).

    Parameters
    ----------
    shape
        Of the result.
    low, high
        The bounds; rounding may give `high` itself.
    dtype, device
        Of the result; the defaults if not given.
    generator
        Where the numbers come from; the default generator if not given.
    requires_grad
        Whether the result is a leaf that requires grad.

    Raises
    ------
    DtypeError, InvalidArgumentError
        `dtype` is not a real floating one; `low` or `high` is not finite, or low > high.

    Notes
    -----
    `low + (high - low) * u` with u as Note [The stream] says.

    >>> import polygrad as pg
    >>> pg.random.uniform((3,), -1.0, 1.0).shape
    (3,)
    """
    shape, kernels = _place(shape, dtype, device, "uniform")
    if not -np.inf < low <= high < np.inf:
        raise InvalidArgumentError(
            f"no interval: low={low}, high={high}", "random.uniform", "pass finite low <= high"
        )
    u = _units(generator or default_generator, size_of(shape), kernels.dtype == dtypes.float64)
    if (low, high) != (0.0, 1.0):
        u = u.dtype.type(low) + u.dtype.type(high - low) * u
    return _finish(u.reshape(shape), kernels, requires_grad)


def _normals(generator: Generator, n: int, double: bool) -> Host:
    """Standard normal numbers, by Box and Muller."""
    pairs = -(-n // 2)
    if double:
        k = (generator.words(2 * pairs) >> np.uint64(11)).reshape(pairs, 2)
        u, v = (k[:, 0] + np.uint64(1)) * 2.0**-53, k[:, 1] * 2.0**-53
    else:
        k = generator.halves(2 * pairs).reshape(pairs, 2)
        u = (k[:, 0].astype(np.float32) + np.float32(1)) * np.float32(2.0**-32)
        v = (k[:, 1] >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    r = np.sqrt(-2 * np.log(u))
    a = v * u.dtype.type(2 * np.pi)
    z = np.empty((pairs, 2), u.dtype)
    np.multiply(r, np.cos(a), out=z[:, 0])
    np.multiply(r, np.sin(a), out=z[:, 1])
    return z.reshape(-1)[:n]


def normal(
    shape: int | tuple[int, ...],
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Normally distributed numbers.

    Parameters
    ----------
    shape
        Of the result.
    mean, std
        Of the distribution.
    dtype, device, generator, requires_grad
        As for `uniform`.

    Raises
    ------
    DtypeError, InvalidArgumentError
        `dtype` is not a real floating one; `std` is negative.

    Notes
    -----
    Box and Muller's formula, see Note [The stream]. In float32 no number is further than 6.7
    standard deviations from the mean.

    >>> import polygrad as pg
    >>> pg.random.normal((2, 3), dtype=pg.float64).dtype
    dtype('float64')
    """
    shape, kernels = _place(shape, dtype, device, "normal")
    if not std >= 0:
        raise InvalidArgumentError(
            f"a standard deviation of {std}", "random.normal, argument std", "pass std >= 0"
        )
    z = _normals(generator or default_generator, size_of(shape), kernels.dtype == dtypes.float64)
    if (mean, std) != (0.0, 1.0):
        z = z.dtype.type(mean) + z.dtype.type(std) * z
    return _finish(z.reshape(shape), kernels, requires_grad)


def below(generator: Generator, n: int, bound: int) -> Host:
    """Integers in [0, bound), as uint64 on the host: the high word of `w * bound`."""
    w = generator.words(n)
    low32, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    b_low, b_high = np.uint64(bound & 0xFFFFFFFF), np.uint64(bound >> 32)
    w_low, w_high = w & low32, w >> shift
    middle = w_high * b_low + (w_low * b_low >> shift)
    if not b_high:
        return middle >> shift
    other = w_low * b_high + (middle & low32)
    total: Host = w_high * b_high + (middle >> shift) + (other >> shift)
    return total


def integers(
    low: int,
    high: int,
    shape: int | tuple[int, ...] = (),
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """Integers spread evenly over low, low + 1, …, high - 1.

    Parameters
    ----------
    low, high
        The bounds; `high` is not reached.
    shape
        Of the result.
    dtype
        An integer dtype; int64 if not given.
    device, generator
        As for `uniform`.

    Raises
    ------
    DtypeError, InvalidArgumentError
        `dtype` is no integer dtype; there is no integer in [low, high), or `dtype` cannot hold it.

    >>> import polygrad as pg
    >>> pg.random.integers(3, 4, (2,))
    tensor([3, 3], dtype=int64)
    """
    wanted = dtypes.int64 if dtype is None else dtypes.canonical(dtype)
    if dtypes.kind_of(wanted) != dtypes.INTEGER:
        raise DtypeError(
            f"the numbers are integers, not {wanted}", "random.integers, argument dtype",
            "pass an integer dtype",
        )  # fmt: skip
    shape = shape_tuple(shape, "random.integers")
    limits = np.iinfo(wanted)
    if not limits.min <= low < high <= limits.max + 1:
        raise InvalidArgumentError(
            f"no {wanted} in [{low}, {high})", "random.integers, arguments low and high",
            "pass low < high within the range of dtype",
        )  # fmt: skip
    kernels = kernels_for(find_device(device), wanted, "random.integers")
    drawn = below(generator or default_generator, size_of(shape), high - low)
    host = (drawn + np.uint64(low & _MASK)).astype(wanted)
    return new_tensor(kernels.from_numpy(host.reshape(shape)), kernels)


def permutation(
    n: int, *, dtype: Any = None, device: Any = None, generator: Generator | None = None
) -> Tensor:
    """The integers 0, 1, …, n - 1 in random order.

    Parameters
    ----------
    n
        How many.
    dtype
        An integer dtype; int64 if not given.
    device, generator
        As for `uniform`.

    >>> import polygrad as pg
    >>> sorted(pg.random.permutation(4).tolist())
    [0, 1, 2, 3]
    """
    (n,) = shape_tuple(n, "random.permutation")
    wanted = dtypes.int64 if dtype is None else dtypes.canonical(dtype)
    kernels = kernels_for(find_device(device), wanted, "random.permutation")
    order = np.argsort((generator or default_generator).words(n), kind="stable")
    return new_tensor(kernels.from_numpy(order), kernels)


def coin(generator: Generator | None, p: float, n: int) -> Host:
    """Booleans on the host, True with probability p."""
    h = (generator or default_generator).halves(n)
    threshold = round(p * 2**32)
    return np.ones(n, bool) if threshold >= 2**32 else h < np.uint32(threshold)


def bernoulli(
    p: float,
    shape: int | tuple[int, ...] = (),
    *,
    dtype: Any = None,
    device: Any = None,
    generator: Generator | None = None,
) -> Tensor:
    """True with probability p.

    Parameters
    ----------
    p
        A number in [0, 1].
    shape
        Of the result.
    dtype
        Of the result, which then holds ones and zeros; bool if not given.
    device, generator
        As for `uniform`.

    Raises
    ------
    InvalidArgumentError
        p is not in [0, 1].

    >>> import polygrad as pg
    >>> pg.random.bernoulli(1.0, (2,))
    tensor([ True,  True], dtype=bool)
    """
    if not 0 <= p <= 1:
        raise InvalidArgumentError(
            f"{p} is no probability", "random.bernoulli, argument p", "pass a number in [0, 1]"
        )
    shape = shape_tuple(shape, "random.bernoulli")
    wanted = dtypes.bool if dtype is None else dtypes.canonical(dtype)
    kernels = kernels_for(find_device(device), wanted, "random.bernoulli")
    host = coin(generator, p, size_of(shape)).reshape(shape)
    return new_tensor(kernels.from_numpy(host), kernels)
