"""One call in both libraries: values translated, run forwards and backwards, and compared."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import polygrad as pg
from polygrad import nn
from pytorch_parity._differences import ORDERS, difference
from pytorch_parity.report import Report

__all__ = [
    "Unlike", "compare", "compare_modules", "compare_refusal", "named", "remember_arguments",
    "said", "softened", "translate", "translate_keywords", "twin",
]  # fmt: skip

# Names that differ.
_KEYWORDS = {
    "dim": "axis", "keepdim": "keepdims", "start_dim": "start_axis", "end_dim": "end_axis",
    "embed_axis": "embed_dim",
}  # fmt: skip
# Arguments that change how something is computed, not what.
_MEANS = ("options", "device")
# Arguments that polygrad has not, where they say nothing.
_SILENT = {
    "size_average": (None,), "reduce": (None,), "_stacklevel": (3,), "out": (None,),
    "sparse": (False,), "_freeze": (False,), "_weight": (None,),
}  # fmt: skip
DIRECT = (RuntimeError, ValueError, TypeError, IndexError, NotImplementedError, AssertionError)


class Unlike(Exception):  # noqa: N818  it is no error, but a reason
    """A combination that polygrad leaves out on purpose; its text says why."""


# ---- translation --------------------------------------------------------------------------------
def remember_arguments() -> None:
    """From now on every PyTorch module knows what it was made with: `made_with`."""
    todo, done = [torch.nn.Module], set()
    while todo:
        for cls in set(todo.pop().__subclasses__()) - done:
            done.add(cls)
            todo.append(cls)
            if cls.__module__.startswith("torch.nn.modules") and "__init__" in vars(cls):
                cls.__init__ = _remembering(cls.__init__)


def made_with(module: torch.nn.Module) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What a module was made with; nothing, for those whose class has no `__init__`."""
    return module.__dict__.get("made_with", ((), {}))


def _remembering(init: Callable[..., None]) -> Callable[..., None]:
    def remembering(self: Any, *args: Any, **kwargs: Any) -> None:
        self.__dict__.setdefault("made_with", (args, kwargs))
        init(self, *args, **kwargs)

    remembering.__signature__ = inspect.signature(init)
    return remembering


def translate(value: Any) -> Any:
    """A value of PyTorch as polygrad's; containers by element."""
    if isinstance(value, torch.Tensor):
        array = value.detach().resolve_conj().resolve_neg().numpy().copy()
        return pg.tensor(array, requires_grad=value.requires_grad)
    if isinstance(value, torch.dtype):
        return np.dtype(str(value).removeprefix("torch."))
    if isinstance(value, torch.nn.Module):
        return twin(value)
    if isinstance(value, (tuple, list)):
        return (tuple if isinstance(value, tuple) else list)(map(translate, value))
    if callable(value) and hasattr(nn.functional, getattr(value, "__name__", " ")):
        return getattr(nn.functional, value.__name__)
    return value


