"""`F` of rules whose cotangents are Rows, and the backward that uses it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from polygrad.batching.rows import Rows, row, row_by_row, stacked, tensor
from polygrad.batching.rules import BATCHED, elementwise
from polygrad.engine import Sweep
from polygrad.primitive import PRIMITIVES, Composite, Primitive, TensorOperations
from polygrad.tape import Node
from polygrad.tensor import new_tensor

__all__ = ["BatchedOperations", "BatchedSweep", "apply"]


class BatchedOperations(TensorOperations):
    """The namespace `F` of rules whose cotangents are Rows."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """The primitive called `name`, of Rows and Tensors."""
        call: Callable[..., Any] = super().__getattr__(name)
        p = PRIMITIVES[name]
        if isinstance(p, Composite):
            call = functools.partial(p.formula, self)
        else:
            call = functools.partial(apply, p)
        self.__dict__[name] = call
        return call


def apply(p: Primitive, *inputs: Any, **keywords: Any) -> Any:
    """A primitive of Rows and Tensors; Rows, if one of the inputs is."""
    operands = list(inputs[0]) if p.variadic else list(inputs)
    counts = [x.rows.shape[0] for x in operands if isinstance(x, Rows)]
    if not counts:
        return p.call(*inputs, **keywords)
    default: Callable[..., Any] = elementwise if p.elementwise else row_by_row
    rule = BATCHED.get(p.name, default)
    given = {**p.keywords, **keywords}
    made = rule(p, operands, given, counts[0])
    return row_by_row(p, operands, given, counts[0]) if made is None else made


# ---- operators ----------------------------------------------------------------------------------
def _operator(name: str, *, reflected: bool = False) -> Callable[..., Any]:
    def method(self: Any, *others: Any) -> Any:
        inputs = (*others, self) if reflected else (self, *others)
        return apply(PRIMITIVES[name], *inputs)

    return method


for _name, _primitive in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "pow",
    "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
}.items():  # fmt: skip
    setattr(Rows, f"__{_name}__", _operator(_primitive))
    setattr(Rows, f"__r{_name}__", _operator(_primitive, reflected=True))
for _name, _primitive in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal", "neg": "negative", "pos": "positive", "abs": "abs",
    "invert": "bitwise_invert",
}.items():  # fmt: skip
    setattr(Rows, f"__{_name}__", _operator(_primitive))


# ---- the sweep ----------------------------------------------------------------------------------
class BatchedSweep(Sweep):
    """A backward whose cotangents are Rows. Rules run on Tensors, recorded or not."""

    __slots__ = ()
    operations = BatchedOperations()

    def __init__(self, *, create_graph: bool, retain: bool) -> None:
        del create_graph
        super().__init__(create_graph=True, retain=retain)

    def namespace(self, node: Node) -> Any:
        """The same for every primitive."""
        del node
        return self.operations

    def plain(self, g: Any) -> Any:
        """All rows, for who looks for a NaN."""
        return tensor(g)

    def joint(self, node: Node, g: Any, F: Any, saved: Any, wanted: list[Any]) -> Any:
        """Primitives have rules; functions of the user see one row after the other."""
        if isinstance(node.primitive, Primitive):
            return super().joint(node, g, F, saved, wanted)
        gs = g if isinstance(g, tuple) else (g,)
        counts = [x.rows.shape[0] for x in gs if isinstance(x, Rows)]
        if not counts:
            return super().joint(node, g, F, saved, wanted)
        found = []
        for i in range(counts[0]):
            parts = tuple(row(x, i) for x in gs)
            part = parts if isinstance(g, tuple) else parts[0]
            found.append(super().joint(node, part, F, saved, wanted))
        return [_column(part) for part in zip(*found, strict=True)]

    def hooked(self, function: Any, g: Any, kernels: Any) -> Any:
        """A hook sees one row after the other."""
        if not isinstance(g, Rows):
            return super().hooked(function, g, kernels)
        made = [super(BatchedSweep, self).hooked(function, row(g, i), kernels)
                for i in range(g.rows.shape[0])]  # fmt: skip
        return stacked(made) if made else g


def _column(parts: Sequence[Any]) -> Any:
    """The cotangents of one input, for each row; None is zero."""
    shaped = next((r for r in parts if r is not None), None)
    if shaped is None:
        return None
    zero = new_tensor(shaped.kernels.zeros(shaped.shape), shaped.kernels)
    return stacked([zero if r is None else r for r in parts])
