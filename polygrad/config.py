"""What a thread of execution has chosen: whether to record, the default device, the default dtype.

The grad mode is one ContextVar, so that an operation asks one question. Its value is False, True,
or a `Recorder` that also wants to see every node as it is made (anomaly detection, saved-tensor
hooks).
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Generator
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, cast

from polygrad import dtypes
from polygrad.errors import DtypeError, InvalidTypeError

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "GradMode",
    "Recorder",
    "checks_now",
    "default_complex_dtype",
    "default_dtype",
    "deterministic_algorithms",
    "enable_grad",
    "grad_mode",
    "is_grad_enabled",
    "no_grad",
    "recorder",
    "run_inside",
    "set_default_dtype",
    "set_grad_enabled",
    "use_deterministic_algorithms",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class Recorder(Protocol):
    """Sees each node right after it was recorded, and may replace what it saved."""

    def annotate(self, node: Any) -> None:
        """Look at `node`, which was recorded a moment ago."""


checks_now: ContextVar[bool] = ContextVar(
    "polygrad.checks_now", default=os.environ.get("POLYGRAD_CHECK_INDICES", "0") not in ("", "0")
)
grad_mode: ContextVar[bool | Recorder] = ContextVar("polygrad.grad_mode", default=True)
recorder: ContextVar[Recorder | None] = ContextVar("polygrad.recorder", default=None)


def is_grad_enabled() -> bool:
    """Whether operations on tensors that require grad are recorded in this thread.

    >>> is_grad_enabled()
    True
    """
    return bool(grad_mode.get())


class GradMode:
    """A grad mode as a context manager and as a decorator of functions and generators.

    The mode before is restored on every path; one object may be entered again while it is active.
    """

    def __init__(self, enabled: bool) -> None:
        self.enabled = enabled
        self._tokens: list[Token[bool | Recorder]] = []

    def __enter__(self) -> Self:
        """Switch to this mode."""
        mode: bool | Recorder = (recorder.get() or True) if self.enabled else False
        self._tokens.append(grad_mode.set(mode))
        return self

    def __exit__(self, *exc: object) -> None:
        """Restore the mode that was in force at the matching `__enter__`."""
        grad_mode.reset(self._tokens.pop())

    def __call__(self, function: Decorated) -> Decorated:
        """Run `function` in this mode; a generator runs in it only between its own yields."""
        return run_inside(function, lambda: GradMode(self.enabled))


def run_inside(function: Decorated, context: Callable[[], Any]) -> Decorated:
    """Wrap a function: it runs inside a context made anew for each call, which threads may share.

    So do the bodies of coroutines and generators, not what happens between their steps.

    Raises
    ------
    InvalidTypeError
        An asynchronous generator.
    """
    if inspect.isasyncgenfunction(function):
        raise InvalidTypeError(
            f"{function.__name__} is an asynchronous generator", "a mode as a decorator",
            "write `with` inside it, around what shall run in the mode",
        )  # fmt: skip
    if inspect.isgeneratorfunction(function):
        return cast("Decorated", _generator_inside(function, context))
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def waiting(*args: Any, **kwargs: Any) -> Any:
            with context():
                return await function(*args, **kwargs)

        return cast("Decorated", waiting)

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        with context():
            return function(*args, **kwargs)

    return cast("Decorated", inner)


def _generator_inside(
    function: Callable[..., Any], context: Callable[[], Any]
) -> Callable[..., Any]:
    """Wrap a generator function: its body runs in the context, its consumer does not."""

    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        generator = function(*args, **kwargs)
        resume, value = generator.send, None
        while True:
            try:
                with context():
                    item = resume(value)
            except StopIteration as stop:
                return stop.value
            try:
                value = yield item
                resume = generator.send
            except GeneratorExit:
                with context():
                    generator.close()
                raise
            except BaseException as error:  # noqa: BLE001
                value, resume = error, generator.throw

    return inner


class no_grad(GradMode):  # noqa: N801  PyTorch's name
    """Operations inside are not recorded.

    >>> with no_grad():
    ...     is_grad_enabled()
    False
    """

    def __init__(self, function: Callable[..., Any] | None = None) -> None:
        if function is not None:
            raise InvalidTypeError(
                "no_grad takes no function",
                "it was used as a bare decorator, or called with an argument",
                "write @no_grad() with parentheses, or `with no_grad():`",
            )
        super().__init__(enabled=False)


class enable_grad(GradMode):  # noqa: N801  PyTorch's name
    """Operations inside are recorded, also within `no_grad`."""

    def __init__(self) -> None:
        super().__init__(enabled=True)


class set_grad_enabled(GradMode):  # noqa: N801  PyTorch's name
    """Switch the grad mode now; as a context manager, restore it afterwards.

    As a decorator it leaves the mode at the place of decoration alone.
    """

    def __init__(self, mode: bool) -> None:
        super().__init__(enabled=bool(mode))
        super().__enter__()

    def __enter__(self) -> Self:
        """The mode was set at construction."""
        return self

    def __call__(self, function: Decorated) -> Decorated:
        """Undo the switch made at construction and decorate."""
        super().__exit__()
        return super().__call__(function)


_default: dict[str, np.dtype[Any]] = {"real": dtypes.float32, "complex": dtypes.complex64}


def default_dtype() -> np.dtype[Any]:
    """The floating dtype of new tensors made from Python floats: float32 until changed."""
    return _default["real"]


def default_complex_dtype() -> np.dtype[Any]:
    """The complex dtype of the same precision as `default_dtype()`."""
    return _default["complex"]


def set_default_dtype(dtype: Any) -> None:
    """Set the floating dtype that Python numbers and creation functions take.

    Raises
    ------
    DtypeError
        `dtype` is not a real floating dtype.
    """
    dtype = dtypes.canonical(dtype)
    if dtypes.kind_of(dtype) != dtypes.REAL:
        raise DtypeError(
            f"the default dtype must be a real floating dtype, not {dtype}",
            "set_default_dtype, argument dtype",
            "pass pg.float32, pg.float64, pg.float16 or pg.bfloat16",
        )
    _default["real"] = dtype
    _default["complex"] = dtypes.complex_of(dtype)


_deterministic = {"on": False}


def deterministic_algorithms() -> bool:
    """Whether `use_deterministic_algorithms` is on."""
    return _deterministic["on"]


def use_deterministic_algorithms(mode: bool) -> None:
    """Have the same program give the same bits each time, on devices that do not by themselves.

    That is CuPy's, where values that are added to one place (the gradients of `x[indices]`, `take`,
    `embedding`; `index_add`) are added in the order in which threads come to it, so that the last
    bits of floating sums differ from run to run. With this they are sorted first, and added in a
    fixed order, at several times the price. All other operations of polygrad are deterministic;
    what the libraries of CUDA do, their own documentation says (`CUBLAS_WORKSPACE_CONFIG` for
    products on several streams).

    Parameters
    ----------
    mode
        True: on, in all threads; False: off, as at the start.

    Raises
    ------
    InvalidTypeError
        It is no bool.
    """
    if not isinstance(mode, bool):
        raise InvalidTypeError(
            f"mode is {mode!r}", "use_deterministic_algorithms", "pass True or False"
        )
    _deterministic["on"] = mode
