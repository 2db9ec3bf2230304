"""Where one more axis in front goes, for each primitive that rules use.

An entry of `BATCHED` gets the primitive, its operands (Rows among them), all its keywords and the
number of rows. It returns the results, or None for a case that is too rare to have a form of its
own.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from typing import Any

from polygrad.batching.rows import (
    Keywords,
    Operands,
    Rows,
    Shape,
    call,
    mapped,
    repeated,
    reshaped,
    rows_of,
    tensor,
    wrapped,
)
from polygrad.indexing import is_basic
from polygrad.primitive import Primitive
from polygrad.tensor import Tensor

__all__ = ["BATCHED", "elementwise"]


def _ndim(operands: Operands) -> int:
    return max((x.ndim for x in operands if isinstance(x, Tensor)), default=0)


def _lifted(operands: Operands, ndim: int) -> Operands:
    """Operands whose rows have `ndim` axes, so that they broadcast as rows do."""
    made = []
    for x in operands:
        if isinstance(x, Rows) and x.ndim < ndim:
            lead = (1,) * (ndim - x.ndim)
            made.append(rows_of(reshaped(x.rows, (x.rows.shape[0], *lead, *x.shape))))
        else:
            made.append(x)
    return made


def _shifted(axis: Any, ndim: int) -> Any:
    """Axes of a row as axes of all; those counted from the end stay."""
    if axis is None:
        return tuple(range(1, ndim + 1))
    if isinstance(axis, (tuple, list)):
        return tuple(_shifted(a, ndim) for a in axis)
    return axis + 1 if axis >= 0 else axis


def elementwise(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Shapes broadcast from the right: the first axis must stay in front of all others."""
    del count
    return call(p, _lifted(operands, _ndim(operands)), keywords)


