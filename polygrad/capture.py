"""CUDA graphs: a step is submitted once, recorded by the device, and submitted again as a whole.

Note [State in a graph]
-----------------------
A recorded operation reads and writes the memory that it read and wrote when it was recorded. But
polygrad rebinds: a step of an optimiser gives a parameter a new array. Submitted again, the step
would read the parameter of the first time. So the recording ends with copies of every new value
into the memory that the step began with, and the tensors get that memory back: each replay begins
where the one before has ended. What is state has to be known: the parameters, buffers and gradients
of the modules, and the parameters and state of the optimisers, that `cuda_graph` is given.

Numbers of Python's are part of the recorded operations; but those of an optimiser, which change
from step to step, are written anew before each replay: Note [Numbers of a replay]. Random numbers
are not, and are refused. Index ranges are checked in the warm-up only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from polygrad import random
from polygrad.calls import describe
from polygrad.errors import (
    DeviceMismatchError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
)
from polygrad.nn.module import Module
from polygrad.optim.bucket import Bucket
from polygrad.optim.optimizer import Optimizer
from polygrad.optim.recorded import RecordedUpdate, refuse_changing
from polygrad.registry import find_backend
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.tree import tree_map

__all__ = ["Graph", "cuda_graph"]


def cuda_graph(
    step: Callable[..., Any],
    inputs: Sequence[Tensor],
    *,
    modules: Iterable[Module] = (),
    optimizers: Iterable[Optimizer] = (),
    warmup: int = 3,
) -> Graph:
    """Record `step` as a CUDA graph: a callable that does the same with one launch.

    For steps of many small operations, whose time goes into submitting them. The step is called
    `warmup` times, and a last time while its operations are recorded and not run, so that the
    states of modules and optimisers move on by `warmup` steps.

    Parameters
    ----------
    step
        A function of the inputs: zero_grad, forward, backward, optimizer.step(); or a part of it.
        Its shapes must be the same each time, and nothing in it may look at values (`item`,
        `if loss > 1`), draw random numbers (dropout), or copy from or to the host. It returns
        Tensors in any structure, or None.
    inputs
        Tensors of one CUDA device. Calls of the graph copy theirs into memory of its own.
    modules, optimizers
        Everything that the step changes beside what it returns: see Note [State in a graph].
        Of the optimisers all but Adafactor and LBFGS: with those, record forward and backward,
        and call `step()` outside.
    warmup
        How often the step is called as it is; at least 2.

    Returns
    -------
    Graph
        Call it with inputs like the first. What it returns are always the same Tensors, whose
        values the next call overwrites, as it does those of the state: `clone()` what shall last,
        and save a `state_dict()` before the next call. The options of the optimisers are those of
        each call, the learning rate of a schedule among them (Muon's are those that were recorded,
        and a call after a change is refused); other Python numbers are those that were recorded.
        What is loaded into modules or optimisers after the recording it does not see.

    Raises
    ------
    UnsupportedOperationError
        The device is no CUDA device. CuPy has no graphs on ROCm.
    InvalidArgumentError
        The step does what a graph cannot repeat.
    DeviceMismatchError, InvalidTypeError
        The inputs or the state are not Tensors of one device.
    """
    return Graph(step, list(inputs), list(modules), list(optimizers), warmup)


class Graph:
    """A recorded step: see `cuda_graph`.

    Attributes
    ----------
    device
        Where it runs.
    inputs
        The Tensors that each call's inputs are copied into.
    outputs
        What each call returns.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        inputs: list[Any],
        modules: list[Module],
        optimizers: list[Optimizer],
        warmup: int,
    ) -> None:
        if not inputs or not all(isinstance(x, Tensor) for x in inputs):
            raise InvalidTypeError(
                f"the inputs are {inputs!r}", "cuda_graph, argument inputs",
                "pass a list of one or more Tensors of a CUDA device",
            )  # fmt: skip
        if warmup < 2:
            raise InvalidArgumentError(
                f"warmup is {warmup!r}", "cuda_graph, argument warmup",
                "two steps at least have to run before one is recorded",
            )  # fmt: skip
        self.device = inputs[0].device
        self._backend = find_backend(self.device.kind)
        recording = self._backend.recording(self.device)  # raises where there are no graphs
        for optimizer in optimizers:
            if not optimizer.elementwise:  # no kernel takes its numbers from memory
                refuse_changing(optimizer)
        self._optimizers = optimizers
        self._updates: list[RecordedUpdate] = []
        params = [p for o in optimizers for g in o.param_groups for p in g["params"]]
        found = [*(t for m in modules for t in (*m.parameters(), *m.buffers())), *params]
        self._tensors = list({id(t): t for t in found}.values())
        self._check([*inputs, *self._tensors])
        self.inputs = [new_tensor(x.kernels.copy(raw(x)), x.kernels) for x in inputs]
        _warm_up(step, self.inputs, warmup)
        with self._guard():
            homes = self._settle()
            with self._counting(), recording as self._recording:
                made = step(*self.inputs)
                self._return(homes)
        self.outputs = tree_map(
            lambda t: new_tensor(raw(t), t.kernels) if isinstance(t, Tensor) else t, made
        )

    def __call__(self, *inputs: Any) -> Any:
        """The recorded step on other inputs; returns `outputs`.

        Raises
        ------
        InvalidArgumentError, ShapeError
            The inputs differ from those at the recording in number, shape, dtype or device.
        """
        if len(inputs) != len(self.inputs):
            raise InvalidArgumentError(
                f"{len(inputs)} inputs, {len(self.inputs)} were recorded", "a CUDA graph",
                "pass as many as it was made with",
            )  # fmt: skip
        for x, home in zip(inputs, self.inputs, strict=True):
            if not isinstance(x, Tensor) or x.kernels is not home.kernels or x.shape != home.shape:
                raise ShapeError(
                    f"an input is {describe([x])[1:-1]}, not {describe([home])[1:-1]}",
                    "a CUDA graph", "pass inputs like those that it was made with",
                )  # fmt: skip
        with self._guard():
            for x, home in zip(inputs, self.inputs, strict=True):
                if x is not home:
                    self._recording.write(raw(home), raw(x))
            for update in self._updates:
                update.renew(self._recording)
            with self.inputs[0].kernels.explaining("replaying a CUDA graph"):
                self._recording.replay()
        for optimizer, steps in zip(self._optimizers, self._steps, strict=True):
            optimizer.steps_taken += steps
        return self.outputs

    @contextmanager
    def _counting(self) -> Iterator[None]:
        """See what the optimisers do; they have not done it afterwards."""
        taken = [o.steps_taken for o in self._optimizers]
        numbers = [
            (own, {name: v for name, v in own.items() if not isinstance(v, Tensor)})
            for own in self._own_states()
        ]
        for optimizer in self._optimizers:
            optimizer.observer = partial(self._observe, optimizer)
        try:
            yield
        finally:
            for optimizer in self._optimizers:
                optimizer.observer = None
            for own, values in numbers:
                own.update(values)
            self._steps = [o.steps_taken - n for o, n in zip(self._optimizers, taken, strict=True)]
            for optimizer, before in zip(self._optimizers, taken, strict=True):
                optimizer.steps_taken = before

    def _observe(
        self, optimizer: Optimizer, i: int, bucket: Bucket, keywords: dict[str, Any]
    ) -> None:
        """Note an update that was recorded, with what its kernels read."""
        made = self._recording
        numbers, made.numbers = made.numbers, []
        self._updates.append(RecordedUpdate(optimizer, i, bucket.params, keywords, numbers))

    def _guard(self) -> Any:
        guard = self._backend.guard(self.device)
        return nullcontext() if guard is None else guard()

    def _check(self, tensors: list[Tensor]) -> None:
        """Refuse tensors that a recording cannot have for inputs or state."""
        for t in tensors:
            if t.device != self.device:
                raise DeviceMismatchError(
                    f"a tensor on {t.device}", f"cuda_graph of a step on {self.device}",
                    "let inputs, modules and optimisers be on one device",
                )  # fmt: skip
            if t.node is not None or (t.alias is not None and t in self._tensors):
                raise InvalidArgumentError(
                    f"a tensor of shape {t.shape} has a history, or views", "cuda_graph",
                    "pass inputs without history, and drop the views of parameters and buffers",
                )  # fmt: skip

    def _own_states(self) -> list[dict[str, Any]]:
        """What the optimisers keep for each parameter."""
        return [own for o in self._optimizers for own in o.state.values()]

    # ---- see Note [State in a graph] ----------------------------------------------------------
    def _settle(self) -> list[_Home]:
        """Give all state memory of its own."""
        homes: list[_Home] = []
        for t in self._tensors:
            homes.append(_Home(None, "", t))
            if t.gradient is not None:
                t.gradient = new_tensor(raw(t.gradient), t.gradient.kernels)
                homes.append(_Home(t, "gradient", t.gradient))
        for own in self._own_states():
            for name, value in own.items():
                if isinstance(value, Tensor):
                    own[name] = new_tensor(raw(value), value.kernels)
                    homes.append(_Home(own, name, own[name]))
        return homes

    def _return(self, homes: list[_Home]) -> None:
        """Copy what the step has made of the state to where it was, and put that back."""
        self._own_states()  # opens the buckets
        memory = {id(home.array) for home in homes}
        made = [home.present() for home in homes]
        for i, (home, array) in enumerate(zip(homes, made, strict=True)):
            if array is not home.array and id(array) in memory:  # it is written to, too
                made[i] = self._backend.copy(array)
        for home, array in zip(homes, made, strict=True):
            if array is not None and array is not home.array:
                self._recording.write(home.array, array)
            home.restore()


