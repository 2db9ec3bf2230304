"""The life of a device, beside computing: waiting for it, its streams, its memory.

The same words work on every device. What a library has not is said where it is: a device without
streams has one queue, in whose order everything happens; a device that nobody can ask for its
memory tells nothing of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from polygrad.registry import find_backend, find_device

if TYPE_CHECKING:
    from polygrad.device import Device

__all__ = ["Stream", "empty_cache", "memory_stats", "stream", "synchronize"]

DeviceLike = Any


def synchronize(device: DeviceLike = None) -> None:
    """Wait until everything submitted to a device has finished, on all its streams.

    Parameters
    ----------
    device
        The default device if not given.

    Raises
    ------
    OutOfRangeError
        An index array was out of range in an operation whose check was put off until now.
    DeviceLostError
        The device does not answer any more.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.synchronize("cpu")
    """
    place = find_device(device)
    backend = find_backend(place.kind)
    try:
        backend.synchronize(place)
    except (*backend.oom_errors, *backend.lost_errors) as error:
        raise backend.failure(error, place, "synchronize") or error from error
    backend.late.settle(backend, place)


def memory_stats(device: DeviceLike = None) -> dict[str, int]:
    """What a device's library tells of its memory, in bytes.

    Parameters
    ----------
    device
        The default device if not given.

    Returns
    -------
    dict
        With those of these keys that the library knows:

        ========  ========================================================================
        used      held by arrays
        peak      the most that `used` has been
        cached    kept by the library for the arrays to come; `empty_cache` gives it back
        limit     the most that the library may take (of `total`, if not said)
        free      free on the device, as its driver or the operating system says
        total     memory of the device
        ========  ========================================================================

        CuPy knows all but `peak`, of its default pool; `sim` devices all but `cached`; JAX, dpnp
        and NumPy `free` and `total` at most, where theirs is the machine's own memory, dpnp on
        CPUs also `cached`.

    Examples
    --------
    >>> import polygrad as pg
    >>> stats = pg.memory_stats("sim:0")
    >>> sorted(stats), stats["used"] + stats["free"] == stats["total"]
    (['free', 'peak', 'total', 'used'], True)
    """
    place = find_device(device)
    return find_backend(place.kind).memory_stats(place)


def empty_cache(device: DeviceLike = None) -> None:
    """Give memory back that a library keeps and no array uses, so that other programs may have it.

    It makes nothing faster, and need not be called when memory runs out: CuPy then does it itself.
    JAX gives back the code that it compiled. Without effect on libraries that keep nothing.

    Parameters
    ----------
    device
        The default device if not given.
    """
    place = find_device(device)
    find_backend(place.kind).empty_cache(place)


class Stream:
    """A queue of a device: see `stream`, which makes it.

    Attributes
    ----------
    device
        Where it is.
    native
        The library's own stream; None where the device has one queue.
    """

    def __init__(self, device: Device, lane: Any, overlap: bool) -> None:
        self.device, self._lane, self._overlap = device, lane, overlap
        self.native = None if lane is None else lane.native

    def __enter__(self) -> Self:
        """Submit here from now on, in this thread, after all that was submitted before."""
        if self._lane is not None:
            self._lane.enter()
        return self

    def __exit__(self, *error: object) -> None:
        """Submit where it was done before; unless `overlap`, after what was submitted here."""
        if self._lane is not None:
            self._lane.leave()
            if not self._overlap:
                self._lane.join()

    def join(self) -> None:
        """Let all that is submitted from now on run after what was submitted to this stream.

        The host does not wait. Whatever was made on an overlapping stream may be used afterwards.
        """
        if self._lane is not None:
            self._lane.join()

    def synchronize(self) -> None:
        """Let the host wait for what was submitted to this stream."""
        if self._lane is None:
            synchronize(self.device)
        else:
            self._lane.wait()

    def __repr__(self) -> str:
        """The device, and the library's stream."""
        return f"<Stream of {self.device}: {self.native or 'its only queue'}>"


def stream(
    device: DeviceLike = None, *, native: Any = None, overlap: bool = False
) -> Stream:
    """A stream of a device: operations within `with pg.stream():` are submitted to it.

    polygrad submits to the stream that is the library's current one in each thread, so code that
    chooses streams by the library's own means (`with cupy.cuda.Stream():`) works as well. A stream
    begins after what was submitted before the `with`, and what comes after the `with` waits for it:
    nothing is read too early. On a device with one queue (all but CuPy's) a stream is that queue,
    and the same program gives the same results.

    Parameters
    ----------
    device
        The default device if not given.
    native
        A stream of the library's, to be used instead of a new one: `cupy.cuda.Stream`,
        `cupy.cuda.ExternalStream`.
    overlap
        Let what comes after the `with` run beside the stream. Call `join()` before anything that
        was made on the stream is used; and keep what it reads, and what it made, alive until then:
        freed memory is given out anew to the stream that it was allocated on.

    Raises
    ------
    InvalidTypeError
        `native` is no stream of the device's library.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.ones(3)
    >>> with pg.stream("cpu", overlap=True) as side:
    ...     y = x * 2
    >>> z = x + 1                # beside it, where there are streams
    >>> side.join()
    >>> y + z
    tensor([4., 4., 4.], dtype=float32)
    """
    place = find_device(device)
    return Stream(place, find_backend(place.kind).lane(place, native), overlap)

