"""The fft extension of the array API standard: transforms of complex signals, frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.config import default_dtype
from polygrad.errors import DtypeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor, normalize_axes
from polygrad.ops._transforms import Axes, checked_norm, length, many, one, resized, signal
from polygrad.ops._transforms import fourier as _fourier
from polygrad.ops.rearrangement import roll
from polygrad.registry import find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor

_table = Chapter("Fourier transforms", space="fft")


# ---- complex signals ----------------------------------------------------------------------------
def samples(s: Any) -> Any:
    """Of transforms along one axis."""
    return [
        ((s.real(4),), {}), ((s.real(5),), {"norm": "ortho"}),
        ((s.real(2, 3),), {"axis": 0, "n": 3}),
        ((s.real(2, 4),), {"n": 3, "norm": "forward"}), ((s.real(0, 2),), {}), ((s.real(1),), {}),
    ]  # fmt: skip


def samples_many(s: Any) -> Any:
    """Of transforms along several axes."""
    return [
        ((s.real(2, 3),), {}), ((s.real(2, 3, 2),), {"axes": (0, 1), "norm": "ortho"}),
        ((s.real(2, 4),), {"s": (3, 3), "norm": "forward"}), ((s.real(2, 3, 2),), {"s": (4,)}),
        ((s.real(2, 3),), {"s": (2, 2), "axes": (1, 0)}), ((s.real(4),), {}),
    ]  # fmt: skip


@_table.public(samples=samples, kinds="fc")
def fft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The discrete Fourier transform along an axis: sum_j x[j] exp(-2 pi i j k / n).

    Parameters
    ----------
    x
        Floating tensor with at least one axis; a real one is made complex.
    n
        The length: x is cut off, or filled up with zeros, at the end of the axis. None: as it is.
    axis
        Along which.
    norm
        "backward": the inverse divides by n; "forward": this one does; "ortho": both divide by the
        root.

    Returns
    -------
    Tensor
        Complex, with length n along `axis`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ShapeError
        There is no such axis or norm; there are no elements to transform.

    Notes
    -----
    Derivative: the inverse transform of the cotangent, without the division.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.fft(pg.asarray([1.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j], dtype=complex64)
    """
    x, axis = one(signal(x, "fft"), n, axis, "fft")
    return _fourier.call(x, axes=(axis,), inverse=False, norm=checked_norm(norm, "fft"))  # type: ignore[no-any-return]


