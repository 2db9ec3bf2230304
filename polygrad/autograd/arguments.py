"""A function at a point: its arguments and results as trees, and what is checked of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from polygrad.config import enable_grad
from polygrad.errors import DtypeError, GradientError, InvalidTypeError, ShapeError
from polygrad.tensor import Tensor, new_tensor
from polygrad.tree import flatten
from polygrad.views import clone, detach

__all__ = ["Evaluation", "vector", "zeros_like"]


def zeros_like(t: Tensor) -> Tensor:
    """A constant of the shape, dtype and device of `t`."""
    return new_tensor(t.kernels.zeros(t.shape), t.kernels)


class Evaluation:
    """What a function returns for fresh leaves with the values of `inputs`.

    Attributes
    ----------
    xs
        The leaves; with `create_graph` tensors that lead back to those that require grad.
    outputs
        The tensors of the result.
    where
        The name of the caller, for errors.

    Raises
    ------
    InvalidTypeError
        `inputs` is no Tensor, tuple or list; it, or the result, holds something that is no Tensor.
    DtypeError
        An input is not floating or complex.
    """

    def __init__(
        self, function: Callable[..., Any], inputs: Any, where: str, *, create_graph: bool
    ) -> None:
        self.where, self.create_graph = where, create_graph
        self.single = isinstance(inputs, Tensor)
        if not isinstance(inputs, (Tensor, tuple, list)):
            raise InvalidTypeError(
                f"inputs is a {type(inputs).__name__}", f"{where}, argument inputs",
                "pass a Tensor, or a tuple of the function's arguments",
            )  # fmt: skip
        found, self._rebuild = flatten((inputs,) if self.single else inputs)
        with enable_grad():
            self.xs = [self._leaf(x) for x in found]
            made = function(*self._rebuild(list(self.xs)))
        self.outputs, self._rebuild_outputs = flatten(made)
        for o in self.outputs:
            if not isinstance(o, Tensor):
                raise InvalidTypeError(
                    f"the function returned a {type(o).__name__}", where,
                    "return a Tensor, or a tuple, list or dictionary of Tensors",
                )  # fmt: skip

    def _leaf(self, x: Any) -> Tensor:
        """A tensor to differentiate by, with the value of an input."""
        if not isinstance(x, Tensor):
            raise InvalidTypeError(
                f"a {type(x).__name__} among the inputs", f"{self.where}, argument inputs",
                "pass Tensors; wrap the function so that it knows its other arguments",
            )  # fmt: skip
        if not x.kernels.inexact:
            raise DtypeError(
                f"an input of dtype {x.dtype} has no derivative", f"{self.where}, argument inputs",
                "convert it with .to(pg.float64), or let the function know it",
            )  # fmt: skip
        if self.create_graph and x.requires_grad:
            return clone.call(x)  # type: ignore[no-any-return]
        return detach(x).requires_grad_()

    # ---- results --------------------------------------------------------------------------------
    def like_inputs(self, values: Sequence[Any]) -> Any:
        """Values in the places of the inputs."""
        made = self._rebuild(list(values))
        return made[0] if self.single else made

    def like_outputs(self, values: Sequence[Any]) -> Any:
        """Values in the places of the outputs."""
        return self._rebuild_outputs(list(values))

    def finished(self, found: Sequence[Tensor]) -> list[Tensor]:
        """Results without a history, unless one was asked for."""
        return list(found) if self.create_graph else [detach(t) for t in found]

    def value(self) -> Any:
        """What the function returned."""
        return self.like_outputs(self.finished(self.outputs))

    # ---- checks ---------------------------------------------------------------------------------
    def check_dependent(self) -> None:
        """For strict: every output depends on some input."""
        for i, o in enumerate(self.outputs):
            if not o.requires_grad:
                raise GradientError(
                    f"output {i} does not depend on any input", f"{self.where}, strict=True",
                    "leave it out of the result, or pass strict=False for zeros",
                )  # fmt: skip

    def check_used(self, found: Sequence[Tensor | None], what: str = "the outputs do") -> None:
        """For strict: each input has a derivative, and one that varies if a graph is wanted."""
        for i, g in enumerate(found):
            if g is None or (self.create_graph and not g.requires_grad):
                how = "" if g is None else ": their derivative is constant"
                raise GradientError(
                    f"{what} not depend on input {i}{how}", f"{self.where}, strict=True",
                    "leave the input out, or pass strict=False for zeros",
                )  # fmt: skip

    def check_scalar(self) -> None:
        """One output of one real element."""
        if len(self.outputs) != 1 or self.outputs[0].size != 1:
            raise ShapeError(
                f"the function returns {[o.shape for o in self.outputs]}, not one element",
                self.where, "reduce its result with pg.sum, or take its jacobian",
            )  # fmt: skip
        if self.outputs[0].kernels.is_complex:
            raise DtypeError(
                "the function returns a complex number", self.where, "take pg.real or pg.imag of it"
            )


def vector(given: Any, like: Sequence[Tensor], where: str) -> list[Tensor]:
    """The tensors of a vector, one for each of `like`; of one real element, 1 is implied.

    Raises
    ------
    ShapeError, InvalidTypeError
        The vector is missing; its tensors are not as many, or not of the same shapes.
    """
    if given is None:
        if len(like) == 1 and like[0].size == 1 and not like[0].kernels.is_complex:
            return [new_tensor(like[0].kernels.ones(like[0].shape), like[0].kernels)]
        raise ShapeError(
            "a vector is implied only for one real tensor of one element", f"{where}, argument v",
            f"pass v, of shapes {[t.shape for t in like]}",
        )  # fmt: skip
    found, _ = flatten(given)
    for t in found:
        if not isinstance(t, Tensor):
            raise InvalidTypeError(
                f"a {type(t).__name__} in the vector", f"{where}, argument v", "use pg.asarray"
            )
    if [t.shape for t in found] != [t.shape for t in like]:
        raise ShapeError(
            f"v has shapes {[t.shape for t in found]}, expected {[t.shape for t in like]}",
            f"{where}, argument v", "one tensor for each, of the same shape",
        )  # fmt: skip
    return found
