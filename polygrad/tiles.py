"""Large elementwise operations are differentiated tile by tile.

Note [Tiles]
------------
In the backward of a formula on large arrays each rule reads and writes whole cotangents, which fit
no cache: memory, not arithmetic, sets the pace. Elementwise operations have as many cotangents as
elements, and none looks at another. So a run of them is swept for some hundred thousand elements at
a time: saved arrays are read once, cotangents live and die in the cache, and only those that leave
the run are whole arrays. They are written to where a saved value was that nobody else holds, if
there is one; and threads share the tiles. Rules, their order and every rounding are those of the
plain sweep.

A run begins at a node whose cotangent is large, and takes in whatever node comes next in the order
of the sweep, as long as it is elementwise too, has operands of the same shape in C order, and
nobody watches it.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from polygrad.fitting import fit
from polygrad.pending import Pending
from polygrad.tape import IDENTITY, Node
from polygrad.threads import in_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from polygrad.engine import Sweep
    from polygrad.kernels import Kernels

__all__ = ["LARGE", "Run", "gather"]

LARGE = 1 << 20  # elements: a cotangent from here on may begin a run
TILE = 1 << 17  # elements


class Operand:
    """An array of a run: as it was made, and with one axis."""

    __slots__ = ("array", "flat")

    def __init__(self, array: Any) -> None:
        self.array = array
        self.flat: Any = None

    def one_number(self) -> bool:
        """Whether it is a number that is broadcast."""
        return self.array.size > 1 and not any(self.array.strides)

    def in_order(self, kernels: Kernels) -> None:
        """What has gaps, or another order, becomes a copy."""
        if not (self.array.flags.c_contiguous or self.one_number()):
            self.array = kernels.copy(self.array)

    def flatten(self, kernels: Kernels) -> None:
        """One number that is broadcast stays one number in memory."""
        a = self.array
        if self.one_number():
            one = a[(slice(1),) * a.ndim].reshape(1)
            self.flat = kernels.broadcast_to(one, shape=(a.size,))
        else:
            self.flat = a.reshape(-1)


class Member:
    """A node of a run: what it saved, arrays apart by their place; its rules and their edges."""

    __slots__ = ("arrays", "node", "saved", "wanted")

    def __init__(
        self,
        node: Node,
        saved: list[Any],
        arrays: list[tuple[int, Operand]],
        wanted: list[tuple[Callable[..., Any], Any]],
    ) -> None:
        self.node, self.saved, self.arrays, self.wanted = node, saved, arrays, wanted

    def works(self) -> bool:
        """Whether a rule of it does anything."""
        return any(rule is not IDENTITY for rule, _ in self.wanted)

    def saved_of(self, part: slice) -> list[Any]:
        """What it saved of a tile."""
        saved = self.saved.copy()
        for i, operand in self.arrays:
            saved[i] = operand.flat[part]
        return saved


class Run:
    """Elementwise nodes in the order of the sweep, with the cotangents that arrive and leave.

    Attributes
    ----------
    at
        The node that is being differentiated, for errors.
    operands
        What the nodes saved, by the identity of the array.
    arrived
        Cotangents from outside, by the edge at which they arrived.
    leaving
        By the edges that lead out of the run, where their cotangents go.
    reached
        The edges of those to which something else than zeros went.
    """

    def __init__(self, first: Node, shape: tuple[int, ...]) -> None:
        self.shape, self.kernels, self.at = shape, first.kernels, first
        self.members: list[Member] = []
        self.operands: dict[int, Operand] = {}
        self.arrived: dict[Any, Operand] = {}
        self.leaving: dict[Any, Operand] = {}
        self.reached: set[Any] = set()

    def admit(self, state: Sweep, node: Node) -> bool:
        """Take in a node, if it can be a member of this run."""
        shape, live = self.shape, state.live
        if (
            node.kernels is not self.kernels
            or node.extra is not None
            or type(node.saved) is not tuple
            or not getattr(node.primitive, "elementwise", False)
            or node in state.keep
            or any(s is not None and s != shape for s in node.shapes)
        ):
            return False
        saved: list[Any] = list(node.saved)
        arrays: list[tuple[int, Operand]] = []
        array_type: Any = self.kernels.array_type
        for i, a in enumerate(node.saved):
            if type(a) is array_type and a.ndim:
                if a.shape != shape or not a.flags.c_contiguous:
                    return False
                arrays.append((i, self.operands.setdefault(id(a), Operand(a))))
                saved[i] = None
        wanted = [
            (rule, edge)
            for rule, edge in zip(node.primitive.rules, node.edges, strict=True)
            if edge is not None and (live is None or edge in live)
        ]
        self.members.append(Member(node, saved, arrays, wanted))
        return True

    def sweep(self, state: Sweep) -> None:
        """Differentiate all members; add what leaves the run to the cotangents of the sweep."""
        cot = state.cot
        inside = {member.node for member in self.members}
        edges = dict.fromkeys(e for member in self.members for _, e in member.wanted)
        outside = [edge for edge in edges if edge not in inside]
        for edge in outside:
            if edge in cot:
                g = cot.pop(edge)
                self.arrived[edge] = Operand(g.settle() if type(g) is Pending else g)
                del g
        if not state.retain:
            for member in self.members:
                member.node.saved = None
        self._allot(outside)
        size = math.prod(self.shape)
        in_parts(self._tiles, size, size // TILE)
        for edge, out in self.leaving.items():
            if edge in self.arrived:
                cot[edge] = out.array  # it is on the heap
            elif edge in self.reached:
                state.add(edge, out.array)
            else:
                state.add_zero(edge)

    def _allot(self, edges: list[Any]) -> None:
        """Memory for what leaves the run: that of values nobody else holds, or new."""
        kernels = self.kernels
        dtype, unshared = kernels.native_dtype, kernels.backend.unshared
        known = [*self.operands.values(), *self.arrived.values()]
        for operand in self.arrived.values():
            operand.in_order(kernels)
        dead = [o for o in known if o.array.dtype is dtype and unshared(o)]
        for operand in known:
            operand.flatten(kernels)
        for edge in edges:
            if not dead:
                dead.append(Operand(kernels.xp.empty(self.shape, dtype=dtype)))
                dead[0].flatten(kernels)
            self.leaving[edge] = dead.pop()

    def _tiles(self, start: int, stop: int) -> None:
        """Sweep the elements from start to stop, a tile at a time."""
        for low in range(start, stop, TILE):
            self._tile(slice(low, min(low + TILE, stop)))

    def _tile(self, part: slice) -> None:
        """Sweep one tile with the rules of the plain sweep."""
        F = self.kernels
        dtype, shape = F.native_dtype, (part.stop - part.start,)
        cot = {edge: operand.flat[part] for edge, operand in self.arrived.items()}
        for member in self.members:
            g = cot.pop(member.node, None)
            if g is None:
                continue
            self.at = member.node
            saved = member.saved_of(part)
            for rule, edge in member.wanted:
                r = g if rule is IDENTITY else rule(g, F, saved)
                if r is None:
                    continue
                if r.shape != shape or r.dtype is not dtype:
                    r = fit(F, r, shape, F)
                before = cot.get(edge)
                cot[edge] = r if before is None else before + r
        self.reached.update(cot)
        if len(self.leaving) > 1:  # what one is written to may be what another is a view of
            cot = {edge: g if g.flags.owndata else g.copy() for edge, g in cot.items()}
        for edge, out in self.leaving.items():
            out.flat[part] = cot.get(edge, 0)


def gather(state: Sweep, node: Node, g: Any) -> Run | None:
    """The run that begins at a node with this cotangent; None if it would not be worth the while.

    Its nodes are off the heap then, and their cotangents with the run.
    """
    run = Run(node, g.shape)
    heap, cot = state.heap, state.cot
    ahead: list[tuple[int, Node]] = []  # what the run leads to
    reached: set[Any] = set()
    taken: list[tuple[int, Node]] = []  # off the heap
    current: Node | None = node
    while current is not None and run.admit(state, current):
        for _, edge in run.members[-1].wanted:
            if type(edge) is Node and edge not in reached:
                reached.add(edge)
                heappush(ahead, (-edge.seq, edge))
        current = None
        if ahead and (not heap or ahead[0][0] <= heap[0][0]):
            current = heappop(ahead)[1]
        elif heap and heap[0][1] in cot and cot[heap[0][1]].shape == run.shape:
            taken.append(heappop(heap))
            current = taken[-1][1]
    if current is not None and taken and taken[-1][1] is current:
        heappush(heap, taken.pop())  # it is no member
    if sum(member.works() for member in run.members) < 2:
        for entry in taken:
            heappush(heap, entry)
        return None
    run.arrived[node] = Operand(g)
    for member in run.members[1:]:
        if member.node in cot:
            run.arrived[member.node] = Operand(cot.pop(member.node))
    return run
