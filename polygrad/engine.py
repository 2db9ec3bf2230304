"""The engine: prune, sweep. No recursion anywhere.

Creation order is a topological order, so a heap keyed on creation numbers hands out the nodes
newest first; a node enters it with its first cotangent.

Rules are textbook formulas; what they return is made to fit its operand (`polygrad.fitting`).
Runs of elementwise operations on large arrays are swept in tiles (`polygrad.tiles`).
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from heapq import heappop, heappush
from typing import Any

from polygrad.backend import Kernels
from polygrad.config import grad_mode, no_grad, recorder
from polygrad.errors import GradientError
from polygrad.fitting import fit
from polygrad.pending import LATER, Pending
from polygrad.tape import IDENTITY, Edge, Node, Packed, Port
from polygrad.tensor import Tensor, new_tensor, raw, wrap
from polygrad.tiles import LARGE, gather

__all__ = ["Sweep", "accumulate", "run"]

_seq = operator.attrgetter("seq")


def _reach(outputs: Iterable[Tensor]) -> list[Node]:
    """All nodes behind `outputs`, in the order of their creation, with an explicit stack."""
    stack: list[Node] = []
    found: list[Node] = []
    seen: set[Any] = set()
    for t in outputs:
        e: Any = t.node
        if type(e) is Port:
            e = e.node
        if e is not None and e not in seen:
            seen.add(e)
            stack.append(e)
    while stack:
        n = stack.pop()
        found.append(n)
        for e in n.edges:
            if e is None:
                continue
            cls = type(e)
            if cls is Port:
                e = e.node  # noqa: PLW2901
            elif cls is not Node:
                continue
            if e not in seen:
                seen.add(e)
                stack.append(e)
    found.sort(key=_seq)
    return found


def _prune(order: list[Node], wanted: Iterable[Edge]) -> set[Any]:
    """The edges that lead to `wanted`; the cotangents of all others are not needed."""
    live: set[Any] = set(wanted)
    for n in order:
        if any(e is not None and e in live for e in n.edges):
            live.add(n)
            live.update(Port(n, i) for i in range(len(n.outs or ())))
    return live


class Sweep:
    """The state of one backward pass; with `create_graph` its cotangents are Tensors."""

    __slots__ = ("captured", "cot", "create_graph", "heap", "keep", "live", "retain", "zeros")

    def __init__(self, *, create_graph: bool, retain: bool) -> None:
        self.create_graph, self.retain = create_graph, retain
        self.live: set[Any] | None = None
        self.keep: set[Any] = set()
        self.cot: dict[Any, Any] = {}
        self.captured: dict[Any, Any] = {}
        self.zeros: set[Any] = set()
        self.heap: list[tuple[int, Node]] = []

    def add(self, edge: Edge, g: Any) -> None:
        """Accumulate a cotangent; the first one puts the node that it arrives at on the heap."""
        cot = self.cot
        if edge in cot:
            if type(g) is Pending and type(cot[edge]) is not Pending:
                g = g.settle()
            cot[edge] = cot[edge] + g
        else:
            cot[edge] = g
            self.push(edge)

    def add_zero(self, edge: Edge) -> None:
        """Remember that a zero arrived: it is not made unless nothing else arrives."""
        if edge not in self.zeros:
            self.zeros.add(edge)
            self.push(edge)

    def push(self, edge: Edge) -> None:
        """Put a node on the heap. It may be there already; the second time it has no cotangent."""
        node = edge.node if type(edge) is Port else edge
        if type(node) is Node:
            heappush(self.heap, (-node.seq, node))

    def sweep(self) -> None:  # noqa: PLR0912, PLR0915  one loop: a call is 0.1 us for each node
        """Newest first, hand each node's cotangent to its inputs, then free what it saved."""
        cot, live, keep, heap = self.cot, self.live, self.keep, self.heap
        special = self.create_graph or recorder.get() is not None
        retain = self.retain
        pop, get = cot.pop, cot.get
        n = run = None
        try:
            while heap:
                n = heappop(heap)[1]
                F = n.kernels
                saved = n.saved
                if special or n.extra is not None or type(saved) is not tuple or (
                    keep and n in keep
                ):
                    g = r = None  # the last node's cotangents must not outlive it
                    self._general(n)
                    continue
                g = pop(n, None)
                if g is None:
                    self._pass_zeros(n, (n,))
                    continue
                if F.tiled and g.size >= LARGE and (run := gather(self, n, g)) is not None:
                    g = r = None  # so that it may be written to
                    run.sweep(self)
                    run = None
                    continue
                dtype = F.native_dtype
                rules = n.primitive.rules
                for rule, e, shape in zip(rules, n.edges, n.shapes):  # noqa: B905  0.1 us each
                    if e is None or (live is not None and e not in live):
                        continue
                    if rule is IDENTITY:
                        r = g
                    else:
                        r = rule(g, F, saved)
                        if r is None:
                            self.add_zero(e)
                            continue
                    if r.shape != shape or r.dtype is not dtype:
                        r = fit(F, r, shape, F)  # type: ignore[arg-type]
                    before = get(e)
                    if before is not None:
                        cot[e] = before + r
                        before = r = None  # three arrays until here, one from here on
                        continue
                    cot[e] = r
                    if type(e) is Node:
                        heappush(heap, (-e.seq, e))
                    else:
                        self.push(e)
                if not retain:
                    n.saved = None
        except Exception as error:
            explained = _explain(error, n if run is None else run.at)
            if explained is error:
                raise
            raise explained from error

    def _pass_zeros(self, n: Node, ports: Sequence[Any]) -> None:
        """Where nothing but zeros arrived, nothing but zeros leaves."""
        if not any(port in self.zeros for port in ports):
            return  # it was on the heap twice
        for e in n.edges:
            if e is not None and (self.live is None or e in self.live):
                self.add_zero(e)

    def _cotangents(self, n: Node) -> list[Any] | None:
        """The cotangent of each output of `n`, hooks applied; None if no output has any."""
        extra, cot = n.extra, self.cot
        outs, hooks = (None, None) if extra is None else (extra.outs, extra.hooks)
        # Pairs are as good as Ports for looking up, and made much faster.
        ports: Sequence[Any] = (n,)
        if outs is not None:
            ports = [(n, i) for i in range(len(outs))]
        gs = [cot.pop(port, None) for port in ports]
        if all([g is None for g in gs]):  # noqa: C419  faster than a generator
            self._pass_zeros(n, ports)
            return None
        if outs is not None and getattr(n.primitive, "materialize", True):
            for i, (shape, kernels) in enumerate(outs):
                if gs[i] is None:
                    gs[i] = kernels.zeros(shape)
                    if self.create_graph:
                        gs[i] = new_tensor(gs[i], kernels)
        for hook in tuple(hooks or ()):
            gs[hook.index] = self.hooked(hook.function, gs[hook.index], n.kernels)
        if self.keep:
            self.captured.update((p, g) for p, g in zip(ports, gs, strict=True) if p in self.keep)
        return gs

    def hooked(self, function: Any, g: Any, kernels: Kernels) -> Any:
        """What a hook makes of a cotangent."""
        if g is None:
            return None
        given = _own(g, kernels)
        made = function(given)
        if made is None:
            made = given  # which the hook may have written to
        if not isinstance(made, Tensor) or made.shape != given.shape:
            raise GradientError(
                "a hook returned something other than a gradient",
                f"it was given shape {given.shape} and returned "
                f"{getattr(made, 'shape', type(made).__name__)}",
                "return None, or a Tensor of the same shape",
            )
        return made if self.create_graph else kernels.of(g).cast(raw(made))

    def _general(self, n: Node) -> None:
        """One node, with all that is rare: several outputs, hooks, casts, guards, create_graph."""
        gs = self._cotangents(n)
        if gs is None:
            return
        if n.saved is None:
            raise GradientError(
                "the values saved for backward were freed by an earlier backward",
                f"operation {n.primitive.name}, input shapes {n.shapes}",
                "pass retain_graph=True to the first backward or grad, or compute the loss again",
            )
        watcher: Any = recorder.get()
        guard = n.kernels.guard
        if watcher is None and guard is None:
            self._rules(n, gs, None)
        else:
            with nullcontext() if guard is None else guard():
                if watcher is not None:
                    watcher.before(n)
                self._rules(n, gs, watcher)
                if watcher is not None:
                    watcher.after(n)
        if not self.retain:
            n.saved = None

    # What `polygrad.batching` does for many cotangents at once.
    def namespace(self, n: Node) -> Any:
        """What rules run on when cotangents are Tensors."""
        return n.primitive.tensor_namespace  # type: ignore[attr-defined]

    def joint(self, n: Node, g: Any, F: Any, saved: Any, wanted: list[Any]) -> Any:
        """The cotangents of the inputs of an operation with one rule for all."""
        if n.primitive.later and n.casts is None and not self.create_graph:
            for i in n.primitive.later:
                if wanted[i] and isinstance(n.edges[i], Tensor):
                    wanted[i] = LATER
        return n.primitive.backward(n, g, F, saved, wanted)

    def plain(self, g: Any) -> Any:
        """A cotangent as recorders see it."""
        return g.settle() if type(g) is Pending else g

    def _rules(self, n: Node, gs: list[Any], watcher: Any) -> None:
        p, F, saved, live, edges = n.primitive, n.kernels, n.saved, self.live, n.edges
        casts, outs = (None, None) if n.extra is None else (n.extra.casts, n.extra.outs)
        if type(saved) is Packed:
            saved = saved.unpack()
        if self.create_graph:
            saved = p.revive(n, saved)
            F = self.namespace(n)
        g = gs[0] if outs is None else tuple(gs)
        wanted = [e is not None and (live is None or e in live) for e in edges]
        results = self.joint(n, g, F, saved, wanted) if p.joint else None
        kernels = n.kernels
        exact = casts is None and not self.create_graph
        dtype = kernels.native_dtype
        for i, e in enumerate(edges):
            if e is None or not wanted[i]:
                continue
            r = p.rules[i](g, F, saved) if results is None else results[i]
            if r is None:
                self.add_zero(e)
                continue
            if casts is not None:
                kernels = casts[i]  # type: ignore[assignment]
            if not exact or r.shape != n.shapes[i] or r.dtype is not dtype:
                r = fit(F, r, n.shapes[i], kernels)  # type: ignore[arg-type]
            if watcher is not None:
                watcher.check(n, i, self.plain(r))
            self.add(e, r)


