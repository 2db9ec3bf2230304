"""`backward` and `grad`: the two ways to run the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polygrad.engine import accumulate, run
from polygrad.errors import DeviceMismatchError, GradientError, InvalidTypeError, ShapeError
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.writes import RetainGrad

__all__ = ["backward", "backward_method", "grad", "retain_grad"]

Tensors = Tensor | Sequence[Tensor]


def _listed(value: Any, where: str, optional: bool = False) -> list[Any]:
    """One Tensor or a sequence of them, as a list."""
    if isinstance(value, Tensor):
        return [value]
    if not isinstance(value, Sequence) and not hasattr(value, "__iter__"):
        raise InvalidTypeError(
            f"expected a Tensor or a sequence of Tensors, got {type(value).__name__}", where
        )
    found = list(value)
    for t in found:
        if not isinstance(t, Tensor) and not (optional and t is None):
            raise InvalidTypeError(
                f"expected Tensors, got {type(t).__name__} among them",
                where,
                "wrap it: pg.asarray(...)",
            )
    return found


def _cotangents(outputs: list[Tensor], given: Any, where: str, create_graph: bool) -> list[Any]:
    """The weight of each output: ones for real scalars, else what was given, checked."""
    if given is None:
        weights: list[Tensor | None] = [None] * len(outputs)
    else:
        weights = _listed(given, f"{where}, the gradients of the outputs", optional=True)
    if len(weights) != len(outputs):
        raise ShapeError(
            f"{len(outputs)} outputs, but {len(weights)} gradients for them", where,
            "give one gradient for each output; None for a real scalar",
        )  # fmt: skip
    return [_cotangent(t, g, where, create_graph) for t, g in zip(outputs, weights, strict=True)]


def _check_tracked(t: Tensor, where: str) -> None:
    if not t.requires_grad:
        raise GradientError(
            "the output does not require grad and has no graph",
            f"{where}, output of shape {t.shape}",
            "make an input with requires_grad=True, and compute outside no_grad()",
        )  # fmt: skip


def _cotangent(t: Tensor, g: Tensor | None, where: str, create_graph: bool) -> Any:
    _check_tracked(t, where)
    k = t.kernels
    if g is None:
        if t.size != 1 or k.is_complex:
            raise GradientError(
                "a gradient is implied only for a real output of one element",
                f"{where}, output of shape {t.shape} and dtype {t.dtype}",
                "reduce it (pg.sum, pg.real), or pass the gradient of the output",
            )
        ones = k.ones(raw(t).shape)
        return new_tensor(ones, k) if create_graph else ones
    g = _fitted(t, g, g.shape, where)
    return g if create_graph else raw(g)


def _fitted(t: Tensor, g: Tensor, shape: tuple[int, ...], where: str) -> Tensor:
    """A gradient, or rows of gradients of `shape`, in the dtype of its output."""
    k = t.kernels
    if shape != t.shape:
        raise ShapeError(
            f"the gradient has shape {shape}, the output {t.shape}", where, "they must be equal"
        )
    if g.device != t.device:
        raise DeviceMismatchError(
            f"the gradient is on {g.device}, the output on {t.device}", where,
            f'move it: g.to("{t.device}")',
        )  # fmt: skip
    return g if g.kernels is k else g.to(k.dtype)


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs`, each weighted, with respect to `inputs`.

    Nothing is written to any `.grad`.

    Parameters
    ----------
    outputs, inputs
        A Tensor or a sequence of them. Inputs may be leaves or intermediate tensors.
    grad_outputs
        The weight (cotangent) of each output, of its shape; None for real scalars means one.
    retain_graph
        Keep the saved values for another backward; default: the value of `create_graph`.
    create_graph
        Record the computation of the gradients, so that they can be differentiated again.
    allow_unused
        Give None for inputs that no output depends on, instead of an error; by default the value
        of `materialize_grads`.
    is_grads_batched
        Each of `grad_outputs` has one more axis in front: so many weights, in one backward, which
        needs memory for as many cotangents. The gradients then have that axis too.
    materialize_grads
        Give zeros for such inputs.

    Returns
    -------
    tuple of Tensor or None
        One for each input, of its shape (behind the axis of the batch), dtype and device.

    Raises
    ------
    GradientError
        An output has no graph; an input does not require grad, or is unused; the graph was freed.
    ShapeError
        A weight has another shape than its output.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor(3.0, requires_grad=True)
    >>> pg.autograd.grad(x * x, [x])
    (tensor(6., dtype=float32),)
    """
    outs = _listed(outputs, "grad, argument outputs")
    ins = _listed(inputs, "grad, argument inputs")
    for x in ins:
        if not x.requires_grad:
            raise GradientError(
                "an input does not require grad", f"grad, input of shape {x.shape}",
                "call requires_grad_() on it before computing the outputs",
            )  # fmt: skip
    retain = create_graph if retain_graph is None else retain_graph
    unused_allowed = materialize_grads if allow_unused is None else allow_unused
    lead: tuple[int, ...] = ()
    if is_grads_batched:
        found, lead = _run_batched(outs, grad_outputs, ins, retain, create_graph)
    else:
        weights = _cotangents(outs, grad_outputs, "grad", create_graph)
        found = run(outs, weights, inputs=ins, retain_graph=retain, create_graph=create_graph)
    for i, (x, g) in enumerate(zip(ins, found, strict=True)):
        if g is not None:
            continue
        if not unused_allowed and not materialize_grads:
            raise GradientError(
                f"the outputs do not depend on input {i}", f"grad, input of shape {x.shape}",
                "pass allow_unused=True for None, or materialize_grads=True for zeros",
            )  # fmt: skip
        if materialize_grads:
            found[i] = new_tensor(x.kernels.zeros((*lead, *raw(x).shape)), x.kernels)
    return tuple(found)