def translate_keywords(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The same by keyword, with polygrad's names, without those that say nothing."""
    return {
        _KEYWORDS.get(name, name): translate(value)
        for name, value in kwargs.items()
        if name not in _MEANS
        and not (name in _SILENT and any(value is v or value == v for v in _SILENT[name]))
    }


def named(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """(args, kwargs) with what was given by position after the first two by name, if it can be."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return args, kwargs
    names = [
        p.name for p in signature.parameters.values() if p.kind == p.POSITIONAL_OR_KEYWORD
    ]
    if len(names) < len(args):
        return args, kwargs
    by_name = dict(zip(names[: len(args)], args, strict=True))
    keep = 2 if any(isinstance(a, torch.Tensor) for a in args[1:2]) else 1
    head = args[:keep]
    return head, {**dict(list(by_name.items())[keep:]), **kwargs}


def twin(module: torch.nn.Module) -> nn.Module:
    """The layer of polygrad with the arguments, parameters and buffers of one of PyTorch's."""
    name = type(module).__name__
    if not hasattr(nn, name):
        raise Unlike(f"there is no nn.{name}")
    args, kwargs = named(type(module), *made_with(module))
    made = getattr(nn, name)(*map(translate, args), **translate_keywords(kwargs))
    dtypes = {t.dtype for t in module.state_dict().values() if t.is_floating_point()}
    if dtypes:
        made = made.to(translate(dtypes.pop()))
    state = {k: v.detach().numpy().copy() for k, v in module.state_dict().items()}
    made.load_state_dict(state)
    return made.train(module.training)


# ---- run and compare ----------------------------------------------------------------------------
@dataclasses.dataclass
class Library:
    """What differs between the two in running backwards."""

    tensor: type
    floating: Callable[[Any], bool]
    constant: Callable[[np.ndarray, Any], Any]
    grad: Callable[..., Any]


_TORCH = Library(
    torch.Tensor, lambda t: t.is_floating_point() or t.is_complex(),
    lambda a, like: torch.from_numpy(a).to(like.dtype), torch.autograd.grad,
)  # fmt: skip
_POLYGRAD = Library(
    pg.Tensor, lambda t: t.dtype.kind in "fc",
    lambda a, like: pg.tensor(a, dtype=like.dtype), pg.autograd.grad,
)  # fmt: skip


def leaves(value: Any, kind: type) -> list[Any]:
    """Tensors in containers, in order."""
    if isinstance(value, kind):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [leaf for v in value for leaf in leaves(v, kind)]
    # Packed sequences and the like are named tuples, or objects with `data`.
    return []


def _weights(shape: tuple[int, ...], turn: int) -> np.ndarray:
    """Fixed numbers for contracting results of one shape."""
    return np.cos(np.arange(1, 1 + int(np.prod(shape))) * (1.3 + 0.1 * turn)).reshape(shape)


def _contract(
    library: Library, outputs: dict[int, Any], inputs: list[Any], *, again: bool
) -> Any:
    """The gradients of fixed combinations of outputs, which keep their numbers."""
    weights = [
        library.constant(_weights(tuple(o.shape), i), o) for i, o in outputs.items()
    ]
    outputs = list(outputs.values())
    return library.grad(
        outputs, inputs, weights, create_graph=again, retain_graph=True, allow_unused=True,
        materialize_grads=True,
    )  # fmt: skip


def differentiate(library: Library, outputs: Any, inputs: list[Any], order: int) -> dict[str, Any]:
    """The outputs' gradients in the inputs, and those of the gradients."""
    found: dict[str, Any] = {}
    now = {
        i: o for i, o in enumerate(leaves(outputs, library.tensor))
        if library.floating(o) and o.requires_grad
    }  # fmt: skip
    for name in ("gradients", "second gradients")[:order]:
        # Nothing depends on the inputs: zeros, whether a library says so or has no graph left.
        grads = [t.detach() * 0 for t in inputs]
        if now and inputs:
            grads = _contract(library, now, inputs, again=name == "gradients" and order > 1)
        found[name] = list(grads)
        now = {i: g for i, g in enumerate(grads) if g.requires_grad}
    return found


def _inputs(library: Library, *values: Any) -> list[Any]:
    return [t for v in values for t in leaves(v, library.tensor) if t.requires_grad]


def said(args: Any, kwargs: Any = None) -> str:
    """Arguments in a few words: tensors by dtype and shape."""
    parts = [_word(a) for a in args] + [f"{k}={_word(v)}" for k, v in (kwargs or {}).items()]
    return "(" + ", ".join(parts) + ")"


def _word(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(_word, value)) + ")"
    if isinstance(value, torch.nn.Module):
        return type(value).__name__
    return getattr(value, "__name__", repr(value))


_NO_SECOND = ("is not implemented", "double backwards", "not differentiable", "twice")


def _run(
    library: Library, call: Callable[[], Any], inputs: list[Any], order: int
) -> tuple[Any, dict[str, Any], int]:
    """(outputs, gradients, the order that could be reached)."""
    outputs = call()
    while True:
        try:
            return outputs, differentiate(library, outputs, inputs, order), order
        except (RuntimeError, NotImplementedError) as error:
            if library is not _TORCH or order < 2 or not any(w in str(error) for w in _NO_SECOND):
                raise
            order -= 1


def compare(
    report: Any, subject: str, arguments: str, theirs: Callable[..., Any],
    ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], order: int = 2,
    parameters: tuple[list[Any], list[Any]] = ([], []), after: Any = None,
) -> None:  # fmt: skip
    """Call both with the same values; outputs and gradients must agree, or both must refuse."""
    order = min(order, ORDERS.get(subject, 2))
    known = difference(subject, arguments)
    if known is None:
        _compare(report, subject, arguments, theirs, ours, args, kwargs, order, parameters, after)
        return
    attempt = Report(echo=False)
    _compare(attempt, subject, arguments, theirs, ours, args, kwargs, order, parameters, after)
    reason, bound = known
    if attempt.failures and max(attempt.rows[subject].worst.values(), default=0.0) <= bound:
        report.leave(subject, reason)
    elif attempt.failures:
        report.fail(subject, arguments, "; ".join(attempt.failures))
    else:
        report.equal(subject, arguments, None, None)


def _compare(
    report: Any, subject: str, arguments: str, theirs: Callable[..., Any],
    ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], order: int,
    parameters: tuple[list[Any], list[Any]], after: Any,
) -> None:  # fmt: skip
    args = tuple(_fresh(a) for a in args)
    kwargs = {k: _fresh(v) for k, v in kwargs.items()}
    our_args, our_kwargs = named(theirs, args, kwargs)
    our_args, our_kwargs = tuple(map(translate, our_args)), translate_keywords(our_kwargs)
    try:
        inputs = [*_inputs(_TORCH, args, kwargs), *parameters[0]]
        expected, gradients, order = _run(
            _TORCH, lambda: theirs(*args, **kwargs), inputs, order
        )
        refused = None
    except DIRECT as error:
        refused = error
    try:
        inputs = [*_inputs(_POLYGRAD, our_args, our_kwargs), *parameters[1]]
        got, our_gradients, _ = _run(
            _POLYGRAD, lambda: ours(*our_args, **our_kwargs), inputs, order
        )
    except Unlike:
        raise
    except Exception as error:  # noqa: BLE001  whatever it is, it is what the report is for
        if refused is None:
            report.fail(subject, arguments, f"{type(error).__name__}: {error}")
        elif isinstance(error, pg.errors.PolygradError):
            report.equal(subject, arguments, None, None)
        else:
            report.fail(subject, arguments, f"no error of polygrad: {error!r}")
        return
    if refused is not None:
        report.fail(subject, arguments, f"PyTorch refuses: {str(refused).splitlines()[0]}")
        return
    mine = {"outputs": _plain(got), **our_gradients}
    peer = {"outputs": _plain(expected), **gradients}
    if after is not None:
        mine["state"], peer["state"] = after()
    report.equal(subject, arguments, mine, peer)


