"""The profiler: a clock around every kernel, and around the rules of every node of a backward.

Note [What is on the clock]
---------------------------
An operation is timed where its kernel is called, so that the microsecond which the tape costs is
not in it; what a program takes beyond all operations is the row `outside of operations`. Rules are
formulas: a node of the backward is one event, and the kernels that its rules call are events within
it. The self time of an event is its time less that of the events within it. Where a device works
on its own time, each event waits for it, unless `synchronize=False`: then the times are those of
the calls alone.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import tracemalloc
import weakref
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from polygrad.autograd.recorders import BaseRecorder, is_internal
from polygrad.errors import GradientError
from polygrad.indexing import size_of
from polygrad.kernels import watched
from polygrad.profiling import report, trace

if TYPE_CHECKING:
    from os import PathLike

    from polygrad.kernels import Kernel, Kernels
    from polygrad.tape import Node

__all__ = ["Event", "profile"]

_now = time.perf_counter
Line = tuple[str, int, str]  # file, line number, function


@dataclass(slots=True)
class Event:
    """One run of an operation's kernel, or of the rules of one node.

    Attributes
    ----------
    name, phase
        Of the operation; `forward`, or `backward` for rules and for what runs within them.
    device, dtype, shapes
        Where it ran, in which dtype, on arrays of which shapes.
    line
        (file, line number, function) of the user's code that called for it; of a backward, that of
        the forward call.
    thread
        Its identifier.
    start, seconds, inside
        When it started, on `time.perf_counter`'s clock; how long it took; and how much of that was
        spent in events within it.
    made, saved
        Bytes of the arrays that it returned, views not counted; bytes it left for the backward.
    rules, outermost
        Whether it is the rules of a node, not a kernel; whether it ran within no other event.
    """

    name: str
    phase: str
    device: str
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    line: Line
    thread: int
    start: float = 0.0
    seconds: float = 0.0
    inside: float = 0.0
    made: int = 0
    saved: int = 0
    rules: bool = False
    outermost: bool = True

    @property
    def own(self) -> float:
        """Seconds less those of the events within."""
        return max(self.seconds - self.inside, 0.0)


class _Open(threading.local):
    """The events of a thread that have begun, the innermost last."""

    def __init__(self) -> None:
        self.events: list[Event] = []


class profile(BaseRecorder):  # noqa: N801  PyTorch's name
    """Measure what runs inside: time and memory by operation, by kernel and by line of the program.

    It slows small operations down by some microseconds each. Kernels of all threads are timed, the
    rules of a backward in the thread that entered.

    Parameters
    ----------
    synchronize
        Whether each event waits for its device, so that its time is that of the work.
    memory
        Whether to also measure the peak of the memory of Python and NumPy, with `tracemalloc`,
        which makes every allocation slower.

    Attributes
    ----------
    events
        A list of `Event`, in the order in which they ended.
    seconds
        The time between entering and leaving.
    peak
        With `memory`, the peak in bytes, less what there was at the start; else None.

    Raises
    ------
    GradientError
        It is entered again while it is active.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.ones((100, 100)).requires_grad_()
    >>> with pg.profile() as found:
    ...     pg.sum(x @ x).backward()
    >>> sorted(row.name for row in found.by_operation())[:2]
    ['matmul', 'matmul backward']
    """

    def __init__(self, *, synchronize: bool = True, memory: bool = False) -> None:
        super().__init__()
        self.synchronize, self.memory = synchronize, memory
        self.events: list[Event] = []
        self.seconds = 0.0
        self.started = 0.0
        self.peak: int | None = None
        self._open = _Open()
        # Which line recorded a node; nodes hold arrays, so they are not held here.
        self._lines: weakref.WeakKeyDictionary[Node, Line] = weakref.WeakKeyDictionary()
        self._watch: AbstractContextManager[None] | None = None
        self._at_start = 0
        self._tracing = False

    # ---- entering and leaving -----------------------------------------------------------------
    def __enter__(self) -> Self:
        """Start measuring. Entered again later, it adds to what it has."""
        if self._watch is not None:
            raise GradientError(
                "this profile is active already", "pg.profile", "make another for the inner part"
            )
        super().__enter__()
        self._watch = watched(self._timed)
        self._watch.__enter__()
        if self.memory:
            self._tracing = not tracemalloc.is_tracing()
            if self._tracing:
                tracemalloc.start()
            tracemalloc.reset_peak()
            self._at_start = tracemalloc.get_traced_memory()[0]
        self.started = _now()
        return self

    def __exit__(self, *exc: object) -> None:
        """Stop, and leave no trace."""
        self.seconds += _now() - self.started
        if self.memory:
            peak = tracemalloc.get_traced_memory()[1] - self._at_start
            self.peak = max(self.peak or 0, peak)
            if self._tracing:
                tracemalloc.stop()
        watch, self._watch = self._watch, None
        self._open.events.clear()  # an error may have left some
        if watch is not None:
            watch.__exit__(None, None, None)
        super().__exit__(*exc)

    # ---- forward: kernels ---------------------------------------------------------------------
    def _timed(self, name: str, kernel: Kernel, kernels: Kernels) -> Kernel:
        """`kernel`, on the clock."""
        waits = self.synchronize and kernels.backend.capabilities_of(kernels.device).asynchronous

        @functools.wraps(kernel, updated=())
        def inner(*args: Any, **kwargs: Any) -> Any:
            opened = self._open.events
            above = opened[-1] if opened else None
            phase = above.phase if above is not None else "forward"
            event = self._begin(name, phase, kernels, _shapes(args), None)
            try:
                out = kernel(*args, **kwargs)
                if waits:
                    kernels.backend.synchronize(kernels.device)
            except BaseException:
                self._end(event, keep=False)
                raise
            event.made = _bytes_made(out, kernels, _memory_of(args))
            self._end(event)
            return out

        return inner

    # ---- backward: nodes ----------------------------------------------------------------------
    def annotate(self, node: Node) -> None:
        """Remember which line a node is from, and count what it saved."""
        super().annotate(node)
        self._lines[node] = _user_line()
        saved = _bytes_saved(node)
        for event in reversed(self.events[-4:]):
            if event.name == node.primitive.name and event.phase == "forward":
                event.saved += saved
                break

    def before(self, node: Node) -> None:
        """Start the clock of a node's rules."""
        super().before(node)
        shapes = tuple(s for s in node.shapes if s is not None)
        line = self._lines.get(node)
        event = self._begin(node.primitive.name, "backward", node.kernels, shapes, line)
        event.rules = True

    def after(self, node: Node) -> None:
        """Stop it."""
        opened = self._open.events
        if opened:
            kernels = node.kernels
            if self.synchronize and kernels.backend.capabilities_of(kernels.device).asynchronous:
                kernels.backend.synchronize(kernels.device)
            self._end(opened[-1])
        super().after(node)

    # ---- events -------------------------------------------------------------------------------
    def _begin(
        self, name: str, phase: str, kernels: Kernels, shapes: Any,
        line: Line | None,
    ) -> Event:  # fmt: skip
        opened = self._open.events
        if line is None:
            line = opened[-1].line if opened else _user_line()
        event = Event(name, phase, kernels.device.name, kernels.dtype.name, shapes, line,
                      threading.get_ident(), outermost=not opened)  # fmt: skip
        opened.append(event)
        event.start = _now()
        return event

    def _end(self, event: Event, *, keep: bool = True) -> None:
        event.seconds = _now() - event.start
        opened = self._open.events
        while opened and opened.pop() is not event:
            pass  # left behind by an error within
        if opened:
            opened[-1].inside += event.seconds
        if keep:
            self.events.append(event)

    # ---- results ------------------------------------------------------------------------------
    def by_operation(self) -> list[report.Row]:
        """One row for each operation and one for its backward, those that took longest first.

        What an operation calls for is counted with it.
        """
        return report.rows(self.events, "operation")

    def by_kernel(self) -> list[report.Row]:
        """One row for each kernel and for the rules of each operation, by their self time."""
        return report.rows(self.events, "kernel")

    def by_line(self) -> list[report.Row]:
        """One row for each line of the user's code; a backward counts for the forward's line."""
        return report.rows(self.events, "line")

    def table(self, by: str = "operation", rows: int = 20) -> str:
        """A table of the first `rows` rows.

        Raises
        ------
        InvalidArgumentError
            `by` is neither `operation`, `kernel` nor `line`.
        """
        return report.table(self, by, rows)

    def __str__(self) -> str:
        """The tables by operation and by line."""
        return f"{self.table()}\n\n{self.table('line')}"

    def export_chrome_trace(self, path: str | PathLike[str]) -> None:
        """Write the events as JSON that chrome://tracing and ui.perfetto.dev show."""
        trace.export(self, path)


