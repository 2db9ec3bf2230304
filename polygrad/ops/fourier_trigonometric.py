"""Discrete cosine and sine transforms, with the names and conventions of `scipy.fft`.

Note [Cosines and sines]
------------------------
The unnormalised transform of type t is a matrix T_t. With `orthogonalize`, its first or last row
and column are divided by sqrt(2) or multiplied by it (`_ends` says which), so that a multiple of it
is orthogonal. Then the transposes of types 1 and 4 are themselves, and types 2 and 3 are each
other's. Without it, the same holds between scaled ends (`_TRANSPOSED`): T_2^T = T_3 D, where D
doubles an end.

Each T_t is one Fourier transform of some length L: y_k is twice the real part, or minus twice the
imaginary part, of e^(-i after_k) FFT_L(e^(-i before_n) x_n)_k; see `_plan`. (V. Britanak, P. Yip,
K. R. Rao, "Discrete Cosine and Sine Transforms", 2007, chapter 4.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._library import library
from polygrad.ops._transforms import SWAPPED, Axes, checked_norm, computed, many, resized, signal
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

_table = Chapter("Fourier transforms", space="fft")
_PARTNER = {1: 1, 2: 3, 3: 2, 4: 4}  # the type of the transpose, and of the inverse
_TRANSPOSED = {1: (2, 0.5), 2: (2, 1), 3: (1, 0.5), 4: (1, 1)}  # the factors before and after it


# ---- the primitive ------------------------------------------------------------------------------
def _ends(sine: bool, kind: int) -> tuple[bool, bool]:
    """Whether `orthogonalize` scales the first element of an axis, and the last."""
    if kind == 4:
        return False, False
    if kind == 1:
        return not sine, not sine
    return not sine, sine


def _length(n: int, sine: bool, kind: int) -> int:
    """The length L of the Fourier transform; its root is the norm of the orthogonal one."""
    return 2 * (n if kind > 1 else n + 1 if sine else n - 1)


def _weights(n: int, ends: tuple[bool, bool], factor: float) -> np.ndarray[Any, Any]:
    """Ones, with `factor` at the ends."""
    weights = np.ones(n)
    if ends[0]:
        weights[:1] *= factor
    if ends[1]:
        weights[-1:] *= factor
    return weights


def _along(F: Any, values: np.ndarray[Any, Any], like: Any, axis: int) -> Any:
    """A 1-d host array as an array that broadcasts along an axis, of the precision of `like`."""
    here = F.of(like).dtype
    shape = tuple(-1 if i == axis else 1 for i in range(like.ndim))
    wanted = dtypes.complex_of(here) if values.dtype.kind == "c" else dtypes.real_of(here)
    return F.with_dtype(wanted).from_numpy(values.reshape(shape))


def _plan(n: int, sine: bool, kind: int) -> tuple[Any, Any, int, int]:
    """(before, after, lead, first): phases, the zeros ahead of x, the first frequency kept."""
    k = np.arange(n)
    quarter, lead = math.pi / (2 * n), int(sine and kind in (1, 3))
    first = int(sine and kind < 3)
    before: Any = np.zeros(n)
    after: Any = np.zeros(n)
    if kind == 2:
        after = quarter * (k + first)
    elif kind == 3:
        before = quarter * (k + lead)
    elif kind == 4:
        before, after = quarter * k, quarter * (k + 0.5)
    return before, after, lead, first


def _transform(F: Any, x: Any, sine: bool, kind: int, axis: int, orthogonalize: bool) -> Any:
    """The unnormalised transform of a real array along one axis."""
    n = x.shape[axis]
    ends = _ends(sine, kind)
    before, after, lead, first = _plan(n, sine, kind)
    inner = np.exp(-1j * before)
    if kind != 2:  # cosines of type 1 and transforms of type 3 count the ends once, not twice
        inner *= _weights(n, ends, math.sqrt(0.5) if orthogonalize else 0.5)
    z = x * _along(F, inner, x, axis)
    ahead, behind = (
        F.of(z).zeros((*z.shape[:axis], m, *z.shape[axis + 1 :]))
        for m in (lead, _length(n, sine, kind) - n - lead)
    )
    z = library(F, "fft").fft(F.xp.concat([ahead, z, behind], axis=axis), axis=axis)
    z = z[(slice(None),) * axis + (slice(first, first + n), Ellipsis)]
    outer = np.exp(-1j * after) * (2j if sine else 2)
    if orthogonalize and kind < 3:
        outer *= _weights(n, ends, math.sqrt(0.5))
    return F.xp.real(z * _along(F, outer, x, axis))


def _forward(
    F: Any, x: Any, sine: bool, kind: int, axes: tuple[int, ...], norm: str, orthogonalize: bool
) -> Any:
    """The transform along each axis, of real and imaginary parts apart."""
    F = computed(F, F.of(x).dtype)
    x = F.cast(x)
    if 0 in x.shape:
        return x
    for axis in axes:
        if F.is_complex:
            parts = [_transform(F, part, sine, kind, axis, orthogonalize)
                     for part in (F.xp.real(x), F.xp.imag(x))]  # fmt: skip
            x = parts[0] + parts[1] * 1j
        else:
            x = _transform(F, x, sine, kind, axis, orthogonalize)
    factor = _factor(x.shape, sine, kind, axes, norm)
    return x if factor == 1 else x * factor


def _factor(shape: Any, sine: bool, kind: int, axes: tuple[int, ...], norm: str) -> float:
    count = math.prod(_length(shape[a], sine, kind) for a in axes)
    return {"backward": 1.0, "ortho": 1 / math.sqrt(count), "forward": 1 / count}[norm]


def _scaled(F: Any, g: Any, sine: bool, kind: int, axes: tuple[int, ...], factor: float) -> Any:
    ends = _ends(sine, kind)
    if factor == 1 or not any(ends):
        return g
    return F.scale_ends(g, axes=axes, ends=ends, factor=factor)


def _rule(
    g: Any, F: Any, sine: bool, kind: int, axes: tuple[int, ...], norm: str, orthogonalize: bool
) -> Any:
    """See Note [Cosines and sines]."""
    before, after = (1, 1) if orthogonalize else _TRANSPOSED[kind]
    g = _scaled(F, g, sine, kind, axes, before)
    g = F.trigonometric(g, sine=sine, kind=_PARTNER[kind], axes=axes, norm=norm,
                        orthogonalize=orthogonalize)  # fmt: skip
    return _scaled(F, g, sine, kind, axes, after)


def _scale_ends_forward(F: Any, x: Any, axes: Any, ends: Any, factor: float) -> Any:
    for axis in axes:
        x = x * _along(F, _weights(x.shape[axis], ends, factor), x, axis)
    return x


_trigonometric = Primitive(
    "trigonometric", ("x",), {"x": _rule}, forward=_forward, floating=True,
    keywords={
        "sine": False, "kind": 2, "axes": (), "norm": "backward", "orthogonalize": False,
    },
)  # fmt: skip
_scale_ends = Primitive(
    "scale_ends", ("x",),
    {"x": lambda g, F, axes, ends, factor: F.scale_ends(g, axes=axes, ends=ends, factor=factor)},
    forward=_scale_ends_forward, keywords={"axes": (), "ends": (False, False), "factor": 1.0},
)  # fmt: skip


# ---- what users call ----------------------------------------------------------------------------
def _checked(x: Tensor, axes: tuple[int, ...], sine: bool, type: Any, norm: Any, where: str) -> str:
    """The norm, after all were checked."""
    if type not in _PARTNER:
        raise InvalidArgumentError(
            f"there is no type {type!r}", f"{where}, argument type", "choose 1, 2, 3 or 4"
        )
    if type == 1 and not sine and any(x.shape[a] < 2 for a in axes):
        raise ShapeError(
            "cosines of type 1 need two elements", f"{where}, shape {x.shape}, axes {axes}",
            "use another type, or pass n or s to add zeros",
        )  # fmt: skip
    return checked_norm("backward" if norm is None else norm, where)


def _apply(
    x: Any, sine: bool, type: int, lengths: Any, axes: Axes, norm: Any, orthogonalize: Any,
    where: str,
) -> Tensor:  # fmt: skip
    """A transform along axes; `where` names the function, and an inverse begins with i."""
    x = signal(x, where)
    lengths = (lengths,) if isinstance(lengths, int) else lengths
    found, lengths = many(x, lengths, axes, where)
    x = resized(x, found, lengths, where)
    norm = _checked(x, found, sine, type, norm, where)
    orthogonalize = norm == "ortho" if orthogonalize is None else bool(orthogonalize)
    if where.startswith("i"):
        type, norm = _PARTNER[type], SWAPPED[norm]
    return _trigonometric.call(  # type: ignore[no-any-return]
        x, sine=sine, kind=type, axes=found, norm=norm, orthogonalize=orthogonalize
    )


def _samples(s: Any) -> Any:
    return [
        *(((s.real(2, 3),), {"type": type, "axis": axis, "norm": norm, "orthogonalize": flag})
          for type, axis, norm, flag in (
              (1, 0, "backward", None), (1, 1, "ortho", None), (2, 0, "ortho", False),
              (3, 1, "backward", True), (3, -1, "forward", None), (4, 0, "ortho", None))),
        ((s.real(4),), {}), ((s.real(3),), {"n": 5, "type": 4}), ((s.real(2, 4),), {"n": 3}),
        ((s.real(1),), {"type": 3}), ((s.real(0, 2),), {}),
    ]  # fmt: skip


def _samples_many(s: Any) -> Any:
    return [
        ((s.real(2, 3),), {}), ((s.real(2, 3),), {"type": 1, "norm": "ortho"}),
        ((s.real(2, 3, 2),), {"type": 3, "axes": (0, -1), "norm": "forward"}),
        ((s.real(2, 3),), {"s": (3, 2), "type": 4}),
        ((s.real(2, 3),), {"s": (4,), "axes": (0,), "orthogonalize": True}),
        ((s.real(2, 0),), {"axes": (0,)}),
    ]  # fmt: skip


@_table.public(samples=_samples, kinds="fc")
def dct(
    x: Any, /, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, *,
    orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The discrete cosine transform along an axis, of type 1, 2, 3 or 4.

    Type 2 is y[k] = 2 sum_j x[j] cos(pi k (2 j + 1) / (2 n)), and type 3 its transpose with the
    first row halved; type 4 has (2 k + 1) (2 j + 1) / (4 n) there, type 1 has k j / (n - 1) and
    counts the first and the last x once.

    Parameters
    ----------
    x
        Floating tensor with at least one axis; of a complex one, both parts are transformed.
    type
        1, 2, 3 or 4.
    n
        The length: x is cut off, or filled up with zeros, at the end of the axis. None: as it is.
    axis
        Along which.
    norm
        "backward" or None: as above; "forward": divided by N, where N is 2 n, for type 1 2 (n - 1);
        "ortho": by the root of N.
    orthogonalize
        Scale the first and last elements so that "ortho" makes an orthogonal matrix: of type 1 both
        ends of x times sqrt(2) and of y over it, of type 2 y[0] over it, of type 3 x[0] times it.
        None: if the norm is "ortho".

    Returns
    -------
    Tensor
        Like x, with length n along `axis`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError
        There is no such axis, type or norm.
    ShapeError
        There are no elements to transform; of type 1, fewer than two.

    Notes
    -----
    Derivative: the transposed transform, which is of type 3 for type 2, and 2 for 3.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.dct(pg.asarray([1.0, 1.0]), type=3)
    tensor([ 2.414..., -0.414...], dtype=float32)
    """
    return _apply(x, False, type, n, axis, norm, orthogonalize, "dct")