@_table.public(samples=samples, kinds="fc")
def ifft(x: Any, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `fft`, with its parameters and errors.

    Returns
    -------
    Tensor
        Complex, with length n along `axis`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.ifft(pg.asarray([4.0, 0.0]))
    tensor([2.+0.j, 2.+0.j], dtype=complex64)
    """
    x, axis = one(signal(x, "ifft"), n, axis, "ifft")
    return _fourier.call(x, axes=(axis,), inverse=True, norm=checked_norm(norm, "ifft"))  # type: ignore[no-any-return]


@_table.public(samples=samples_many, kinds="fc")
def fftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: str = "backward"
) -> Tensor:
    """The discrete Fourier transform along several axes.

    Parameters
    ----------
    x
        Floating tensor; a real one is made complex.
    s
        The length along each of `axes`, as n of `fft`; None, or -1 among them: as it is.
    axes
        Along which; None: all, or as many of the last ones as `s` has lengths.
    norm
        As of `fft`, with the product of the lengths for n.

    Returns
    -------
    Tensor
        Complex, with the lengths `s` along `axes`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ShapeError
        There is no such axis or norm; s and axes differ in number; there are no elements to
        transform.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.fftn(pg.ones((2, 2)))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]], dtype=complex64)
    """
    x = signal(x, "fftn")
    found, lengths = many(x, s, axes, "fftn")
    x = resized(x, found, lengths, "fftn")
    return _fourier.call(x, axes=found, inverse=False, norm=checked_norm(norm, "fftn"))  # type: ignore[no-any-return]


@_table.public(samples=samples_many, kinds="fc")
def ifftn(
    x: Any, /, *, s: Sequence[int] | None = None, axes: Axes = None, norm: str = "backward"
) -> Tensor:
    """The inverse of `fftn`, with its parameters and errors.

    Returns
    -------
    Tensor
        Complex, with the lengths `s` along `axes`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.ifftn(pg.asarray([[4.0, 0.0], [0.0, 0.0]]))
    tensor([[1.+0.j, 1.+0.j],
            [1.+0.j, 1.+0.j]], dtype=complex64)
    """
    x = signal(x, "ifftn")
    found, lengths = many(x, s, axes, "ifftn")
    x = resized(x, found, lengths, "ifftn")
    return _fourier.call(x, axes=found, inverse=True, norm=checked_norm(norm, "ifftn"))  # type: ignore[no-any-return]


# ---- frequencies --------------------------------------------------------------------------------
def _frequencies(
    counts: np.ndarray[Any, Any], n: int, d: float, dtype: Any, device: Any, where: str
) -> Tensor:
    """Counts of cycles in n samples as frequencies."""
    dtype = default_dtype() if dtype is None else dtypes.canonical(dtype)
    if dtypes.kind_of(dtype) != dtypes.REAL:
        raise DtypeError(
            f"frequencies of dtype {dtype}", f"{where}, argument dtype", "use a real one"
        )
    kernels = kernels_for(find_device(device), dtype)
    return new_tensor(kernels.from_numpy(counts / (n * d)), kernels)


@_table.public(samples=lambda s: [((4,), {}), ((5,), {"d": 0.5}), ((1,), {})], differentiable=False)
def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `fft`'s results: 0, 1, 2 ..., -2, -1 over n d.

    Parameters
    ----------
    n
        The length of the transform.
    d
        The time between samples.
    dtype, device
        The defaults if not given.

    Returns
    -------
    Tensor
        Shape (n,), of the unit of 1 / d.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        n is no positive int.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.fftfreq(4)
    tensor([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    n = length(n, "fftfreq", "n")
    counts = np.concatenate([np.arange((n + 1) // 2), np.arange(-(n // 2), 0)])
    return _frequencies(counts, n, d, dtype, device, "fftfreq")


@_table.public(samples=lambda s: [((4,), {}), ((5,), {"d": 0.5}), ((1,), {})], differentiable=False)
def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Tensor:
    """The frequencies of `rfft`'s results: 0, 1 ... n // 2 over n d; otherwise as `fftfreq`.

    Returns
    -------
    Tensor
        Shape (n // 2 + 1,).

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.rfftfreq(4)
    tensor([0.  , 0.25, 0.5 ], dtype=float32)
    """
    n = length(n, "rfftfreq", "n")
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype, device, "rfftfreq")


def _shifted(x: Any, axes: Axes, where: str, half: Any) -> Tensor:
    x = as_tensor(x, f"{where}, argument x")
    axes = tuple(axes) if isinstance(axes, Sequence) else axes
    found = normalize_axes(axes, x.ndim, where, "axes")
    return roll(x, tuple(half(x.shape[a]) for a in found), axis=found)


@_table.public(samples=lambda s: [
    ((s.real(4),), {}), ((s.real(3, 5),), {}), ((s.real(3, 5),), {"axes": (1,)}),
    ((s.real(3),), {"axes": 0}),
], kinds="ifc")  # fmt: skip
def fftshift(x: Any, /, *, axes: Axes = None) -> Tensor:
    """Frequencies in ascending order, 0 in the middle.

    Parameters
    ----------
    x
        Tensor of any dtype.
    axes
        Along which; None: all.

    Returns
    -------
    Tensor
        Of the same shape.

    Raises
    ------
    OutOfRangeError
        There is no such axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.fftshift(pg.fft.fftfreq(4))
    tensor([-0.5 , -0.25,  0.  ,  0.25], dtype=float32)
    """
    return _shifted(x, axes, "fftshift", lambda n: n // 2)


@_table.public(samples=lambda s: [
    ((s.real(4),), {}), ((s.real(3, 5),), {}), ((s.real(3, 5),), {"axes": (1,)}),
    ((s.real(3),), {"axes": 0}),
], kinds="ifc")  # fmt: skip
def ifftshift(x: Any, /, *, axes: Axes = None) -> Tensor:
    """The inverse of `fftshift`, with its parameters and errors.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.ifftshift(pg.asarray([-1.0, 0.0, 1.0]))
    tensor([ 0.,  1., -1.], dtype=float32)
    """
    return _shifted(x, axes, "ifftshift", lambda n: -(n // 2))