def _fresh(value: Any) -> Any:
    """A value whose tensors are leaves of their own."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)(_fresh(v) for v in value)
    return value


def _plain(value: Any) -> Any:
    """Named tuples as tuples, which compare by position."""
    if isinstance(value, (tuple, list)):
        return tuple(_plain(v) for v in value)
    return value


def softened(theirs: Callable[..., Any], ours: Callable[..., Any]) -> tuple[Any, Any]:
    """Both behind a log_softmax: only there PyTorch's gradient of `ctc_loss` is right."""
    soft, ours_soft = torch.nn.functional.log_softmax, nn.functional.log_softmax
    return (
        lambda logits, *args, **kwargs: theirs(soft(logits, dim=-1), *args, **kwargs),
        lambda logits, *args, **kwargs: ours(ours_soft(logits, axis=-1), *args, **kwargs),
    )


def compare_modules(
    report: Any, theirs: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any],
    order: int = 2, what: str = "",
) -> None:  # fmt: skip
    """A layer beside its twin: outputs, gradients of inputs and parameters, keys, state after."""
    name = type(theirs).__name__
    made = said(*made_with(theirs))
    mode = "" if theirs.training else ", eval"
    text = f"{made}{said(args, kwargs)}{mode}{what}"
    if "sparse=True" in made:
        report.leave(name, difference(name, made)[0])
        return
    try:
        ours = twin(theirs)
    except Unlike as reason:
        report.leave(name, str(reason))
        return
    except Exception as error:  # noqa: BLE001  whatever it is, it is what the report is for
        report.fail(name, text, f"made: {type(error).__name__}: {error}")
        return
    their_parameters = [p for p in theirs.parameters() if p.requires_grad]
    our_parameters = [p for p in ours.parameters() if p.requires_grad]
    calls = softened(theirs, ours) if name == "CTCLoss" else (theirs.__call__, ours)
    compare(
        report, name, text, *calls, args, kwargs, order,
        (their_parameters, our_parameters),
        lambda: (ours.state_dict(), dict(theirs.state_dict())),
    )  # fmt: skip


def compare_refusal(
    report: Any, subject: str, arguments: str, theirs: Callable[[], Any], ours: Callable[[], Any]
) -> None:
    """What PyTorch refuses, polygrad refuses with an error of its own."""
    try:
        theirs()
    except DIRECT:
        pass
    else:
        report.fail(subject, arguments, "PyTorch does not refuse what its list says it does")
        return
    known = difference(subject, arguments)
    try:
        ours()
    except pg.errors.PolygradError:
        report.equal(subject, arguments, None, None)
    except Exception as error:  # noqa: BLE001  whatever it is, it is what the report is for
        report.fail(subject, arguments, f"no error of polygrad: {error!r}")
    else:
        if known is None:
            report.fail(subject, arguments, "PyTorch refuses, polygrad does not")
        else:
            report.leave(subject, known[0])