def _explain(error: BaseException, n: Node | None) -> BaseException:
    """The error to raise for one that happened in the graph, with a note that says where."""
    if n is None:
        return error
    k = n.kernels
    error = k.backend.failure(error, k.device, f"the backward of {n.primitive.name}") or error
    note = f"in the backward of {n.primitive.name}, input shapes {n.shapes}"
    if n.note:
        note += f"; the forward call was:\n{n.note}"
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error


def run(
    outputs: Sequence[Tensor],
    cotangents: Sequence[Any],
    *,
    inputs: Sequence[Tensor] | None = None,
    retain_graph: bool = False,
    create_graph: bool = False,
    sweep: type[Sweep] = Sweep,
) -> list[Any]:
    """Differentiate `outputs`, each weighted by its cotangent.

    Cotangents are raw arrays; with `create_graph`, or another kind of `sweep`, they are Tensors.

    With `inputs`, return the cotangent of each (a Tensor, or None where no path leads to it, or
    zeros where only constant functions do); without, add to `.grad` of every leaf reached.
    """
    if not outputs:
        return [None] * len(inputs or ())
    state = sweep(create_graph=create_graph, retain=retain_graph or create_graph)
    for t in (*outputs, *(inputs or ())):
        raw(t)  # a stale view gets its value and its node
    targets = None if inputs is None else [x if x.node is None else x.node for x in inputs]
    if targets is not None:
        state.live = _prune(_reach(outputs), targets)
        state.keep = set(targets)
    for t, g in zip(outputs, cotangents, strict=True):
        state.add(t if t.node is None else t.node, g)
    token = grad_mode.set((recorder.get() or True) if create_graph else False)
    try:
        with outputs[0].kernels.backend.quiet():
            state.sweep()
            for leaf, g in state.cot.items():
                if type(g) is Pending:
                    with leaf.kernels.explaining(f"the gradient of a weight of shape {g.shape}"):
                        state.cot[leaf] = g.settle()
    finally:
        grad_mode.reset(token)
    if targets is not None:
        return [_capture(state, x, e) for x, e in zip(inputs or (), targets, strict=True)]
    for leaf, g in state.cot.items():
        if isinstance(leaf, Tensor):
            k = leaf.kernels
            fresh = leaf.gradient is None and leaf.hooks is None
            if fresh and g.dtype is k.native_dtype and type(g) is k.array_type:
                leaf.gradient = new_tensor(g, k)
            else:
                _accumulate(state, leaf, g)
    if state.zeros:
        for leaf in state.zeros - state.cot.keys():
            if isinstance(leaf, Tensor):
                _accumulate(state, leaf, leaf.kernels.zeros(raw(leaf).shape))
    return []


