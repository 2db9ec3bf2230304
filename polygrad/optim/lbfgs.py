"""L-BFGS: Newton's method with an inverse Hessian made of the last steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.config import enable_grad
from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.optim.algorithms import Parameters
from polygrad.optim.arguments import at_least, counts, rate_of
from polygrad.optim.flat import Flat
from polygrad.optim.line_search import Point, strong_wolfe
from polygrad.optim.optimizer import Group, Optimizer
from polygrad.tensor import Tensor, on_host

__all__ = ["LBFGS"]

Closure = Callable[[], Any]
_LEAST_CURVATURE = 1e-10  # of a step that is remembered


class LBFGS(Optimizer):
    """L-BFGS, for losses without noise: `step(closure)` makes up to `max_iter` iterations.

    Parameters
    ----------
    params
        As for `Optimizer`; one group, on one device.
    lr
        The step length, or the first one that the line search tries.
    max_iter
        Iterations in a step, at most.
    max_eval
        Evaluations of the closure in a step, after which no iteration begins; `max_iter * 5 // 4`
        if None.
    tolerance_grad
        A step ends when no gradient is larger.
    tolerance_change
        A step ends when no parameter moves by more, or the loss changes by less.
    history_size
        How many iterations are remembered.
    line_search_fn
        "strong_wolfe", or None: steps of length `lr`.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        An option out of its domain, named; more than one group.

    Notes
    -----
    The state is that of the first parameter; complex parameters count as pairs of real ones.
    Source: Liu and Nocedal (1989).

    >>> import polygrad as pg
    >>> p = pg.nn.Parameter(pg.tensor([3.0, -2.0], dtype=pg.float64))
    >>> optimizer = pg.optim.LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = pg.sum((p - 1) ** 2)
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> p.detach()
    tensor([1., 1.], dtype=float64)
    """

    elementwise = False

    def __init__(
        self,
        params: Parameters,
        lr: float = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        counts("LBFGS", 1, max_iter=max_iter)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options; one group only."""
        if self.param_groups and group["params"] is not self.param_groups[0]["params"]:
            raise InvalidArgumentError(
                "LBFGS takes one group of parameters", "LBFGS, argument params",
                "pass all parameters in one list; they share one step length",
            )  # fmt: skip
        options = ("lr", "tolerance_grad", "tolerance_change")
        at_least("LBFGS", 0.0, **{k: group[k] for k in options})
        counts("LBFGS", 1, **{k: group[k] for k in ("max_iter", "max_eval", "history_size")})
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise InvalidArgumentError(
                f"line_search_fn is {group['line_search_fn']!r}", "LBFGS, argument line_search_fn",
                "pass 'strong_wolfe' or None",
            )  # fmt: skip

    def begin(self, group: Group) -> dict[str, float]:
        """No numbers of single parameters."""
        del group
        return {}

    def slots(self, group: Group) -> tuple[str, ...]:
        """No arrays of single parameters."""
        del group
        return ()

    def update(self, closure: Closure | None) -> Any:
        """Iterate; returns the loss before the first iteration.

        If the closure raises, parameters and state are as before the step.
        """
        if not callable(closure):
            raise InvalidTypeError(
                f"LBFGS evaluates the loss itself, but the closure is {closure!r}", "LBFGS.step",
                "pass a function that calls zero_grad() and backward(), and returns the loss",
            )  # fmt: skip
        group = self.param_groups[0]
        flat = Flat(group["params"], "LBFGS.step")
        memory = _Memory(flat, self.state.get(flat.params[0], {}))
        evaluate = _Evaluation(flat, closure)
        point = evaluate()
        first = evaluate.loss
        if not flat.largest(point.gradient) <= group["tolerance_grad"]:
            start = flat.values()
            try:
                _iterate(flat, memory, evaluate, point, group)
            except BaseException:
                flat.scatter(start)
                raise
        memory.func_evals += evaluate.count
        memory.write()
        self.state[flat.params[0]] = memory.state
        return first


class _Evaluation:
    """The closure, counted; `loss` is what it returned last."""

    def __init__(self, flat: Flat, closure: Closure) -> None:
        self.flat, self.closure, self.count = flat, closure, 0
        self.loss: Any = None

    def __call__(self, t: float = 0.0, direction: Any = None) -> Point:
        """Loss and gradient where the parameters are; the slope if a direction is given."""
        with enable_grad():
            self.loss = loss = self.closure()
        self.count += 1
        number = np.asarray(on_host(loss) if isinstance(loss, Tensor) else loss)
        if isinstance(loss, Tensor):  # of bfloat16 NumPy does not know that it is real
            real = loss.kernels.kind in (dtypes.INTEGER, dtypes.REAL)
        else:
            real = number.dtype.kind in "fiu"
        if number.size != 1 or not real:
            shape = f" of shape {number.shape}" if number.ndim else ""
            raise InvalidTypeError(
                f"the closure returned a {type(loss).__name__}{shape}", "LBFGS.step",
                "return the loss, a real tensor of one element",
            )  # fmt: skip
        gradient = self.flat.gradient()
        slope = 0.0 if direction is None else self.flat.dot(gradient, direction)
        return Point(t, float(number.item()), gradient, slope)