class _Home:
    """A tensor of the state and the memory that it lives in, which nobody else has."""

    def __init__(self, owner: Any, name: str, tensor: Tensor) -> None:
        self.owner, self.name, self.tensor = owner, name, tensor
        self.array = tensor.array = tensor.kernels.copy(raw(tensor))

    def present(self) -> Any:
        """The array that the step has left in its place; None: it has forgotten it."""
        owner, name = self.owner, self.name
        found: Tensor | None = self.tensor
        if owner is not None:
            found = owner[name] if isinstance(owner, dict) else getattr(owner, name)
        return None if found is None else raw(found)

    def restore(self) -> None:
        """The tensor, and its memory, where they were."""
        self.tensor.array = self.array
        if isinstance(self.owner, dict):
            self.owner[self.name] = self.tensor
        elif self.owner is not None:
            setattr(self.owner, self.name, self.tensor)


def _warm_up(step: Callable[..., Any], inputs: list[Tensor], times: int) -> None:
    """Run the step, and refuse one that draws random numbers."""
    for _ in range(times):
        before = random.get_state()
        step(*inputs)
        if random.get_state() != before:
            raise InvalidArgumentError(
                "the step draws random numbers, which each replay would repeat", "cuda_graph",
                "put dropout and the like outside, or set the model to eval()",
            )  # fmt: skip
