"""`pg.summary`: what a model consists of and what a forward of it costs, as data and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygrad import tree
from polygrad.config import no_grad
from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.nn.summary_watch import Seen, Watch, arguments, bytes_of, untouched
from polygrad.registry import default_device, find_device
from polygrad.tensor import Tensor

__all__ = ["Row", "Summary", "summary"]


@dataclass(frozen=True)
class Row:
    """One module of a model. Its numbers are its own, without the modules in it; not so `seconds`.

    Attributes
    ----------
    path, name, kind, depth
        Where it is, its last name, its class, how deep it lies; the model has depth 0.
    outputs
        What each call returned, with the shape of a Tensor in its place, and of other things the
        name of their class. Empty if it was not called.
    calls
        How often forward ran.
    parameters, trainable
        Numbers in its parameters, and in those that require grad; a shared one counts where it
        occurs first.
    parameter_bytes, gradient_bytes, buffer_bytes
        Memory of its parameters, of the gradients of those that require grad, of its buffers.
    activation_bytes
        Memory that its outputs took: views, and what another module returned before, are no new
        memory.
    multiply_adds
        Multiplications with an addition in its matrix products; None where they are not known.
    seconds
        Time of all its calls in one forward of the model, with the modules in it.
    shared_with
        The path at which the same module occurs first.
    last
        Whether it is the last in its parent.
    """

    path: str
    name: str
    kind: str
    depth: int
    outputs: tuple[Any, ...] = ()
    calls: int = 0
    parameters: int = 0
    trainable: int = 0
    parameter_bytes: int = 0
    gradient_bytes: int = 0
    buffer_bytes: int = 0
    activation_bytes: int = 0
    multiply_adds: int | None = None
    seconds: float | None = None
    shared_with: str = ""
    last: bool = True


_SUMS = (
    "parameters", "trainable", "parameter_bytes", "gradient_bytes", "buffer_bytes",
    "activation_bytes",
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    """What `summary` returns. `print` shows it as a table, as `rich.print` and notebooks do.

    Attributes
    ----------
    rows
        One for each module, in the order of the tree; the first is the model.
    device
        Where it was measured; the devices of parameters and inputs.
    input_bytes
        Memory of the arguments.
    uncounted
        Paths of modules that were called and hold matrices, but whose multiplications nobody knows.
    depth
        How deep the table goes; None: to the end. Modules below are added to the one above them.
    ran
        Whether forward was run: there was an input.
    """

    rows: tuple[Row, ...]
    device: str
    input_bytes: int = 0
    uncounted: tuple[str, ...] = ()
    depth: int | None = None
    ran: bool = False

    @property
    def totals(self) -> Row:
        """The sums over all rows; outputs and time are the model's."""
        return _sum(self.rows)

    def shown(self) -> list[Row]:
        """The rows of the table: those down to `depth`, the others added to them."""
        if self.depth is None:
            return list(self.rows)
        made: list[list[Row]] = []
        for row in self.rows:
            if row.depth <= self.depth:
                made.append([row])
            else:
                made[-1].append(row)
        return [_sum(group) for group in made]

    def __str__(self) -> str:
        """The table, as text. Needs rich."""
        from polygrad.nn.summary_table import as_text  # noqa: PLC0415  it needs rich

        return as_text(self)

    def __rich__(self) -> Any:
        """The table, for rich."""
        from polygrad.nn.summary_table import as_table  # noqa: PLC0415  it needs rich

        return as_table(self)

    def _repr_html_(self) -> str:
        """The table, for notebooks."""
        from polygrad.nn.summary_table import as_html  # noqa: PLC0415  it needs rich

        return as_html(self)

    def __repr__(self) -> str:
        """One line."""
        total = self.totals
        return f"<Summary of {total.kind}: {len(self.rows)} modules, {total.parameters} parameters>"


def _sum(rows: Sequence[Row]) -> Row:
    """The first row with the numbers of all."""
    known = [r.multiply_adds for r in rows if r.multiply_adds is not None]
    made: dict[str, Any] = {name: sum(getattr(r, name) for r in rows) for name in _SUMS}
    return replace(rows[0], multiply_adds=sum(known) if known else None, **made)