def _run_batched(
    outs: list[Tensor], given: Any, ins: list[Tensor], retain: bool, create_graph: bool
) -> tuple[list[Any], tuple[int, ...]]:
    """The gradients for each row of the weights, and how many rows there are, as a shape."""
    from polygrad.batching import BatchedSweep, rows_of, unrolled  # noqa: PLC0415  rarely used

    where = "grad, the gradients of the outputs, with is_grads_batched"
    weights = _listed(() if given is None else given, where)
    counts = {w.shape[0] if w.ndim else -1 for w in weights}
    if len(weights) != len(outs) or len(counts) != 1 or -1 in counts:
        raise ShapeError(
            f"{len(outs)} outputs, and gradients for them of shapes {[w.shape for w in weights]}",
            where, "give one for each output, all with the same number of rows along a first axis",
        )  # fmt: skip
    (count,) = counts
    rows = []
    for t, w in zip(outs, weights, strict=True):
        _check_tracked(t, where)
        rows.append(rows_of(_fitted(t, w, w.shape[1:], where)))
    found = run(outs, rows, inputs=ins, retain_graph=retain, create_graph=create_graph,
                sweep=BatchedSweep)  # fmt: skip
    return [None if g is None else unrolled(g, count, create_graph) for g in found], (count,)


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradients of the sum of `tensors` to the `.grad` of every leaf they depend on.

    Parameters
    ----------
    tensors, grad_tensors, retain_graph, create_graph
        As `outputs`, `grad_outputs`, … of `grad`.
    inputs
        Only these tensors accumulate; they may be intermediate ones.

    Raises
    ------
    GradientError, ShapeError
        As `grad`.
    """
    outs = _listed(tensors, "backward, argument tensors")
    weights = _cotangents(outs, grad_tensors, "backward", create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run(outs, weights, retain_graph=retain, create_graph=create_graph)
        return
    ins = _listed(inputs, "backward, argument inputs")
    if not ins:
        raise GradientError(
            "inputs is empty", "backward, argument inputs", "leave it out for all leaves"
        )
    found = run(outs, weights, inputs=ins, retain_graph=retain, create_graph=create_graph)
    for x, g in zip(ins, found, strict=True):
        if g is not None:
            accumulate(x, g, create_graph=create_graph)


def backward_method(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Tensors | None = None,
) -> None:
    """Add the gradient of this tensor, weighted by `gradient`, to the `.grad` of its leaves.

    Parameters
    ----------
    gradient
        The weight, of this tensor's shape; not needed for a real tensor of one element.
    retain_graph, create_graph, inputs
        As in `polygrad.autograd.backward`.
    """
    if gradient is inputs is None:  # the usual one, in which every call counts
        run([self], [_cotangent(self, None, "backward", create_graph)],
            retain_graph=create_graph if retain_graph is None else retain_graph,
            create_graph=create_graph)  # fmt: skip
        return
    backward(self, None if gradient is None else [gradient], retain_graph, create_graph, inputs)


def retain_grad(self: Tensor) -> None:
    """Let backward write `.grad` of this tensor too, though it is no leaf. It follows writes.

    Raises
    ------
    GradientError
        The tensor does not require grad.
    """
    if not self.requires_grad:
        raise GradientError(
            "retain_grad needs a tensor that requires grad", f"tensor of shape {self.shape}"
        )
    if self.is_leaf or retains_grad(self):
        return
    self.register_hook(RetainGrad(self))


def retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` is in force."""
    node = self.grad_fn
    return node is not None and any(
        isinstance(h.function, RetainGrad) and h.function.target() is self for h in node.hooks or ()
    )
