"""The fft extension of the array API standard: transforms of real and of symmetric signals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError
from polygrad.families import Chapter
from polygrad.ops._transforms import SWAPPED, Axes, checked_norm, half, many, one, resized, signal
from polygrad.ops._transforms import fourier as _fourier
from polygrad.ops._transforms import irfft as _irfft
from polygrad.ops._transforms import rfft as _rfft
from polygrad.ops.elementwise import conj
from polygrad.ops.fourier import samples, samples_many
from polygrad.tensor import Tensor

_table = Chapter("Fourier transforms", space="fft")


# ---- real signals -------------------------------------------------------------------------------
def _samples_inverse(s: Any) -> Any:
    return [
        ((s.real(4),), {}), ((s.real(3),), {"n": 5, "norm": "ortho"}),
        ((s.real(2, 3),), {"axis": 0, "n": 3}),
        ((s.real(2, 4),), {"n": 4, "norm": "forward"}), ((s.real(0, 2),), {}),
        ((s.real(1),), {"n": 1}),
    ]  # fmt: skip


@_table.public(samples=samples, kinds="f")
def rfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The half of `fft` of a real signal that its other half is the conjugate of.

    Parameters
    ----------
    x
        Real tensor with at least one axis.
    n, axis, norm
        As of `fft`.

    Returns
    -------
    Tensor
        Complex, with length n // 2 + 1 along `axis`.

    Raises
    ------
    DtypeError
        x is complex.
    OutOfRangeError, InvalidArgumentError, ShapeError
        As `fft`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.rfft(pg.asarray([1.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j], dtype=complex64)
    """
    x, axis = one(signal(x, "rfft", real=True), n, axis, "rfft")
    return _rfft.call(x, axis=axis, norm=checked_norm(norm, "rfft"))  # type: ignore[no-any-return]


@_table.public(samples=_samples_inverse, kinds="fc")
def irfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `rfft`: the real signal of half a spectrum.

    Parameters
    ----------
    x
        Floating tensor with at least one axis. The imaginary parts of the first frequency, and of
        the last one of an even length, do not count.
    n
        The length of the signal; None: 2 (m - 1) for m frequencies. The spectrum is cut off, or
        filled up with zeros, to n // 2 + 1.
    axis, norm
        As of `fft`.

    Returns
    -------
    Tensor
        Real, with length n along `axis`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ShapeError
        As `fft`; n is not given, and there is one frequency.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.irfft(pg.asarray([1.0, 1.0]), n=3)
    tensor([1., 0., 0.], dtype=float32)
    """
    x, axis, n = half(x, n, axis, "irfft")
    return _irfft.call(x, n=n, axis=axis, norm=checked_norm(norm, "irfft"))  # type: ignore[no-any-return]


@_table.public(samples=samples_many, kinds="f")
def rfftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: str = "backward"
) -> Tensor:
    """`rfft` along the last of several axes, then `fft` along the others.

    Parameters
    ----------
    x
        Real tensor with at least one axis.
    s, axes, norm
        As of `fftn`.

    Returns
    -------
    Tensor
        Complex, with s[-1] // 2 + 1 along the last of `axes`, the other lengths as of `fftn`.

    Raises
    ------
    DtypeError
        x is complex.
    OutOfRangeError, InvalidArgumentError, ShapeError
        As `fftn`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.rfftn(pg.ones((2, 2)))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    x = signal(x, "rfftn", real=True)
    found, lengths = many(x, s, axes, "rfftn")
    if not found:
        raise InvalidArgumentError("no axis to transform", f"rfftn{describe([x])}", "name one")
    x = resized(x, found, lengths, "rfftn")
    out = _rfft.call(x, axis=found[-1], norm=checked_norm(norm, "rfftn"))
    return _fourier.call(out, axes=found[:-1], inverse=False, norm=norm)  # type: ignore[no-any-return]


@_table.public(samples=lambda s: [
    ((s.real(2, 3),), {}), ((s.real(2, 3, 2),), {"axes": (0, 1), "norm": "ortho"}),
    ((s.real(2, 4),), {"s": (3, 5), "norm": "forward"}), ((s.real(2, 3, 2),), {"s": (4,)}),
    ((s.real(2, 3),), {"s": (2, 3), "axes": (1, 0)}), ((s.real(4),), {}),
], kinds="fc")  # fmt: skip
def irfftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: str = "backward"
) -> Tensor:
    """The inverse of `rfftn`: `ifft` along all axes but the last, `irfft` along that.

    Parameters
    ----------
    x
        Floating tensor with at least one axis.
    s
        The lengths of the signal; None: that along the last axis is as of `irfft`.
    axes, norm
        As of `fftn`.

    Returns
    -------
    Tensor
        Real, with the lengths `s` along `axes`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ShapeError
        As `fftn` and `irfft`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.irfftn(pg.asarray([[4.0, 0.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [1., 1.]], dtype=float32)
    """
    x = signal(x, "irfftn")
    found, lengths = many(x, s, axes, "irfftn")
    if not found:
        raise InvalidArgumentError("no axis to transform", f"irfftn{describe([x])}", "name one")
    last = None if s is None or tuple(s)[-1] in (None, -1) else lengths[-1]
    x = resized(x, found[:-1], lengths[:-1], "irfftn")
    x, axis, n = half(x, last, found[-1], "irfftn")
    out = _fourier.call(x, axes=found[:-1], inverse=True, norm=checked_norm(norm, "irfftn"))
    return _irfft.call(out, n=n, axis=axis, norm=norm)  # type: ignore[no-any-return]


@_table.public(samples=_samples_inverse, kinds="fc")
def hfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The `fft`, which is real, of a signal whose second half is the conjugate of its first.

    Parameters
    ----------
    x
        The first half, m elements of a floating tensor.
    n
        The length of the whole; None: 2 (m - 1).
    axis, norm
        As of `fft`.

    Returns
    -------
    Tensor
        Real, with length n along `axis`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ShapeError
        As `irfft`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.hfft(pg.asarray([1.0, 0.0]))
    tensor([1., 1.], dtype=float32)
    """
    x, axis, n = half(x, n, axis, "hfft")
    swapped = SWAPPED[checked_norm(norm, "hfft")]
    return _irfft.call(conj(x), n=n, axis=axis, norm=swapped)  # type: ignore[no-any-return]


@_table.public(samples=samples, kinds="f")
def ihfft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `hfft`; parameters and errors as of `rfft`.

    Returns
    -------
    Tensor
        Complex, with length n // 2 + 1 along `axis`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.ihfft(pg.asarray([1.0, 1.0]))
    tensor([1.-0.j, 0.-0.j], dtype=complex64)
    """
    x, axis = one(signal(x, "ihfft", real=True), n, axis, "ihfft")
    swapped = SWAPPED[checked_norm(norm, "ihfft")]
    return conj(_rfft.call(x, axis=axis, norm=swapped))  # type: ignore[no-any-return]
