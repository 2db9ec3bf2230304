"""Sums of products over named axes: `einsum`, and `tensordot`, `vecdot`, `outer`, which it serves.

One primitive does it: `einsum` of two tensors or more, no letter twice in a term. Its derivative is
an `einsum` again.
"""

from __future__ import annotations

import functools
import itertools
import string
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.families import Chapter
from polygrad.indexing import size_of
from polygrad.ops._axes import as_tensor, normalize_axes, normalize_axis
from polygrad.ops.statistical import sum as sum_function
from polygrad.primitive import PRIMITIVES, Primitive
from polygrad.tensor import Tensor
from polygrad.views import getitem_tensor, permute_dims, reshape_tensor

_table = Chapter("linear_algebra")
Shape = tuple[int, ...]
LETTERS = string.ascii_letters


# ---- the primitive ------------------------------------------------------------------------------
def _terms(subscripts: str) -> tuple[list[str], str]:
    left, _, output = subscripts.partition("->")
    return left.split(","), output


def _without(letters: Iterable[str], others: Iterable[str]) -> str:
    others = set(others)
    return "".join(c for c in letters if c not in others)


class _Plan(NamedTuple):
    """How two terms become one: sum, order and shape of each, the product, its shape and term."""

    sums: tuple[Shape, Shape]
    orders: tuple[Shape, Shape]
    shapes: tuple[Shape, Shape]
    elementwise: bool
    shape: Shape
    term: str


def _places(term: str, wanted: str) -> Shape:
    """The order that brings the axes of one term into that of another; () if they are so."""
    return () if term == wanted else tuple(map(term.index, wanted))


@functools.lru_cache(maxsize=1024)
def _plan(a: str, b: str, kept: frozenset[str], shapes: tuple[Shape, Shape]) -> _Plan:
    """A product of stacks of matrices; elementwise if there is nothing to sum over."""
    sums = tuple(
        tuple(i for i, c in enumerate(t) if c not in kept and c not in other)
        for t, other in ((a, b), (b, a))
    )
    sizes = dict(zip(a + b, shapes[0] + shapes[1], strict=True))
    a, b = (_without(t, _without(t, kept | set(other))) for t, other in ((a, b), (b, a)))
    stack = "".join(c for c in a if c in b and c in kept)
    inner = "".join(c for c in a if c in b and c not in kept)
    rows, columns = _without(a, b), _without(b, a)
    s, m, n, k = (tuple(sizes[c] for c in group) for group in (stack, rows, columns, inner))
    if inner:
        orders = _places(a, stack + rows + inner), _places(b, stack + inner + columns)
        forms = (*s, size_of(m), size_of(k)), (*s, size_of(k), size_of(n))
    else:
        orders = _places(a, stack + rows), _places(b, stack + columns)
        forms = (*s, *m, *(1,) * len(n)), (*s, *(1,) * len(m), *n)
    return _Plan(sums, orders, forms, not inner, s + m + n, stack + rows + columns)  # type: ignore[arg-type]


def _product(F: Any, xs: Sequence[Any], terms: Sequence[str], kept: set[str]) -> tuple[Any, str]:
    """Two terms as one."""
    x, y = xs
    plan = _plan(terms[0], terms[1], frozenset(kept), (tuple(x.shape), tuple(y.shape)))
    made = []
    for t, axes, order, shape in zip(xs, plan.sums, plan.orders, plan.shapes, strict=True):
        out = F.sum(t, axis=axes, keepdims=False) if axes else t
        out = F.permute_dims(out, axes=order) if order else out
        made.append(out if out.shape == shape else F.reshape(out, shape=shape))
    out = made[0] * made[1] if plan.elementwise else F.matmul(*made)
    return (out if out.shape == plan.shape else F.reshape(out, shape=plan.shape)), plan.term


def _cheapest(terms: Sequence[str], sizes: dict[str, int], output: str) -> tuple[int, int]:
    """The pair of terms whose product is the smallest."""

    def cost(pair: tuple[int, int]) -> tuple[int, int]:
        rest = {c for k, t in enumerate(terms) if k not in pair for c in t} | set(output)
        both = set(terms[pair[0]]) | set(terms[pair[1]])
        return size_of(tuple(sizes[c] for c in both & rest)), size_of(tuple(sizes[c] for c in both))

    return min(itertools.combinations(range(len(terms)), 2), key=cost)


