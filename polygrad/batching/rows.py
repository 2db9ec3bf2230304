"""`Rows`: many tensors of one shape, kept as one, and what is done with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polygrad.primitive import PRIMITIVES, Primitive
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = [
    "Keywords", "Operands", "Rows", "Shape", "call", "mapped", "repeated", "reshaped", "row",
    "row_by_row", "rows_of", "stacked", "tensor", "unrolled", "wrapped",
]  # fmt: skip

Operands = list[Any]
Keywords = dict[str, Any]
Shape = tuple[int, ...]


class Rows(Tensor):
    """Tensors of one shape; `rows` has them along its first axis.

    It is a Tensor to rules and to the engine, which see the shape of one row. It has no array:
    whatever would compute with it without going through `BatchedOperations` fails.
    """

    __slots__ = ("rows",)
    __hash__ = object.__hash__
    rows: Tensor

    @property
    def shape(self) -> Shape:
        """The shape of a row."""
        return self.rows.shape[1:]

    @property
    def ndim(self) -> int:
        """The number of axes of a row."""
        return self.rows.ndim - 1

    @property
    def size(self) -> int:
        """The number of elements of a row."""
        count = self.rows.shape[0]
        return self.rows.size // count if count else 0


def rows_of(t: Tensor) -> Rows:
    """The slices of `t` along its first axis."""
    made = new_tensor(None, t.kernels, cls=Rows)
    assert isinstance(made, Rows)  # noqa: S101  for the type checker
    made.rows, made.tracked = t, t.tracked
    return made


def unrolled(t: Tensor, count: int, tracked: bool) -> Tensor:
    """Rows as a Tensor with one more axis; what is the same for all rows so many times."""
    out: Tensor = tensor(repeated(t, count))
    return out if tracked else new_tensor(raw(out), out.kernels)


def tensor(x: Any) -> Any:
    """What a primitive gets for an operand: the tensor behind Rows, anything else itself."""
    return x.rows if isinstance(x, Rows) else x


def mapped(function: Callable[[Any], Any], made: Any) -> Any:
    """A function of one result, or of each of several."""
    return tuple(map(function, made)) if isinstance(made, tuple) else function(made)


def wrapped(made: Any) -> Any:
    """Results of a primitive as Rows."""
    return mapped(rows_of, made)


def reshaped(t: Tensor, shape: Shape) -> Tensor:
    """`t` in another shape, itself if it has it."""
    made: Tensor = PRIMITIVES["reshape"].call(t, shape=shape) if t.shape != shape else t
    return made


def repeated(x: Any, count: int) -> Any:
    """A constant operand as Rows that are all the same."""
    if isinstance(x, Rows) or not isinstance(x, Tensor):
        return x
    one = reshaped(x, (1, *x.shape))
    return rows_of(PRIMITIVES["broadcast_to"].call(one, shape=(count, *x.shape)))


def row(x: Any, i: int) -> Any:
    """Row i of Rows; anything else itself."""
    return PRIMITIVES["getitem"].call(x.rows, key=(i, Ellipsis)) if isinstance(x, Rows) else x


def stacked(made: Sequence[Any]) -> Any:
    """Rows of what was computed for each, one result or several."""
    stack = PRIMITIVES["stack"].call
    if isinstance(made[0], tuple):
        return tuple(rows_of(stack(list(part), axis=0)) for part in zip(*made, strict=True))
    return rows_of(stack(list(made), axis=0))


# ---- calls --------------------------------------------------------------------------------------
def call(p: Primitive, operands: Operands, keywords: Keywords) -> Any:
    """The primitive of the tensors behind its operands, and its results as Rows."""
    return wrapped(_plain(p, [tensor(x) for x in operands], keywords))


def _plain(p: Primitive, operands: Operands, keywords: Keywords) -> Any:
    return p.call(operands, **keywords) if p.variadic else p.call(*operands, **keywords)


def row_by_row(p: Primitive, operands: Operands, keywords: Keywords, count: int) -> Any:
    """A call for each row; for none, one of zeros says what the shapes are."""
    if count:
        return stacked([_plain(p, [row(x, i) for x in operands], keywords) for i in range(count)])
    zeros = [
        new_tensor(x.kernels.zeros(x.shape), x.kernels) if isinstance(x, Rows) else x
        for x in operands
    ]
    made = stacked([_plain(p, zeros, keywords)])
    none = (slice(0), Ellipsis)
    return mapped(lambda x: rows_of(PRIMITIVES["getitem"].call(x.rows, key=none)), made)