def _trailing(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Of the last axes only, whatever is in front of them."""
    if len(operands) > 1:
        if any(x.ndim != _ndim(operands) for x in operands if isinstance(x, Tensor)):
            return None
        operands = [repeated(x, count) for x in operands]
    return call(p, operands, keywords)


def _axes(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Along axes that keywords name."""
    ndim = _ndim(operands)
    if any(x.ndim != ndim for x in operands if isinstance(x, Tensor)):
        return None
    moved = {k: _shifted(v, ndim) if k in ("axis", "axes") else v for k, v in keywords.items()}
    return call(p, [repeated(x, count) for x in operands], moved)


def _matmul(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Vectors become matrices of one row or column: with one axis more they would be taken so."""
    del count
    x, y = operands
    if x.ndim == 1:
        x = _expanded(x, (1, *x.shape))
    if y.ndim == 1:
        y = _expanded(y, (*y.shape, 1))
    made = call(p, _lifted([x, y], max(x.ndim, y.ndim)), keywords)
    shape = made.shape
    if operands[1].ndim == 1:
        shape = shape[:-1]
    if operands[0].ndim == 1:
        shape = (*made.shape[:-2], *shape[len(made.shape) - 1 :])
    return rows_of(reshaped(made.rows, (made.rows.shape[0], *shape)))


def _expanded(x: Any, shape: Shape) -> Any:
    if isinstance(x, Rows):
        return rows_of(reshaped(x.rows, (x.rows.shape[0], *shape)))
    return reshaped(x, shape)


def _einsum(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """A letter of its own for the first axis."""
    del count
    terms, _, output = keywords["subscripts"].partition("->")
    used = set(keywords["subscripts"])
    letter = next(c for c in string.ascii_letters if c not in used)
    marked = [
        letter + term if isinstance(x, Rows) else term
        for x, term in zip(operands, terms.split(","), strict=True)
    ]
    return call(p, operands, {"subscripts": f"{','.join(marked)}->{letter}{output}"})


def _permute_dims(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    del count
    ndim = _ndim(operands)
    return call(p, operands, {"axes": (0, *(a % ndim + 1 for a in keywords["axes"]))})


def _shaped(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """To a shape, along axes perhaps; the other operands say where, the same for all rows."""
    shape = (count, *keywords["shape"])
    ndim = len(keywords["shape"])
    if p.name == "broadcast_to":
        operands = _lifted(operands, ndim)
    moved = {**keywords, "shape": shape}
    if "axis" in keywords:
        moved["axis"] = _shifted(keywords["axis"], ndim)
    return call(p, operands, moved)


def _same_places(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Along an axis, at places that are the same for all rows."""
    x, *places = operands
    if not isinstance(x, Rows) or any(isinstance(i, Rows) for i in places):
        return None
    moved = {**keywords, "axis": _shifted(keywords["axis"], x.ndim)}
    if "shape" in keywords:
        moved["axis"] = _shifted(keywords["axis"], len(keywords["shape"]))
        moved["shape"] = (count, *keywords["shape"])
    return call(p, operands, moved)


def _places_along(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Along an axis, at places that each lane has of its own."""
    return _axes(p, operands, _with_count(keywords, count), count)


def _with_count(keywords: Keywords, count: int) -> Keywords:
    if "shape" not in keywords:
        return keywords
    return {**keywords, "shape": (count, *keywords["shape"])}


def _key(key: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """A key of all rows; None where NumPy would put the axes of index arrays first."""
    if not is_basic(key):
        advanced = [
            i for i, k in enumerate(key)
            if type(k) is int or not (k is None or k is Ellipsis or type(k) is slice)
        ]  # fmt: skip
        if advanced[-1] - advanced[0] != len(advanced) - 1:
            return None
    return (slice(None), *key)


def _keyed(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    key = _key(keywords["key"])
    if key is None:
        return None
    return call(p, operands, {**_with_count(keywords, count), "key": key})


def _recipe(recipe: Any, count: int) -> Any:
    """Steps of views of all rows; None where one is not to be had as a step."""
    made = []
    for p, keywords, shape in recipe:
        if "key" in keywords:
            key = _key(keywords["key"])
            if key is None:
                return None
            moved = {"key": key}
        elif p.name == "permute_dims":
            moved = {"axes": (0, *(a % len(shape) + 1 for a in keywords["axes"]))}
        elif p.name in ("reshape", "expand_dims", "squeeze", "real", "imag", "matrix_transpose"):
            moved = {k: _shifted(v, len(shape)) if k == "axis" else (count, *v)
                     for k, v in keywords.items()}  # fmt: skip
        else:
            return None
        made.append((p, moved, (count, *shape)))
    return tuple(made)


def _look(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    recipe = _recipe(keywords["recipe"], count)
    return None if recipe is None else call(p, operands, {"recipe": recipe})


def _put(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Rows of values go row by row: their axes need not be those of the place."""
    x, value = operands
    recipe = _recipe(keywords["recipe"], count)
    if recipe is None or isinstance(value, Rows):
        return None
    return call(p, [repeated(x, count), value], {"recipe": recipe})


def _pad(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    del count
    return call(p, operands, {**keywords, "pad_width": ((0, 0), *keywords["pad_width"])})


def _tile(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    del count
    repetitions, (x,) = keywords["repetitions"], operands
    if len(repetitions) != x.ndim:
        return None
    return call(p, operands, {"repetitions": (1, *repetitions)})


def _sampled(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Of samples along the first axis: rows of samples are more samples."""
    x, *others = operands
    if not isinstance(x, Rows) or any(isinstance(y, Rows) for y in others):
        return None
    made = p.call(_flattened(x), *others, **keywords)
    return wrapped(mapped(lambda t: reshaped(t, (count, x.shape[0], *t.shape[1:])), made))


def _sampled_all(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """The same, if all operands have samples."""
    samples = operands[0].shape[0]
    made = p.call(*(_flattened(repeated(x, count)) for x in operands), **keywords)
    return wrapped(mapped(lambda t: reshaped(t, (count, samples, *t.shape[1:])), made))


def _flattened(x: Rows) -> Tensor:
    return reshaped(x.rows, (x.rows.shape[0] * x.shape[0], *x.shape[1:]))


def _of_first(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """Of the shape of the first operand; the others give their dtype only."""
    if isinstance(operands[0], Rows):
        return elementwise(p, operands, keywords, count)
    return p.call(*map(tensor, operands), **keywords)


def _unstacked(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """The same for all rows: of the shape of a matrix alone."""
    del count
    return p.call(*map(tensor, operands), **keywords)


def _table(*entries: tuple[Callable[..., Any], str]) -> dict[str, Callable[..., Any]]:
    return {name: rule for rule, names in entries for name in names.split()}


BATCHED: dict[str, Callable[..., Any]] = _table(
    (elementwise, """
        astype bounded_below bounded_log chop clone dropout elu finite gelu gelu_tanh hardshrink
        hardswish hardtanh identity imag keep leaky_relu logsigmoid magnitude masked mish
        ones_like real relu scale_gradient sigmoid silu softplus softshrink softsign
        standardize_combined tanhshrink threshold zeros_like"""),
    (_trailing, """
        adjoint cholesky cofactor cumulative_prod cumulative_sum det diagonal diagonal_adjoint eig
        eigh eigvals eigvalsh expm inv lu matrix_transpose pinv pivots prepend qr recurrence slogdet
        solve svd svdvals triangular_solve tril triu"""),
    (_axes, """
        all any argsort concat count_nonzero cross expand_dims flip fourier inner_scale irfft
        log_softmax logsumexp max mean min prod repeat resample resize rfft roll scale_ends
        sliding_window_view softmax sort squeeze stack std sum trigonometric var vector_norm"""),
    (_shaped, "reshape broadcast_to sliding_window_view_adjoint"),
    (_same_places, "take take_adjoint"),
    (_places_along, """
        permute_along_axis unpermute_along_axis take_along_axis take_along_axis_adjoint"""),
    (_keyed, "getitem getitem_adjoint"),
    (_sampled, """
        convolution convolution_adjoint_x fold max_pool unfold window_sum window_sum_adjoint"""),
    (_sampled_all, "pick_from_windows place_in_windows"), (_of_first, "indicator"),
    (_matmul, "matmul"), (_einsum, "einsum"), (_permute_dims, "permute_dims"), (_look, "look"),
    (_put, "put"), (_pad, "pad"), (_tile, "tile"), (_unstacked, "on_diagonal"),
)  # fmt: skip