@_table.public(samples=_samples, kinds="fc")
def idct(
    x: Any, /, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, *,
    orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The inverse of `dct`, with its parameters and errors: "backward" is what divides by N.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.round(pg.fft.idct(pg.fft.dct(pg.asarray([3.0, 1.0]))))
    tensor([3., 1.], dtype=float32)
    """
    return _apply(x, False, type, n, axis, norm, orthogonalize, "idct")


@_table.public(samples=_samples, kinds="fc")
def dst(
    x: Any, /, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, *,
    orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The discrete sine transform along an axis, of type 1, 2, 3 or 4.

    Type 2 is y[k] = 2 sum_j x[j] sin(pi (k + 1) (2 j + 1) / (2 n)), and type 3 its transpose with
    the last row halved; type 4 has (2 k + 1) (2 j + 1) / (4 n) there, type 1 (k + 1) (j + 1) /
    (n + 1).

    Parameters
    ----------
    x, type, n, axis
        As of `dct`.
    norm
        As of `dct`, but N is 2 (n + 1) for type 1.
    orthogonalize
        As of `dct`, but of type 2 and 3 it is the last element that is scaled, of type 1 none.

    Returns
    -------
    Tensor
        Like x, with length n along `axis`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ShapeError
        There is no such axis, type or norm; there are no elements to transform.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.dst(pg.asarray([1.0, 0.0]), type=4, norm="ortho")
    tensor([0.3826..., 0.9238...], dtype=float32)
    """
    return _apply(x, True, type, n, axis, norm, orthogonalize, "dst")


@_table.public(samples=_samples, kinds="fc")
def idst(
    x: Any, /, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, *,
    orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The inverse of `dst`, with its parameters and errors: "backward" is what divides by N.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.round(pg.fft.idst(pg.fft.dst(pg.asarray([3.0, 1.0]))))
    tensor([3., 1.], dtype=float32)
    """
    return _apply(x, True, type, n, axis, norm, orthogonalize, "idst")


@_table.public(samples=_samples_many, kinds="fc")
def dctn(
    x: Any, /, type: int = 2, s: Sequence[int] | None = None, axes: Axes = None,
    norm: str | None = None, *, orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The discrete cosine transform along several axes.

    Parameters
    ----------
    x, type, norm, orthogonalize
        As of `dct`, with the product of the axes' N for N.
    s
        The length along each of `axes`, as n of `dct`; None, or -1 among them: as it is.
    axes
        Along which; None: all, or as many of the last ones as `s` has lengths.

    Returns
    -------
    Tensor
        Like x, with the lengths `s` along `axes`.

    Raises
    ------
    OutOfRangeError, InvalidArgumentError, ShapeError
        As `dct`; s and axes differ in number.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.dctn(pg.ones((2, 2)))
    tensor([[16.,  0.],
            [ 0.,  0.]], dtype=float32)
    """
    return _apply(x, False, type, s, axes, norm, orthogonalize, "dctn")


@_table.public(samples=_samples_many, kinds="fc")
def idctn(
    x: Any, /, type: int = 2, s: Sequence[int] | None = None, axes: Axes = None,
    norm: str | None = None, *, orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The inverse of `dctn`, with its parameters and errors: "backward" is what divides by N.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.round(pg.fft.idctn(pg.fft.dctn(pg.asarray([[3.0, 1.0]]))))
    tensor([[3., 1.]], dtype=float32)
    """
    return _apply(x, False, type, s, axes, norm, orthogonalize, "idctn")


@_table.public(samples=_samples_many, kinds="fc")
def dstn(
    x: Any, /, type: int = 2, s: Sequence[int] | None = None, axes: Axes = None,
    norm: str | None = None, *, orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The discrete sine transform along several axes, with the parameters and errors of `dctn`.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.fft.dstn(pg.ones((1, 2)), type=2)
    tensor([[5.656..., 0. ...]], dtype=float32)
    """
    return _apply(x, True, type, s, axes, norm, orthogonalize, "dstn")


@_table.public(samples=_samples_many, kinds="fc")
def idstn(
    x: Any, /, type: int = 2, s: Sequence[int] | None = None, axes: Axes = None,
    norm: str | None = None, *, orthogonalize: bool | None = None,
) -> Tensor:  # fmt: skip
    """The inverse of `dstn`, with its parameters and errors: "backward" is what divides by N.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.round(pg.fft.idstn(pg.fft.dstn(pg.asarray([[3.0, 1.0]]))))
    tensor([[3., 1.]], dtype=float32)
    """
    return _apply(x, True, type, s, axes, norm, orthogonalize, "idstn")
