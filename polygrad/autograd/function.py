"""`Function`: operations with a backward written by the user.

What is saved are arrays and edges, never Tensors: a Tensor may be rebound, and one saved on the
context would be a cycle.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from polygrad.calls import attach
from polygrad.config import grad_mode, no_grad
from polygrad.errors import GradientError, InvalidTypeError
from polygrad.indexing import broadcasts_to
from polygrad.tape import Edge, Node, Port
from polygrad.tensor import Tensor, new_tensor, raw, wrap
from polygrad.views import detach
from polygrad.writes import rebind

__all__ = ["Context", "Function"]


class Context:
    """What a Function's forward leaves for its backward (`ctx`)."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.materialize_grads = True
        self.to_save: tuple[Tensor | None, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.dirty: tuple[Tensor, ...] = ()
        self.available: tuple[Tensor | None, ...] | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward. One that is written in place before then is an error there."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise InvalidTypeError(
                    f"save_for_backward takes Tensors, not {type(t).__name__}",
                    "Function.forward", "keep other objects as attributes of ctx",
                )  # fmt: skip
        self.to_save = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """These outputs have no gradient."""
        self.non_differentiable = tensors

    def mark_dirty(self, *tensors: Tensor) -> None:
        """These inputs were written in place, and are returned."""
        self.dirty = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether backward gets zeros, or None, for outputs that were not used."""
        self.materialize_grads = value

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What was saved; only while backward runs."""
        if self.available is None:
            raise GradientError(
                "saved_tensors is there only while backward runs", "Function",
                "read it inside backward; keep a graph for a second one with retain_graph=True",
            )  # fmt: skip
        return self.available


class _Saved:
    """A saved tensor: its array and its place on the tape, and weakly the Tensor it was."""

    __slots__ = ("array", "edge", "kernels", "output", "tensor", "tracked")

    def __init__(self, t: Tensor, outputs: Sequence[Any]) -> None:
        self.array, self.kernels, self.tracked = raw(t), t.kernels, t.tracked
        self.output = next((i for i, o in enumerate(outputs) if o is t), None)
        self.edge: Edge | None = None
        if self.output is None:
            self.edge = t.node if t.node is not None else (t if t.tracked else None)
        self.tensor = weakref.ref(t)

    def unpack(self, node: Node, create_graph: bool) -> Tensor:
        """The tensor again; re-attached to its history if it is to be differentiated."""
        t = self.tensor()
        if t is not None and raw(t) is not self.array:
            raise GradientError(
                "a tensor saved for backward was modified by an in-place operation",
                f"Function {node.primitive.name}, saved tensor of shape {self.array.shape}",
                "save a clone, or write to another tensor",
            )
        made = new_tensor(self.array, self.kernels)
        if not create_graph:
            return made
        edge = self.edge
        if self.output is not None and self.kernels.inexact:
            edge = node if node.outs is None else Port(node, self.output)
        if isinstance(edge, Tensor):
            return edge
        if edge is not None:
            made.node, made.tracked = edge, True
        return made


class _Application:
    """One application of a Function, in the place of a primitive on its node."""

    joint = True
    later: tuple[int, ...] = ()
    rules: tuple[Any, ...] = ()
    tensor_namespace = None

    def __init__(
        self,
        function: type[Function],
        context: Context,
        count: int,
        places: tuple[int, ...],
        made: int,
    ) -> None:
        self.function, self.context, self.count = function, context, count
        self.places, self.made = places, made  # which of forward's outputs are on the tape
        self.outputs = len(places)
        self.name = function.__name__

    @property
    def materialize(self) -> bool:
        """Whether the engine makes zeros for outputs that were not used."""
        return self.context.materialize_grads

    def revive(self, node: Node, saved: Any) -> Any:
        """Unpacking is left to `backward`."""
        del node
        return saved

    def backward(self, node: Node, g: Any, F: Any, saved: Any, wanted: Sequence[bool]) -> list[Any]:
        """Run the user's backward on Tensors, and check what it returns."""
        del wanted
        create_graph = F is not node.kernels
        gs = g if isinstance(g, tuple) else (g,)
        context = self.context
        given: list[Tensor | None] = [None] * self.made
        for place, x in zip(self.places, gs, strict=True):
            given[place] = x if x is None or isinstance(x, Tensor) else wrap(x, node.kernels)
        context.available = tuple(
            None if s is None else s.unpack(node, create_graph) for s in saved
        )
        try:
            made = self.function.backward(context, *given)
        finally:
            context.available = None
        results = list(made) if isinstance(made, (tuple, list)) else [made]
        self._check(node, results)
        return [None if r is None else r if create_graph else raw(r) for r in results]

    def _check(self, node: Node, results: list[Any]) -> None:
        where = f"{self.name}.backward"
        if len(results) != self.count:
            raise GradientError(
                f"{len(results)} gradients for {self.count} inputs of forward", where,
                "return one for each, None where there is none",
            )  # fmt: skip
        for i, (r, shape) in enumerate(zip(results, node.shapes, strict=True)):
            if r is None or shape is None:
                continue
            if not isinstance(r, Tensor) or not broadcasts_to(shape, r.shape):
                raise GradientError(
                    f"the gradient of input {i} is {getattr(r, 'shape', type(r).__name__)}, "
                    f"the input has shape {shape}", where,
                    "a gradient is a Tensor of its input's shape",
                )  # fmt: skip


