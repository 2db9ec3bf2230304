"""The straight call of a primitive records what the general one does, node by node."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.calls import apply
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.primitive import PRIMITIVES, Composite
from polygrad.tape import Node, Port
from polygrad.testing import floating, samples_of, take_apart

load_all()
NAMES = sorted(name for name, o in OPERATIONS.items() if o.differentiable)


def general(p):
    """The call of a primitive without its shortcut."""
    return lambda *inputs, **keywords: apply(p, inputs, {**p.keywords, **keywords})


def leaves(value):
    """What was saved, as bytes: of arrays the values and the dtype, of tuples the parts."""
    if isinstance(value, tuple):
        return tuple(map(leaves, value))
    if hasattr(value, "shape"):
        return str(value.dtype), value.shape, np.asarray(value).tobytes()
    return repr(value)


def described(edge, numbers):
    """A node by the order in which it was met, with all that it says; a leaf by its shape."""
    if edge is None:
        return None
    if isinstance(edge, Port):
        return described(edge.node, numbers), edge.place
    if not isinstance(edge, Node):
        return "leaf", edge.shape
    if edge in numbers:
        return numbers[edge]
    numbers[edge] = len(numbers)
    casts = edge.casts or [None] * len(edge.edges)
    return (
        edge.primitive.name, str(edge.kernels.dtype), edge.shapes, leaves(edge.saved),
        str(edge.outs),
        # Casts of constants are of no consequence: what they were is not looked at again.
        [str((k or edge.kernels).dtype) for k, e in zip(casts, edge.edges, strict=True)
         if e is not None],
        [described(e, numbers) for e in edge.edges],
    )  # fmt: skip


def tape(name, build, flat):
    """What a call records, in full."""
    pg.manual_seed(0)
    args, kwargs = build([pg.tensor(a, requires_grad=True) for a in flat], "cpu")
    numbers = {}
    made = floating(OPERATIONS[name].function(*args, **kwargs))
    return [(leaves(t.detach().numpy()), described(t.node, numbers)) for t in made]


@pytest.mark.parametrize("name", NAMES)
def test_the_straight_call_records_what_the_general_one_does(name, monkeypatch):
    dtype = "float32" if "f" in OPERATIONS[name].kinds else "complex64"
    for args, kwargs in samples_of(OPERATIONS[name], getattr(pg, dtype)):
        flat, build = take_apart(args, kwargs)
        if not flat:
            continue
        straight = tape(name, build, flat)
        with monkeypatch.context() as patch:
            for p in PRIMITIVES.values():
                if not isinstance(p, Composite):
                    patch.setattr(p, "call", general(p))
            assert tape(name, build, flat) == straight