def _einsum(F: Any, arrays: Sequence[Any], subscripts: str) -> Any:
    """Pair by pair, by products of matrices: faster than the loops behind most libraries' own."""
    terms, output = _terms(subscripts)
    xs = list(arrays)
    sizes = {c: n for t, x in zip(terms, xs, strict=True) for c, n in zip(t, x.shape, strict=True)}
    while len(xs) > 1:
        i, j = (0, 1) if len(xs) == 2 else _cheapest(terms, sizes, output)
        y, b = xs.pop(j), terms.pop(j)
        x, a = xs.pop(i), terms.pop(i)
        x, a = _product(F, (x, y), (a, b), set(output).union(*terms))
        xs.append(x)
        terms.append(a)
    order = _places(terms[0], output)
    return F.permute_dims(xs[0], axes=order) if order else xs[0]


def _einsum_rule(g: Any, F: Any, arrays: Sequence[Any], subscripts: str, i: int) -> Any:
    """The cotangent in place of the result, the result's letters in place of the operand's."""
    terms, output = _terms(subscripts)
    others = [k for k in range(len(terms)) if k != i]
    known = set(output).union(*(terms[k] for k in others))
    found = "".join(c for c in terms[i] if c in known)
    left = ",".join([output, *(terms[k] for k in others)])
    out = F.einsum([g, *(F.conj(arrays[k]) for k in others)], subscripts=f"{left}->{found}")
    shape = arrays[i].shape
    if found == terms[i]:
        return out
    lengths = tuple(n if c in known else 1 for c, n in zip(terms[i], shape, strict=True))
    return F.broadcast_to(F.reshape(out, shape=lengths), shape=shape)


einsum_primitive = Primitive(
    "einsum", ("arrays",), {"arrays": _einsum_rule}, keywords={"subscripts": ""}, variadic=True,
    forward=_einsum,
)  # fmt: skip


# ---- einsum -------------------------------------------------------------------------------------
def _where(tensors: Sequence[Tensor], name: str = "einsum") -> str:
    return name + describe(tensors)