class Function:
    """Base of operations with a backward of their own; subclasses define two static methods.

    `forward(ctx, *args)` computes, unrecorded; `backward(ctx, *grads)` gets a gradient for each
    output of forward (None for one that has none) and returns one for each argument, None where
    there is none. Written in polygrad operations, backward is differentiable itself.

    Examples
    --------
    >>> import polygrad as pg
    >>> class Cube(pg.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return 3 * x * x * g
    >>> x = pg.tensor([2.0], requires_grad=True)
    >>> Cube.apply(x).backward()
    >>> x.grad
    tensor([12.], dtype=float32)
    """

    @staticmethod
    def forward(ctx: Context, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs: a Tensor, or a tuple that may hold other objects."""
        raise NotImplementedError("a Function defines a static method forward(ctx, *args)")

    @staticmethod
    def backward(ctx: Context, *grads: Any) -> Any:
        """The gradient of each argument of forward."""
        raise NotImplementedError("a Function defines a static method backward(ctx, *grads)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call `forward` and record the application."""
        needs = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
        context = Context(needs)
        edges = tuple(
            (a.node if a.node is not None else a) if need else None
            for a, need in zip(args, needs, strict=True)
        )
        with no_grad():
            made = cls.forward(context, *args, **kwargs)
        single = not isinstance(made, tuple)
        outputs = [made] if single else list(made)
        outputs = [detach(o) if _returned_input(o, args, context) else o for o in outputs]
        if any(needs) and grad_mode.get():
            cls._record(context, args, edges, outputs)
        return outputs[0] if single else tuple(outputs)

    @classmethod
    def _record(
        cls, context: Context, args: tuple[Any, ...], edges: Any, outputs: list[Any]
    ) -> None:
        """Put the application on the tape."""
        excluded = {id(t) for t in context.non_differentiable}
        places = tuple(
            i for i, o in enumerate(outputs)
            if isinstance(o, Tensor) and o.kernels.inexact and id(o) not in excluded
        )  # fmt: skip
        results = [outputs[i] for i in places]
        if not results:
            return
        application = _Application(cls, context, len(args), places, len(outputs))
        shapes = tuple(None if e is None else a.shape for e, a in zip(edges, args, strict=True))
        kernels = results[0].kernels
        to_save, context.to_save = context.to_save, ()
        saved = tuple(None if t is None else _Saved(t, results) for t in to_save)
        node = Node(application, edges, shapes, kernels, saved)
        node.casts = tuple(a.kernels if e is not None else None
                           for e, a in zip(edges, args, strict=True))  # fmt: skip
        dirty = {id(t) for t in context.dirty}
        context.non_differentiable = context.dirty = ()
        if len(results) > 1:
            node.outs = tuple((raw(t).shape, t.kernels) for t in results)
        for i, t in enumerate(results):
            edge = node if len(results) == 1 else Port(node, i)
            if id(t) in dirty:
                rebind(t, edge)
            else:
                t.node, t.tracked = edge, True
        attach(node, 1, ())


def _returned_input(output: Any, args: tuple[Any, ...], context: Context) -> bool:
    """Whether forward returned an argument as it came; the result is then another Tensor."""
    return (
        isinstance(output, Tensor)
        and any(output is a for a in args)
        and not any(output is t for t in context.dirty)
    )