def summary(
    model: Module,
    input: Any = None,
    kwargs: Mapping[str, Any] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
    depth: int | None = None,
    training: bool | None = None,
    repeats: int = 1,
) -> Summary:
    """Layers of a model, what they return, their parameters, memory, multiplications and time.

    Forward runs under `no_grad`, once to get ready and `repeats` times with a clock, each layer
    waiting for its device. Modes, parameters, buffers, gradients, random numbers and hooks are
    afterwards what they were, also if it raises. What a forward changes elsewhere stays changed,
    and hooks of the user run.

    Parameters
    ----------
    model
        Any Module.
    input
        A Tensor; a tuple of arguments, Tensors or not; a dictionary of keyword arguments; a shape,
        for a Tensor of that shape; a list of shapes for several. If neither it nor `kwargs` is
        given, forward does not run, and the table has parameters and buffers only. `()` calls it
        without arguments.
    kwargs
        More keyword arguments.
    dtype
        Of Tensors made from shapes, one for all or a list: that of the first floating parameter if
        not given. Floating ones hold normal numbers, others zeros.
    device
        Where they are made: that of the first parameter if not given.
    depth
        How deep the table goes.
    training
        The mode to run in: True, False, or that in which the model is.
    repeats
        How often it is timed; the least time counts.

    Returns
    -------
    Summary
        Data, that prints itself as a table if rich is installed: `pip install polygrad[summary]`.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        The model is no Module; dtypes and shapes differ in number; `depth` or `repeats` is
        negative.

    Examples
    --------
    >>> import polygrad as pg
    >>> made = summary(pg.nn.Sequential(pg.nn.Linear(4, 3), pg.nn.ReLU()), (2, 4))
    >>> made
    <Summary of Sequential: 3 modules, 15 parameters>
    >>> [(row.path, row.outputs, row.multiply_adds) for row in made.rows[1:]]
    [('0', ((2, 3),), 24), ('1', ((2, 3),), None)]
    """
    if not isinstance(model, Module):
        raise InvalidTypeError(
            f"a {type(model).__name__} is no Module", "summary, argument model",
            "pass an instance of pg.nn.Module",
        )  # fmt: skip
    _check_count(depth, "depth", 0)
    _check_count(repeats, "repeats", 1)
    tensors = [*model.parameters(), *model.buffers()]
    rows, modules = _static_rows(model)
    if input is None and kwargs is None:
        return Summary(tuple(rows), _places(tensors), depth=depth)
    if device is None:
        device = tensors[0].device if tensors else default_device()
    args, keywords = arguments(input, find_device(device), dtype, tensors)
    keywords = {**keywords, **(kwargs or {})}
    given = [t for t in tree.leaves([args, keywords]) if isinstance(t, Tensor)]
    with untouched(model), no_grad():
        if training is not None:
            model.train(training)
        watch = Watch(modules, [*tensors, *given])
        with watch.listening():
            model(*args, **keywords)
            for _ in range(repeats):
                with watch.clock():
                    model(*args, **keywords)
    rows = [_measured(row, watch.seen[m]) for row, m in zip(rows, modules, strict=True)]
    uncounted = tuple(
        row.path for row, m in zip(rows, modules, strict=True)
        if row.calls and row.multiply_adds is None and _holds_matrices(m)
    )  # fmt: skip
    size = sum(map(bytes_of, given))
    return Summary(tuple(rows), _places([*tensors, *given]), size, uncounted, depth, ran=True)


def _check_count(value: Any, name: str, least: int) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidTypeError(f"{name} is {value!r}", f"summary, argument {name}", "pass an int")
    if value < least:
        raise InvalidArgumentError(
            f"{name} is {value}", f"summary, argument {name}", f"it must be at least {least}"
        )


# ---- rows ---------------------------------------------------------------------------------------
def _static_rows(model: Module) -> tuple[list[Row], list[Module]]:
    """What is known without a forward, and the modules of the rows."""
    rows: list[Row] = []
    modules: list[Module] = []
    paths: dict[Module, str] = {}
    counted: set[int] = set()

    waiting = [(model, "", "", 0, True)]
    while waiting:
        module, path, name, depth, last = waiting.pop()
        kind = type(module).__name__
        modules.append(module)
        if module in paths:
            rows.append(Row(path, name, kind, depth, shared_with=paths[module], last=last))
            continue
        paths[module] = path
        rows.append(Row(path, name, kind, depth, last=last, **_holdings(module, counted)))
        below = reversed(list(module.named_registered("module")))
        waiting += [
            (child, f"{path}.{inner}" if path else inner, inner, depth + 1, i == 0)
            for i, (inner, child) in enumerate(below)
        ]
    return rows, modules


def _holdings(module: Module, counted: set[int]) -> dict[str, Any]:
    """The parameters and buffers of one module that were not counted before."""
    made = dict.fromkeys(_SUMS, 0)
    for t in [*module.parameters(recurse=False), *module.buffers(recurse=False)]:
        if id(t) in counted:
            continue
        counted.add(id(t))
        if isinstance(t, Parameter):
            made["parameters"] += t.size
            made["parameter_bytes"] += bytes_of(t)
            made["trainable"] += t.size * t.requires_grad
            made["gradient_bytes"] += bytes_of(t) * t.requires_grad
        else:
            made["buffer_bytes"] += bytes_of(t)
    return made


def _measured(row: Row, seen: Seen) -> Row:
    if row.shared_with:
        return row
    return replace(
        row, outputs=tuple(seen.outputs), calls=len(seen.outputs), activation_bytes=seen.bytes,
        multiply_adds=seen.multiply_adds, seconds=seen.seconds if seen.outputs else None,
    )  # fmt: skip


def _holds_matrices(module: Module) -> bool:
    return any(p.ndim > 1 for p in module.parameters(recurse=False))


def _places(tensors: list[Tensor]) -> str:
    return ", ".join(sorted({t.device.name for t in tensors}))