@functools.lru_cache(maxsize=512)
def _parse(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[tuple[str, ...], str]:
    """A term for each operand, and the output's; ellipses are letters that are free."""
    where = f"einsum of shapes {', '.join(map(str, shapes))}, subscripts {subscripts!r}"
    text = subscripts.replace(" ", "").replace("...", ".")
    left, arrow, output = text.partition("->")
    terms = left.split(",")
    if any(set(t) - set(LETTERS + ".") or t.count(".") > 1 for t in (*terms, output)):
        raise InvalidArgumentError(
            f"{subscripts!r} are no subscripts", where,
            'write letters, as in "ij,jk->ik" or "...i->..."',
        )  # fmt: skip
    if len(terms) != len(shapes):
        raise InvalidArgumentError(
            f"{len(terms)} terms for {len(shapes)} tensors", where,
            "write one term for each tensor, separated by commas",
        )  # fmt: skip
    free = [c for c in LETTERS if c not in text]
    dots = [len(s) - len(t) + 1 if "." in t else 0 for t, s in zip(terms, shapes, strict=True)]
    for k, (t, s) in enumerate(zip(terms, shapes, strict=True)):
        if dots[k] < 0 or ("." not in t and len(t) != len(s)):
            raise ShapeError(
                f"the term {t.replace('.', '...')!r} does not fit shape {s} of tensor {k}",
                where, "write one letter for each axis",
            )  # fmt: skip
    common = "".join(free[: max(dots, default=0)])
    terms = [t.replace(".", common[len(common) - d :]) for t, d in zip(terms, dots, strict=True)]
    used = "".join(terms)
    if not arrow:
        output = common + "".join(sorted(c for c in set(used) - set(common) if used.count(c) == 1))
    output = output.replace(".", common)
    if len(set(output)) != len(output) or set(output) - set(used):
        raise InvalidArgumentError(
            "a letter of the output is there twice, or in no term", where,
            "the output takes letters of the terms, each once",
        )  # fmt: skip
    return tuple(terms), output


def _diagonal(x: Tensor, term: str) -> tuple[Tensor, str]:
    """A term in which no letter comes twice: the diagonal, where one does."""
    while len(set(term)) != len(term):
        letter = next(c for c in term if term.count(c) > 1)
        p = term.index(letter)
        q = term.index(letter, p + 1)
        n, m = x.shape[p], x.shape[q]
        if n != m:
            raise ShapeError(
                f"{letter!r} stands for axes of lengths {n} and {m}", _where([x]),
                "a diagonal needs equal axes",
            )  # fmt: skip
        rest = [i for i in range(x.ndim) if i not in (p, q)]
        places = np.arange(n)
        x = getitem_tensor(permute_dims.view(x, axes=(p, q, *rest)), (places, places))
        term = letter + "".join(term[i] for i in rest)
    return x, term


def _stretched(tensors: list[Tensor], terms: list[str], name: str) -> None:
    """Drop axes of length 1 whose letter has another length elsewhere: they broadcast."""
    sizes: dict[str, int] = {}
    for x, term in zip(tensors, terms, strict=True):
        for c, n in zip(term, x.shape, strict=True):
            known = sizes.setdefault(c, n)
            if known not in (1, n) and n != 1:
                raise ShapeError(
                    f"{c!r} stands for axes of lengths {known} and {n}", _where(tensors, name),
                    "a letter has one length everywhere, or 1",
                )  # fmt: skip
            sizes[c] = n if known == 1 else known
    for k, (x, term) in enumerate(zip(tensors, terms, strict=True)):
        kept = [i for i, (c, n) in enumerate(zip(term, x.shape, strict=True)) if n == sizes[c]]
        if len(kept) < len(term):
            tensors[k] = reshape_tensor(x, tuple(x.shape[i] for i in kept))
            terms[k] = "".join(term[i] for i in kept)


@_table.public(samples=lambda s: [
    (("ij,jk->ik", s.real(2, 3), s.real(3, 4)), {}),
    (("ij,kj", s.complex(2, 3), s.complex(4, 3)), {}),
    (("...ij,...j->...i", s.real(5, 2, 3), s.real(3)), {}), (("iij->j", s.real(3, 3, 2)), {}),
    (("i,i,ij->", s.real(3), s.real(3), s.real(3, 2)), {}), (("ij->ji", s.real(2, 3)), {}),
    (("ii,jj->ij", s.real(2, 2), s.real(3, 3)), {}),
    (("bij,bjk,bk->bi", s.real(2, 3, 4), s.real(2, 4, 2), s.real(1, 2)), {}),
    (("ij,ij->ij", s.real(2, 3), s.real(1, 3)), {}), ((",i->i", s.real(), s.real(2)), {}),
], kinds="ifc")  # fmt: skip
def einsum(subscripts: str, /, *operands: Any) -> Tensor:
    """A sum of products over named axes.

    Parameters
    ----------
    subscripts
        One term of letters for each tensor, a letter for each axis, then optionally "->" and the
        letters of the result. What the result lacks is summed over. Without "->" the result has
        the letters that come once, in alphabetical order. A letter twice in one term takes the
        diagonal; "..." stands for axes that broadcast.
    *operands
        Numeric tensors.

    Returns
    -------
    Tensor
        Of the promoted dtype.

    Raises
    ------
    InvalidArgumentError, ShapeError
        The subscripts are malformed, or do not fit the shapes.

    Notes
    -----
    Derivative: the sum of products of the cotangent and the conjugates of the other operands.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.einsum("ij,j->i", pg.ones((2, 3)), pg.ones(3))
    tensor([3., 3.], dtype=float32)
    """
    tensors = [as_tensor(x, "einsum") for x in operands]
    found, output = _parse(subscripts, tuple(x.shape for x in tensors))
    terms = list(found)
    for k, term in enumerate(terms):
        tensors[k], terms[k] = _diagonal(tensors[k], term)
    _stretched(tensors, terms, "einsum")
    if len(tensors) > 1:
        return _call(tensors, terms, output)
    x, term = tensors[0], terms[0]
    axes = tuple(i for i, c in enumerate(term) if c not in output)
    if axes:
        x = sum_function(x, axis=axes, dtype=x.dtype)
        term = "".join(c for c in term if c in output)
    return permute_dims.view(x, axes=tuple(map(term.index, output)))


# ---- what einsum serves -------------------------------------------------------------------------
@_table.public(samples=lambda s: [
    ((s.real(2, 3, 4), s.real(3, 4, 2)), {}), ((s.complex(2, 3), s.complex(3, 2)), {"axes": 1}),
    ((s.real(2), s.real(3)), {"axes": 0}),
    ((s.real(2, 3, 4), s.real(4, 5, 2)), {"axes": ((0, -1), (2, 0))}),
], kinds="ifc", method=False)  # fmt: skip
def tensordot(
    x1: Any, x2: Any, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Tensor:
    """A sum of products over pairs of axes.

    Parameters
    ----------
    x1, x2
        Numeric tensors.
    axes
        Which axes are summed: the last n of x1 with the first n of x2, or two sequences of axes.

    Returns
    -------
    Tensor
        The axes of `x1` that are left, then those of `x2`; of the promoted dtype.

    Raises
    ------
    ShapeError, InvalidArgumentError
        The lengths of a pair differ; the sequences do; there are too few axes.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.tensordot(pg.ones((2, 3)), pg.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    x, y = as_tensor(x1, "tensordot, argument x1"), as_tensor(x2, "tensordot, argument x2")
    if not isinstance(axes, (tuple, list)):
        n = int(axes)
        if not 0 <= n <= min(x.ndim, y.ndim):
            raise InvalidArgumentError(
                f"there are no {n} axes to sum over", _where([x, y], "tensordot"), "use fewer"
            )
        first, second = tuple(range(x.ndim - n, x.ndim)), tuple(range(n))
    else:
        first = normalize_axes(tuple(axes[0]), x.ndim, "tensordot", "axes")
        second = normalize_axes(tuple(axes[1]), y.ndim, "tensordot", "axes")
    lengths = [tuple(t.shape[a] for a in found) for t, found in ((x, first), (y, second))]
    if lengths[0] != lengths[1]:
        raise ShapeError(
            f"axes {first} of x1 have lengths {lengths[0]}, axes {second} of x2 {lengths[1]}",
            _where([x, y], "tensordot"), "sum over pairs of axes of one length",
        )  # fmt: skip
    a = LETTERS[: x.ndim]
    names = dict(zip(second, (a[i] for i in first), strict=True))
    b = "".join(names.get(i, LETTERS[x.ndim + i]) for i in range(y.ndim))
    return _call([x, y], [a, b], _without(a, names.values()) + _without(b, names.values()))


@_table.public(samples=lambda s: [
    ((s.real(3), s.real(3)), {}), ((s.complex(2, 3), s.complex(2, 3)), {}),
    ((s.real(3, 2), s.real(3, 1)), {"axis": -2}), ((s.real(4, 2, 3), s.real(3)), {}),
], kinds="ifc", method=False)  # fmt: skip
def vecdot(x1: Any, x2: Any, /, axis: int = -1) -> Tensor:
    """The sum of conj(x1) * x2 along an axis.

    Parameters
    ----------
    x1, x2
        Numeric tensors that broadcast against each other except along `axis`.
    axis
        The axis to sum over, counted from the end: it must be negative if the ranks differ.

    Returns
    -------
    Tensor
        The broadcast shape without `axis`; of the promoted dtype.

    Raises
    ------
    ShapeError
        The lengths along `axis` differ, or the shapes do not broadcast.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.vecdot(pg.asarray([1.0, 2.0]), pg.asarray([3.0, 4.0]))
    tensor(11., dtype=float32)
    """
    x, y = as_tensor(x1, "vecdot, argument x1"), as_tensor(x2, "vecdot, argument x2")
    ndim = max(x.ndim, y.ndim)
    axis = normalize_axis(axis, min(x.ndim, y.ndim) if axis < 0 else ndim, "vecdot") - (
        min(x.ndim, y.ndim) if axis < 0 else ndim
    )
    if -axis > min(x.ndim, y.ndim) or x.shape[axis] != y.shape[axis]:
        raise ShapeError(
            f"shapes {x.shape} and {y.shape} have no common axis {axis} of one length",
            _where([x, y], "vecdot"),
            "check axis; along it nothing is broadcast",
        )  # fmt: skip
    tensors = [PRIMITIVES["conj"].call(x) if x.kernels.is_complex else x, y]
    terms = [LETTERS[ndim - t.ndim : ndim] for t in tensors]
    _stretched(tensors, terms, "vecdot")
    return _call(tensors, terms, _without(LETTERS[:ndim], LETTERS[ndim + axis]))


@_table.public(samples=lambda s: [
    ((s.real(2), s.real(3)), {}), ((s.complex(2), s.complex(0)), {}),
], kinds="ifc", method=False)  # fmt: skip
def outer(x1: Any, x2: Any, /) -> Tensor:
    """All products of an element of one vector with one of another.

    Parameters
    ----------
    x1, x2
        Numeric tensors of one axis.

    Returns
    -------
    Tensor
        Shape `(x1.size, x2.size)`; of the promoted dtype. Nothing is conjugated.

    Raises
    ------
    ShapeError
        A tensor has not one axis.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.outer(pg.asarray([1.0, 2.0]), pg.asarray([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]], dtype=float32)
    """
    x, y = as_tensor(x1, "outer, argument x1"), as_tensor(x2, "outer, argument x2")
    if x.ndim != 1 or y.ndim != 1:
        raise ShapeError(
            f"shapes {x.shape} and {y.shape} are not those of vectors", f"outer{describe([x, y])}",
            "flatten them first",
        )  # fmt: skip
    return _call([x, y], ["a", "b"], "ab")


def _call(tensors: list[Tensor], terms: list[str], output: str) -> Tensor:
    made: Tensor = einsum_primitive.call(tensors, subscripts=f"{','.join(terms)}->{output}")
    return made