def _user_line() -> Line:
    """(file, line number, function) of the innermost frame that is not polygrad's."""
    frame: Any = sys._getframe(1)  # noqa: SLF001  as the library does
    while frame is not None and is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return ("polygrad", 0, "")
    return (frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def _shapes(args: Any) -> tuple[tuple[int, ...], ...]:
    """The shapes of the arrays among arguments, of those in a first list too."""
    first = args[0] if args else None
    if isinstance(first, (list, tuple)):
        args = (*first, *args[1:])
    return tuple(tuple(a.shape) for a in args if hasattr(a, "shape"))


def _memory_of(args: Any) -> set[int]:
    """What holds the memory of the arrays among arguments."""
    return {id(_owner(a)) for a in args if hasattr(a, "shape")}


def _owner(array: Any) -> Any:
    base = getattr(array, "base", None)
    return array if base is None else base


def _bytes_made(out: Any, kernels: Kernels, old: set[int]) -> int:
    """The bytes of results that are not views of arguments."""
    if isinstance(out, (tuple, list)):
        return sum(_bytes_made(part, kernels, old) for part in out)
    if not isinstance(out, kernels.backend.array_types) or id(_owner(out)) in old:
        return 0
    return _bytes_of(out, kernels)


def _bytes_saved(node: Node) -> int:
    """The bytes of the arrays that a node holds; of one that it holds twice, once."""
    kernels, found = node.kernels, {}

    def look(value: Any) -> None:
        if isinstance(value, tuple):
            for part in value:
                look(part)
        elif isinstance(value, kernels.backend.array_types):
            found[id(value)] = _bytes_of(value, kernels)

    look(node.saved)
    return sum(found.values())


def _bytes_of(array: Any, kernels: Kernels) -> int:
    return size_of(array.shape) * kernels.backend.dtype_of(array).itemsize
