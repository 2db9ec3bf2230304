"""Derivatives of functions: vjp, jvp, jacobian, hessian, hvp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygrad.config import enable_grad
from polygrad.errors import InvalidTypeError, ShapeError
from polygrad.gradients import grad
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import stack
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import clone, detach

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vjp"]

Pair = tuple[Any, Any]


def _tuple(value: Any, where: str) -> tuple[tuple[Tensor, ...], bool]:
    """One Tensor or a tuple of them, and whether it was one."""
    single = isinstance(value, Tensor)
    found = (value,) if single else tuple(value)
    for t in found:
        if not isinstance(t, Tensor):
            raise InvalidTypeError(
                f"expected Tensors, got {type(t).__name__}", where, "use pg.asarray"
            )
    return found, single


def _leaves(inputs: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    """Inputs to differentiate at: fresh leaves, or, with `create_graph`, tensors that lead back."""
    if create_graph:
        return tuple(
            clone.call(x) if x.requires_grad else detach(x).requires_grad_() for x in inputs
        )
    return tuple(detach(x).requires_grad_() for x in inputs)


def _call(function: Callable[..., Any], xs: tuple[Tensor, ...], where: str) -> Pair:
    with enable_grad():
        return _tuple(function(*xs), f"{where}, the result of the function")


def _plain(ts: tuple[Any, ...], single: bool, create_graph: bool) -> Any:
    done = ts if create_graph else tuple(detach(t) for t in ts)
    return done[0] if single else tuple(done)


def _weights(outputs: tuple[Tensor, ...], v: Any, where: str) -> tuple[Tensor, ...]:
    """The vector as a tuple, checked against the tensors it goes with."""
    if v is None:
        if len(outputs) == 1 and outputs[0].size == 1:
            return (new_tensor(outputs[0].kernels.ones(outputs[0].shape), outputs[0].kernels),)
        raise ShapeError(
            "a vector is implied only for one output of one element", f"{where}, argument v"
        )
    found, _ = _tuple(v, f"{where}, argument v")
    if len(found) != len(outputs) or any(
        a.shape != b.shape for a, b in zip(found, outputs, strict=False)
    ):
        raise ShapeError(
            f"v has shapes {[t.shape for t in found]}, expected {[t.shape for t in outputs]}",
            f"{where}, argument v", "one tensor for each, of the same shape",
        )  # fmt: skip
    return found


def vjp(
    function: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False
) -> Pair:
    """(function(*inputs), v^T J): the product of a vector with the Jacobian.

    Parameters
    ----------
    function
        Takes Tensors, returns a Tensor or a tuple of them.
    inputs
        A Tensor or a tuple of them; their values are used, not their history, unless
        `create_graph`.
    v
        One tensor for each output, of its shape; may be left out for one output of one element.
    create_graph
        Record, so that the result can be differentiated.
    """
    ins, single = _tuple(inputs, "vjp, argument inputs")
    xs = _leaves(ins, create_graph)
    outputs, single_out = _call(function, xs, "vjp")
    weights = _weights(outputs, v, "vjp")
    pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
    if pairs:
        found: Any = grad([o for o, _ in pairs], xs, [w for _, w in pairs],
                          create_graph=create_graph, materialize_grads=True)  # fmt: skip
    else:
        found = tuple(new_tensor(x.kernels.zeros(x.shape), x.kernels) for x in xs)
    return _plain(outputs, single_out, create_graph), _plain(found, single, create_graph)


def jvp(function: Callable[..., Any], inputs: Any, v: Any, create_graph: bool = False) -> Pair:
    """(function(*inputs), J v): the derivative along v.

    The transpose of the transpose: v^T J is linear in its vector, and is differentiated by it.

    Parameters
    ----------
    function, inputs, create_graph
        As in `vjp`.
    v
        One tensor for each input, of its shape.
    """
    ins, _ = _tuple(inputs, "jvp, argument inputs")
    xs = _leaves(ins, create_graph)
    outputs, single_out = _call(function, xs, "jvp")
    directions = _weights(ins, v, "jvp")
    probes = tuple(
        new_tensor(o.kernels.zeros(o.shape), o.kernels).requires_grad_() for o in outputs
    )
    pairs = [(o, p) for o, p in zip(outputs, probes, strict=True) if o.requires_grad]
    zeros = {id(p): new_tensor(p.kernels.zeros(p.shape), p.kernels) for p in probes}
    found: list[Any] = [zeros[id(p)] for p in probes]
    if pairs:
        pulled: Any = grad([o for o, _ in pairs], xs, [p for _, p in pairs],
                           create_graph=True, materialize_grads=True)  # fmt: skip
        linear = [(g, w) for g, w in zip(pulled, directions, strict=True) if g.requires_grad]
        if linear:
            found = list(grad([g for g, _ in linear], probes, [w for _, w in linear],
                              create_graph=create_graph, materialize_grads=True))  # fmt: skip
    return _plain(outputs, single_out, create_graph), _plain(tuple(found), single_out, create_graph)


def _rows(output: Tensor, xs: tuple[Tensor, ...], create_graph: bool) -> list[Tensor]:
    """The Jacobian of one output: for each x, shape output.shape + x.shape."""
    k = output.kernels
    count = output.size
    rows: list[list[Tensor]] = [[] for _ in xs]
    for i in range(count):
        unit = k.backend.set_at(k.zeros((count,)), (i,), 1)
        weight = new_tensor(k.reshape(unit, shape=raw(output).shape), k)
        found: Any = grad([output], xs, [weight], retain_graph=True, create_graph=create_graph,
                          materialize_grads=True)  # fmt: skip
        for row, g in zip(rows, found, strict=True):
            row.append(g)
    return [
        reshape(stack(row), output.shape + x.shape) if count
        else new_tensor(x.kernels.zeros(output.shape + x.shape), x.kernels)
        for row, x in zip(rows, xs, strict=True)
    ]  # fmt: skip


def jacobian(function: Callable[..., Any], inputs: Any, create_graph: bool = False) -> Any:
    """The Jacobian of a function, row by row.

    Parameters
    ----------
    function, inputs, create_graph
        As in `vjp`.

    Returns
    -------
    Tensor or nested tuples
        For one output and one input a Tensor of shape output.shape + input.shape; a tuple over the
        inputs if they were a tuple, within a tuple over the outputs if the function returned one.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.autograd.jacobian(lambda x: x * x, pg.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]], dtype=float32)
    """
    ins, single = _tuple(inputs, "jacobian, argument inputs")
    xs = _leaves(ins, create_graph)
    outputs, single_out = _call(function, xs, "jacobian")
    made = []
    for o in outputs:
        if o.requires_grad:
            row = tuple(_rows(o, xs, create_graph))
        else:
            row = tuple(new_tensor(x.kernels.zeros(o.shape + x.shape), x.kernels) for x in xs)
        made.append(_plain(row, single, create_graph))
    return made[0] if single_out else tuple(made)


def hessian(function: Callable[..., Any], inputs: Any, create_graph: bool = False) -> Any:
    """The matrix of second derivatives of a function with one output of one element.

    Returns
    -------
    Tensor or tuple of tuples
        For one input of shape s, a Tensor of shape s + s; for a tuple, all blocks.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.autograd.hessian(lambda x: pg.sum(x * x * x), pg.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]], dtype=float32)
    """
    _, single = _tuple(inputs, "hessian, argument inputs")

    def gradient(*xs: Tensor) -> Any:
        _, g = vjp(function, xs, create_graph=True)
        return g[0] if single else g

    return jacobian(gradient, inputs, create_graph)


def hvp(function: Callable[..., Any], inputs: Any, v: Any, create_graph: bool = False) -> Pair:
    """(function(*inputs), H v): the Hessian of a scalar function times a vector.

    Parameters
    ----------
    function, inputs, create_graph
        As in `vjp`; the function has one output of one element.
    v
        One tensor for each input, of its shape.
    """
    ins, single = _tuple(inputs, "hvp, argument inputs")

    def gradient(*xs: Tensor) -> Any:
        _, g = vjp(function, xs, create_graph=True)
        return g[0] if single else g

    xs = ins[0] if single else ins
    value = function(*ins)
    directions = _weights(ins, v, "hvp")
    _, product = vjp(gradient, xs, directions[0] if single else directions, create_graph)
    return (value if create_graph else detach(value)), product