def _own(g: Any, kernels: Kernels) -> Any:
    """A cotangent as a Tensor of its own: what is written to it leaves others alone.

    A leaf is itself: who asked for its gradient to be tracked gave it.
    """
    if not isinstance(g, Tensor):
        return wrap(g, kernels)
    if type(g) is not Tensor or (g.tracked and g.node is None):
        return g
    t = new_tensor(raw(g), g.kernels)
    t.node, t.tracked = g.node, g.tracked
    return t


def _capture(state: Sweep, x: Tensor, edge: Edge) -> Tensor | None:
    """The cotangent that arrived at a requested input."""
    if isinstance(edge, Tensor):
        g = state.cot.get(edge)
        if g is not None and x.hooks:
            for hook in tuple(x.hooks):
                g = state.hooked(hook.function, g, x.kernels)
    else:
        g = state.captured.get(edge)
        if g is None:
            g = state.cot.get(edge)
    if g is None:
        if edge in state.zeros:
            return new_tensor(x.kernels.zeros(raw(x).shape), x.kernels)
        return None
    return _own(g, x.kernels)  # type: ignore[no-any-return]


def _accumulate(state: Sweep, leaf: Tensor, g: Any) -> None:
    """Give a leaf its total cotangent, after its hooks have seen it."""
    for hook in tuple(leaf.hooks or ()):
        g = state.hooked(hook.function, g, leaf.kernels)
    accumulate(leaf, _own(g, leaf.kernels), create_graph=state.create_graph)


def accumulate(leaf: Tensor, g: Tensor, *, create_graph: bool) -> None:
    """Add a gradient to `.grad`: the same Tensor object, as PyTorch has it.

    The array may be shared with another leaf's gradient, or with the user's: copy-on-write keeps
    them apart.
    """
    if leaf.gradient is None:
        leaf.gradient = g
    elif create_graph:
        leaf.gradient = leaf.gradient + g
    else:
        with no_grad():
            leaf.gradient += g
