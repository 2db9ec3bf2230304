"""`nn.functional`, over the samples of PyTorch's own operator database and its older tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode
from torch.testing._internal import common_methods_invocations, common_nn

from polygrad.nn import functional
from pytorch_parity._bridge import (
    compare,
    compare_refusal,
    named,
    said,
    softened,
    translate,
    translate_keywords,
)
from pytorch_parity.layers import DTYPES as REAL

__all__ = ["run"]

DTYPES = {**REAL, torch.complex128: (1, ", complex")}
_SPACE = "nn.functional."


class Call(NamedTuple):
    """A function of PyTorch and what it is called with."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


# ---- the operator database --------------------------------------------------------------------
def by_database(op: Any, dtype: torch.dtype) -> Iterator[Call]:
    """The samples of one entry."""
    torch.manual_seed(0)
    for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd):
        yield Call(
            op.name.removeprefix(_SPACE), op.op, (sample.input, *sample.args), sample.kwargs
        )


# ---- the older tests: functions wrapped as layers ----------------------------------------------
class Recorder(TorchFunctionMode):
    """Notes the calls of functions of `torch.nn.functional`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "").removesuffix("_with_indices")
        if hasattr(torch.nn.functional, name) and name != "sigmoid":
            theirs = getattr(torch.nn.functional, name)
            self.calls.append(Call(name, theirs, tuple(args), dict(kwargs or {})))
        return func(*args, **(kwargs or {}))


def by_old_tests() -> Iterator[Call]:
    """What the functions among the tests of `common_nn` call."""
    for row in common_nn.get_new_module_tests():
        if "constructor" not in row:
            continue
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)
        try:
            test = common_nn.TestBase(**row)
            module = test.constructor()
            if type(module).__name__ != "FunctionalModule":
                continue
            inputs = test._get_input(unpack=False)
            inputs = inputs if isinstance(inputs, tuple) else (inputs,)
            inputs = [
                x.double().requires_grad_() if isinstance(x, torch.Tensor) and
                x.is_floating_point() else x for x in inputs
            ]  # fmt: skip
            with Recorder() as recorder:
                module(*inputs)
        finally:
            torch.set_default_dtype(torch.float32)
        yield from recorder.calls


# ---- both must refuse -------------------------------------------------------------------------
def compare_errors(report: Any, op: Any, ours: Callable[..., Any]) -> None:
    """What PyTorch refuses, polygrad refuses."""
    if op.error_inputs_func is None:
        return
    name = op.name.removeprefix(_SPACE)
    for wrong in op.error_inputs("cpu"):
        sample = wrong.sample_input
        args, kwargs = (sample.input, *sample.args), sample.kwargs
        our_args, our_kwargs = named(op.op, args, kwargs)
        compare_refusal(
            report, name, said(args, kwargs), lambda a=args, k=kwargs: op.op(*a, **k),
            lambda a=our_args, k=our_kwargs: ours(*map(translate, a), **translate_keywords(k)),
        )  # fmt: skip


# ---- what cannot agree, by its values ---------------------------------------------------------
def _repeats(call: Call) -> bool:
    """Whether an index occurs twice in one image: of equal places the last one counts here."""
    indices = call.args[1]
    spatial = int(call.name[len("max_unpool")])
    for image in indices.reshape(-1, indices[(0,) * (indices.ndim - spatial)].numel()):
        if image.unique().numel() < image.numel():
            return True
    return False


def reason(call: Call) -> str | None:
    """Why a call is not compared; None if it is."""
    given = call.kwargs
    if call.name.startswith("max_unpool") and _repeats(call):
        return "of equal places the last one counts, and alone has a gradient"
    if call.name.endswith(("dropout", "dropout1d", "dropout2d", "dropout3d")):
        training = given.get("training", "alpha" not in call.name)
        if training and given.get("p", 0.5) not in (0, 1):
            return "random numbers differ"
    if call.name == "rrelu" and given.get("training"):
        return "random numbers differ"
    if call.name == "scaled_dot_product_attention" and given.get("dropout_p"):
        return "random numbers differ"
    return None


def _pair(call: Call) -> tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]:
    """The two functions, and their arguments in the order of `nn.functional`."""
    ours, args = getattr(functional, call.name), call.args
    if call.name == "ctc_loss":
        return *softened(torch.nn.functional.ctc_loss, ours), args
    if call.name in ("embedding", "embedding_bag") and args[0].is_floating_point():
        args = (args[1], args[0], *args[2:])  # the database has the weight first
        return getattr(torch.nn.functional, call.name), ours, args
    return call.function, ours, args


def _with_samples(call: Call) -> Call:
    """With the random numbers of fractional pooling, so that both take the same."""
    axes = int(call.name[-2])
    if call.kwargs.get("_random_samples") is not None or len(call.args) > 5:
        return call
    x = call.args[0]
    batch = x.shape[:2] if x.ndim == axes + 2 else (1, x.shape[0])
    samples = torch.rand(*batch, axes, dtype=x.dtype)
    return call._replace(kwargs={**call.kwargs, "_random_samples": samples})


def _compare(report: Any, call: Call, order: int, what: str = "") -> None:
    text = said(call.args, call.kwargs) + what
    why = reason(call)
    if why is not None:
        report.leave(call.name, why)
        return
    if call.name.startswith("fractional"):
        call = _with_samples(call)
    theirs, ours, args = _pair(call)
    compare(report, call.name, text, theirs, ours, args, call.kwargs, order)


def run(report: Any, wanted: Callable[[str], Any]) -> None:
    """All functions of `nn.functional`."""
    for op in common_methods_invocations.op_db:
        name = op.name.removeprefix(_SPACE)
        if not op.name.startswith(_SPACE) or not wanted(name):
            continue
        ours = getattr(functional, name, None)
        if ours is None:
            report.leave(name, "not there")
            continue
        for dtype, (order, what) in DTYPES.items():
            if not op.supports_dtype(dtype, "cpu"):
                continue
            for call in by_database(op, dtype):
                _compare(report, call, order, what)
        compare_errors(report, op, ours)
    for call in by_old_tests():
        if hasattr(functional, call.name) and wanted(call.name):
            _compare(report, call, 2)