class _Memory:
    """What is known between iterations, under the names that it is saved by."""

    def __init__(self, flat: Flat, state: dict[str, Any]) -> None:
        self.flat, self.state = flat, state
        get, array = state.get, flat.array
        self.func_evals, self.n_iter = int(get("func_evals", 0)), int(get("n_iter", 0))
        self.d, self.t = array(get("d")), float(get("t", 1.0))
        self.old_dirs, self.old_stps, self.ro = (
            [array(value) for value in get(name) or ()] for name in ("old_dirs", "old_stps", "ro")
        )
        self.H_diag = array(get("H_diag", 1.0))
        self.prev_flat_grad, self.prev_loss = array(get("prev_flat_grad")), get("prev_loss")

    def turn(self, gradient: Any, history_size: int) -> None:
        """Learn from the step before, and find the next direction."""
        if self.n_iter == 1:
            with self.flat.here():
                self.d = -gradient
            self.old_dirs, self.old_stps, self.ro, self.H_diag = [], [], [], 1.0
            return
        flat = self.flat
        with flat.here():
            change, step = gradient - self.prev_flat_grad, self.d * self.t
            curvature = change @ step
            if flat.kernels.backend.item(curvature) > _LEAST_CURVATURE:
                keep = slice(max(0, len(self.ro) - history_size + 1), None)
                self.old_dirs = [*self.old_dirs[keep], change]
                self.old_stps = [*self.old_stps[keep], step]
                self.ro = [*self.ro[keep], 1.0 / curvature]
                self.H_diag = curvature / (change @ change)
        with flat.here():
            self.d = flat.kernels.lbfgs_direction(
                gradient, self.old_dirs, self.old_stps, self.ro, self.H_diag
            )

    def write(self) -> None:
        """Into the state of the optimiser; nothing but counts before the first iteration."""
        tensor = self.flat.tensor
        self.state.update(func_evals=self.func_evals, n_iter=self.n_iter)
        if self.d is None:
            return
        scale = self.H_diag
        self.state.update(
            d=tensor(self.d), t=self.t, old_dirs=list(map(tensor, self.old_dirs)),
            old_stps=list(map(tensor, self.old_stps)), ro=list(map(tensor, self.ro)),
            H_diag=scale if type(scale) in (int, float) else tensor(scale),
            prev_flat_grad=tensor(self.prev_flat_grad), prev_loss=self.prev_loss,
        )  # fmt: skip


def _iterate(
    flat: Flat, memory: _Memory, evaluate: _Evaluation, point: Point, group: Group
) -> None:
    """The iterations of one step."""
    rate, least_change = rate_of(group), group["tolerance_change"]
    for iteration in range(1, group["max_iter"] + 1):
        last = iteration == group["max_iter"]
        memory.n_iter += 1
        memory.turn(point.gradient, group["history_size"])
        memory.prev_flat_grad, memory.prev_loss = point.gradient, point.loss
        memory.t = rate
        if memory.n_iter == 1:
            with flat.here():
                k = flat.kernels
                total = k.backend.item(k.xp.sum(k.xp.abs(point.gradient)))
            memory.t = min(1.0, 1.0 / total) * rate
        slope = flat.dot(point.gradient, memory.d)
        if slope > -least_change:
            break
        start = point._replace(t=0.0, slope=slope)
        if group["line_search_fn"] is not None:
            point = _search(flat, memory, evaluate, start, group)
        else:
            flat.scatter(flat.along(flat.values(), memory.t, memory.d))
            # after the last iteration nobody asks for the loss, and with noise it says nothing
            point = start if last else evaluate()
        moved = abs(memory.t) * flat.largest(memory.d)
        if (
            last
            or evaluate.count >= group["max_eval"]
            or flat.largest(point.gradient) <= group["tolerance_grad"]
            or moved <= least_change
            or abs(point.loss - memory.prev_loss) < least_change
        ):
            break


def _search(
    flat: Flat, memory: _Memory, evaluate: _Evaluation, start: Point, group: Group
) -> Point:
    """Go to where the line search ends."""
    x, direction = flat.values(), memory.d

    def at(t: float) -> Point:
        flat.scatter(flat.along(x, t, direction))
        return evaluate(t, direction)

    largest = flat.largest(direction)
    shortest = group["tolerance_change"] / largest if largest else 0.0
    point, _ = strong_wolfe(at, start, memory.t, group["max_eval"] - evaluate.count, shortest)
    memory.t = point.t
    flat.scatter(flat.along(x, point.t, direction))
    return point
