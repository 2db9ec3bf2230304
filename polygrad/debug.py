"""Looking inside: which kernels serve an operation, and the graph behind a tensor."""

from __future__ import annotations

import difflib
from contextvars import Token
from typing import Any, Self

from polygrad import dtypes
from polygrad.config import checks_now
from polygrad.errors import InvalidArgumentError
from polygrad.kernels import FORWARDS
from polygrad.ops import functions_of, load_all
from polygrad.registry import devices, find_backend, find_device, kernels_for
from polygrad.tape import Node
from polygrad.tensor import Tensor

__all__ = ["check_indices", "graph_dot", "nearest_kernel", "show_kernels"]


class check_indices:  # noqa: N801  a context manager, named as what it does
    """Within it every index array is checked where it is used, before it is used.

    Only CuPy's devices need it: there the check is put off until the host next waits for the
    device, because each look at an index array would make it wait. With it the operation raises
    itself, at the price of a wait each. The environment variable POLYGRAD_CHECK_INDICES=1 does the
    same for a whole program.

    Examples
    --------
    >>> import polygrad as pg
    >>> with pg.debug.check_indices():
    ...     pg.take(pg.ones(3), pg.asarray([5]), axis=0)
    Traceback (most recent call last):
    polygrad.errors.OutOfRangeError: index ... out of ...
    """

    def __init__(self) -> None:
        self._tokens: list[Token[bool]] = []

    def __enter__(self) -> Self:
        """Check at each use from here on, in this thread."""
        self._tokens.append(checks_now.set(True))
        return self

    def __exit__(self, *error: object) -> None:
        """As before."""
        checks_now.reset(self._tokens.pop())


def show_kernels(name: str, device: Any = None, dtype: Any = None) -> str:
    """Which function serves an operation, for each device and floating dtype present; also printed.

    Parameters
    ----------
    name
        Of a primitive, such as `softmax`.
    device, dtype
        Only this device, or dtype.

    Returns
    -------
    str
        The printed table: device, dtype, kind (kernel, forward, library) and where it is defined.

    Raises
    ------
    InvalidArgumentError
        There is no such primitive.

    Examples
    --------
    >>> import polygrad as pg
    >>> _ = pg.show_kernels("multiply", device="cpu", dtype=pg.float32)
    multiply  cpu  float32  forward _operator.mul
    """
    load_all()
    if name not in FORWARDS:
        raise InvalidArgumentError(
            f"no kernel serves {name!r}", "show_kernels, argument name", nearest_kernel(name)
        )
    places = devices() if device is None else [find_device(device)]
    wanted = [d for d in dtypes.ALL if dtypes.kind_of(d) >= dtypes.REAL]
    if dtype is not None:
        wanted = [dtypes.canonical(dtype)]
    lines = []
    for place in places:
        for d in wanted:
            kernels = _kernels(place, d)
            if kernels is not None:
                lines.append(f"{name}  {place}  {d}  {kernels.origin(name)}")
    text = "\n".join(lines)
    print(text)  # noqa: T201  it is what the function is for
    return text


def nearest_kernel(name: str) -> str:
    """What to ask for in the place of a name that no kernel serves: advice for an error."""
    if name in functions_of():
        return f"{name} is made of other operations: the traceback of an error in it names them"
    last = name.rpartition(".")[2]  # linalg.svd is served by svd
    close, word = difflib.get_close_matches(last, FORWARDS), last.partition("_")[0]
    close += sorted(n for n in FORWARDS if word in n and n not in close)
    if not close:
        return "polygrad.kernels.FORWARDS has all names"
    return "did you mean: " + ", ".join(close[:8])


def _kernels(place: Any, dtype: Any) -> Any:
    if not find_backend(place.kind).supports(dtype, place):
        return None
    return kernels_for(place, dtype)


def graph_dot(tensor: Tensor) -> str:
    """The graph behind a tensor in Graphviz's DOT language: operations, shapes, leaves.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([1.0], requires_grad=True)
    >>> print(pg.debug.graph_dot(x * 2).splitlines()[0])
    digraph polygrad {
    """
    lines = ["digraph polygrad {", "  rankdir=BT; node [shape=box, fontname=monospace];"]
    names: dict[int, str] = {}

    def name(item: Any) -> str:
        if id(item) not in names:
            names[id(item)] = f"n{len(names)}"
            if isinstance(item, Node):
                lines.append(f'  {names[id(item)]} [label="{item.primitive.name}"];')
            else:
                label = f"{item.dtype} {item.shape}"
                lines.append(f'  {names[id(item)]} [label="{label}", style=filled];')
        return names[id(item)]

    start: Any = tensor.grad_fn or tensor
    stack, seen = [start], {id(start)}
    name(start)
    while stack:
        item = stack.pop()
        if not isinstance(item, Node):
            continue
        for producer, _ in item.next_functions:
            if producer is None:
                continue
            target = producer if isinstance(producer, Node) else producer.variable
            lines.append(f"  {name(target)} -> {name(item)};")
            if id(target) not in seen:
                seen.add(id(target))
                stack.append(target)
    return "\n".join([*lines, "}"])
