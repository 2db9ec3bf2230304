"""`checkpoint`: forget what a function saved, and compute it again when backward needs it.

The function runs once, recorded as always, but every node's saved values are dropped. When the
first of them is needed, the function runs again from the same inputs and the same random state, and
the values of its k-th node serve the k-th node of the first run. So parameters captured by the
function get their gradients, and `create_graph` works, without a rule of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polygrad import random
from polygrad.autograd.recorders import BaseRecorder
from polygrad.config import enable_grad, grad_mode
from polygrad.errors import GradientError
from polygrad.tape import Node, Packed
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.tree import tree_map

__all__ = ["checkpoint"]


class _Forget(BaseRecorder):
    """Drops what each node saved, to be asked of `replay`."""

    def __init__(self, replay: _Replay) -> None:
        super().__init__()
        self.replay, self.count = replay, 0

    def annotate(self, node: Node) -> None:
        """Forget the saved values of one node."""
        super().annotate(node)
        if node.saved:
            index, replay = self.count, self.replay
            node.saved = Packed(lambda: replay.saved(index))
        self.count += 1


class _Collect(BaseRecorder):
    """Keeps what each node saved, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[Any] = []

    def annotate(self, node: Node) -> None:
        """Keep the saved values of one node."""
        super().annotate(node)
        self.values.append(node.saved)


class _Frozen:
    """A Tensor argument as it was: array, Kernels, whether it was tracked."""

    __slots__ = ("array", "kernels", "tracked")

    def __init__(self, t: Tensor) -> None:
        self.array, self.kernels, self.tracked = raw(t), t.kernels, t.tracked

    def thaw(self) -> Tensor:
        """A leaf of the same value."""
        t = new_tensor(self.array, self.kernels)
        t.tracked = self.tracked
        return t


class _Replay:
    """Runs the function again, once, and hands out what its nodes save."""

    def __init__(
        self, function: Callable[..., Any], args: Any, kwargs: Any, preserve: bool
    ) -> None:
        self.function = function
        self.call = tree_map(lambda x: _Frozen(x) if isinstance(x, Tensor) else x, (args, kwargs))
        self.state = random.get_state() if preserve else None
        self.values: list[Any] | None = None
        self.left = 0

    def saved(self, index: int) -> Any:
        """What node `index` saved."""
        if self.values is None:
            self.values = self._run()
        try:
            value, self.values[index] = self.values[index], None
        except IndexError:
            value = None
        if all(v is None for v in self.values):
            self.values = None
        if value is None:
            raise GradientError(
                "the function did other operations when it was run again", "checkpoint",
                "it must depend on its arguments and on polygrad's random numbers only",
            )  # fmt: skip
        return value

    def _run(self) -> list[Any]:
        args, kwargs = tree_map(lambda x: x.thaw() if isinstance(x, _Frozen) else x, self.call)
        now = random.get_state() if self.state is not None else None
        if self.state is not None:
            random.set_state(self.state)
        try:
            with enable_grad(), _Collect() as collected:
                self.function(*args, **kwargs)
        finally:
            if now is not None:
                random.set_state(now)
        return collected.values


def checkpoint(
    function: Callable[..., Any], *args: Any, preserve_rng_state: bool = True, **kwargs: Any
) -> Any:
    """`function(*args, **kwargs)` without keeping its intermediate values: time for memory.

    Parameters
    ----------
    function
        Called now, and once more in each backward through its result. It must do the same both
        times.
    preserve_rng_state
        Replay polygrad's random numbers, so that dropout draws the same mask.

    Returns
    -------
    Whatever `function` returns.

    Raises
    ------
    GradientError
        In backward, if the second run did other operations than the first.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([0.0, 1.0], requires_grad=True)
    >>> pg.sum(pg.autograd.checkpoint(lambda t: pg.exp(pg.tanh(t)), x)).backward()
    >>> x.grad.shape
    (2,)
    """
    if not grad_mode.get():
        return function(*args, **kwargs)
    replay = _Replay(function, args, kwargs, preserve_rng_state)
    with _Forget(replay):
        return function(*args, **kwargs)
