"""The tape: what is recorded of each operation, and nothing else.

A node holds arrays and edges, never a Tensor that it produced: no cycles, so a graph dies by
reference count the moment its last output is dropped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, Union

if TYPE_CHECKING:
    from polygrad.backend import Kernels
    from polygrad.tensor import Tensor

__all__ = [
    "ALONE", "IDENTITY", "LEFT", "RIGHT", "AccumulateGrad", "Differentiable", "Edge", "Extra",
    "Hook", "Node", "Packed", "Port", "SharedShapes", "tick",
]  # fmt: skip

tick: Callable[[], int] = itertools.count().__next__
"""The next creation number. Creation order is a topological order, across threads too."""


def IDENTITY(g: Any, F: Any, saved: Any) -> Any:  # noqa: ARG001, N802  a compiled rule
    """The compiled form of the rule `lambda g: g`; the sweep does not even call it."""
    return g


class SharedShapes(dict[tuple[int, ...], tuple[tuple[int, ...] | None, ...]]):
    """What `shapes` of a node is, by the shape of its one edge: one object for all that are equal.

    With shapes of their own, nodes would have two more tuples each, at which Python's collector
    looks again and again while a graph grows: half a microsecond for a node in a graph of a
    million. Shapes are few; if there are many, they are forgotten.
    """

    def __init__(self, place: int, inputs: int) -> None:
        super().__init__()
        self.place, self.inputs = place, inputs

    def __missing__(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...] | None, ...]:
        """Make one."""
        if len(self) >= 1024:
            self.clear()
        own = tuple(shape)  # some libraries have classes of their own for shapes
        made = self[shape] = tuple(own if i == self.place else None for i in range(self.inputs))
        return made


ALONE, LEFT, RIGHT = SharedShapes(0, 1), SharedShapes(0, 2), SharedShapes(1, 2)


class Differentiable(Protocol):
    """What the engine needs to know of a recorded operation."""

    name: str
    outputs: int
    joint: bool
    later: tuple[int, ...]

    @property
    def rules(self) -> tuple[Callable[[Any, Any, Any], Any], ...]:
        """For each input, its cotangent as a function of (g, F, saved)."""

    def backward(self, node: Node, g: Any, F: Any, saved: Any, wanted: Sequence[bool]) -> Any:
        """All cotangents of the inputs at once, for a joint operation."""

    def revive(self, node: Node, saved: Any) -> Any:
        """The saved values as Tensors, re-attached to their edges."""


class Extra:
    """What few nodes have: see the attributes of `Node` of the same names."""

    __slots__ = ("casts", "hooks", "note", "outs")

    def __init__(self) -> None:
        self.casts: tuple[Kernels | None, ...] | None = None
        self.hooks: list[Hook] | None = None
        self.note: str | None = None
        self.outs: tuple[tuple[tuple[int, ...], Kernels], ...] | None = None


def _extra(name: str) -> property:
    """An attribute of a node that is kept in its `extra`, which is made when it is first set."""

    def read(node: Node) -> Any:
        return None if node.extra is None else getattr(node.extra, name)

    def write(node: Node, value: Any) -> None:
        if node.extra is None:
            node.extra = Extra()
        setattr(node.extra, name, value)

    return property(read, write)


class Node:
    """One recorded operation.

    Attributes
    ----------
    primitive
        What was applied: it holds the rules.
    edges
        For each input: the Node, or Port of a node with several outputs, that made it; a leaf
        Tensor; None for a constant.
    shapes
        For each input with an edge, its shape.
    kernels
        Where the operation ran, in the dtype it computed in.
    saved
        The values the rules need, in the primitive's order; None once they were freed.
    seq
        Creation number.
    extra
        None where the plain sweep will do; else what follows.
    casts
        The Kernels of each input, where one of them was cast to the computing dtype; else None.
    outs
        (shape, Kernels) of each output, for operations with several; else None.
    hooks
        Functions that see, and may replace, the cotangent of an output; None without any.
    note
        Where the operation was called from, under `detect_anomaly`.
    """

    __slots__ = ("__weakref__", "edges", "extra", "kernels", "primitive", "saved", "seq", "shapes")

    primitive: Differentiable
    edges: tuple[Edge | None, ...]
    shapes: tuple[tuple[int, ...] | None, ...]
    kernels: Kernels
    saved: Any
    seq: int
    extra: Extra | None

    casts = _extra("casts")
    hooks = _extra("hooks")
    note = _extra("note")
    outs = _extra("outs")

    def __init__(
        self,
        primitive: Differentiable,
        edges: tuple[Edge | None, ...],
        shapes: tuple[tuple[int, ...] | None, ...],
        kernels: Kernels,
        saved: Any,
    ) -> None:
        self.primitive, self.edges, self.shapes, self.kernels = primitive, edges, shapes, kernels
        self.saved = saved
        self.extra = Extra() if primitive.joint or kernels.guard is not None else None
        self.seq = tick()

    def name(self) -> str:
        """The operation's name, in the form users of PyTorch know: `MultiplyBackward`.

        >>> import polygrad as pg
        >>> (pg.tensor([1.0], requires_grad=True) * 2).grad_fn.name()
        'MultiplyBackward'
        """
        return "".join(part.capitalize() for part in self.primitive.name.split("_")) + "Backward"

    @property
    def next_functions(self) -> tuple[tuple[Node | AccumulateGrad | None, int], ...]:
        """(producer, output index) of each input; leaves are `AccumulateGrad`, constants None."""
        found: list[tuple[Node | AccumulateGrad | None, int]] = []
        for edge in self.edges:
            if edge is None or isinstance(edge, Node):
                found.append((edge, 0))
            elif isinstance(edge, Port):
                found.append((edge.node, edge.place))
            else:
                found.append((AccumulateGrad(edge), 0))
        return tuple(found)

    def __repr__(self) -> str:
        """The name."""
        return f"<{self.name()}>"


class Port(NamedTuple):
    """One output of a node that has several."""

    node: Node
    place: int


Edge = Union[Node, Port, "Tensor"]


class AccumulateGrad(NamedTuple):
    """The end of a path: the gradient is added to `variable.grad`."""

    variable: Tensor

    def name(self) -> str:
        """The name PyTorch gives it."""
        return "AccumulateGrad"


class Packed(NamedTuple):
    """Saved values that were packed away by `saved_tensors_hooks`."""

    unpack: Callable[[], tuple[Any, ...]]


class Hook:
    """A function that sees the cotangent of output `index`, and the handle that removes it.

    Hooks are called in the order in which they came, those of functions with an attribute `last`
    after the others: `retain_grad` keeps what all hooks have made of a gradient.
    """

    __slots__ = ("function", "index", "store")

    def __init__(self, function: Callable[[Any], Any], index: int, store: list[Hook]) -> None:
        self.function, self.index, self.store = function, index, store
        store.append(self)
        if not hasattr(function, "last"):
            store.sort(key=lambda hook: hasattr(hook.function, "last"))

    def remove(self) -> None:
        """Stop calling the function. Harmless when done already."""
        if self in self.store:
            self.store.remove(self)

    def __enter__(self) -> Self:
        """Use the handle as a context manager."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove the hook."""
        self.remove()
