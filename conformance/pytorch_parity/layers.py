"""Layers, over the inputs of PyTorch's own test databases, in training and in evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.testing._internal import common_modules, common_nn

from polygrad import nn
from pytorch_parity import _own
from pytorch_parity._bridge import (
    compare_modules,
    compare_refusal,
    named,
    remember_arguments,
    said,
    translate,
    translate_keywords,
    twin,
)

__all__ = ["run"]

DTYPES = {torch.float64: (2, ""), torch.float32: (1, ", float32")}
# Their random numbers differ from PyTorch's; those that evaluate are compared.
RANDOM = ("RReLU",)


class Case(NamedTuple):
    """A layer of PyTorch and what it is called with."""

    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


# ---- the databases ----------------------------------------------------------------------------
def by_database(name: str, dtype: torch.dtype, *, training: bool) -> Iterator[Case]:
    """The cases of `common_modules`, the newer of the two."""
    for info in common_modules.module_db:
        if info.module_cls.__name__ != name:
            continue
        torch.manual_seed(0)
        for sample in info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=True, training=training
        ):
            made, given = sample.constructor_input, sample.forward_input
            kwargs = dict(made.kwargs)
            if name.startswith("Fractional"):  # both take the same random numbers
                axes, x = int(name[-2]), given.args[0]
                batch = x.shape[:2] if x.ndim == axes + 2 else (1, x.shape[0])
                kwargs["_random_samples"] = torch.rand(*batch, axes, dtype=dtype)
            module = info.module_cls(*made.args, **kwargs).to(dtype).train(training)
            yield Case(module, tuple(given.args), dict(given.kwargs))


def by_old_database(dtype: torch.dtype) -> Iterator[Case]:
    """The cases of `common_nn` that are layers; those that are functions have no class."""
    for row in [*common_nn.module_tests, *common_nn.get_new_module_tests()]:
        given = dict(row)
        if "constructor" not in given:
            given["constructor"] = getattr(torch.nn, given.pop("module_name"))
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)
        try:
            test = common_nn.TestBase(**given)
            module = test.constructor(*test._get_arg("constructor_args", unpack=False))
            inputs = test._get_input(unpack=False)
        finally:
            torch.set_default_dtype(torch.float32)
        if type(module).__name__ == "FunctionalModule":
            continue
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        yield Case(module.to(dtype), tuple(_floating(x, dtype) for x in inputs), {})


def _floating(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return value.detach().to(dtype).requires_grad_()
    return value


# ---- both must refuse -------------------------------------------------------------------------
def compare_errors(report: Any, name: str) -> None:
    """What PyTorch refuses, in making a layer or in calling it, polygrad refuses."""
    for info in common_modules.module_db:
        inputs = info.module_error_inputs_func
        if info.module_cls.__name__ != name or inputs is None:
            continue
        for training in (True, False):
            for wrong in inputs(
                info, device="cpu", dtype=torch.float64, requires_grad=False, training=training
            ):
                _compare_error(report, info.module_cls, wrong)


def _compare_error(report: Any, cls: type, wrong: Any) -> None:
    made, given = wrong.module_error_input.constructor_input, wrong.module_error_input.forward_input
    args, kwargs = named(cls, made.args, made.kwargs)
    ours = getattr(nn, cls.__name__)

    def make() -> Any:
        return ours(*map(translate, args), **translate_keywords(kwargs))

    if wrong.error_on == common_modules.ModuleErrorEnum.CONSTRUCTION_ERROR:
        text = said(made.args, made.kwargs)
        compare_refusal(report, cls.__name__, text, lambda: cls(*made.args, **made.kwargs), make)
        return
    text = said(made.args, made.kwargs) + said(given.args, given.kwargs)
    module = cls(*made.args, **made.kwargs)
    compare_refusal(
        report, cls.__name__, text, lambda: module(*given.args, **given.kwargs),
        lambda: twin(module)(*map(translate, given.args), **translate_keywords(given.kwargs)),
    )  # fmt: skip


# ---- all --------------------------------------------------------------------------------------
def compare_database(report: Any, name: str) -> None:
    """Both dtypes, in training and in evaluation; and what is refused."""
    for dtype, (order, what) in DTYPES.items():
        for training in (True, False):
            for case in by_database(name, dtype, training=training):
                compare_modules(report, case.module, case.args, case.kwargs, order, what)
    compare_errors(report, name)


def run(report: Any, wanted: Callable[[str], Any]) -> None:
    """All layers but losses."""
    remember_arguments()
    for name in sorted({info.module_cls.__name__ for info in common_modules.module_db}):
        if "Loss" not in name and wanted(name):
            compare_database(report, name)
    for dtype, (order, what) in DTYPES.items():
        for case in by_old_database(dtype):
            name = type(case.module).__name__
            if not wanted(name):
                continue
            for training in (True, False):
                module = case.module.train(training)
                if training and name in RANDOM:
                    report.leave(name, "random numbers differ")
                    continue
                compare_modules(report, module, case.args, case.kwargs, order, what)
    compare_own(report, _own.layers(), wanted)
    missing = [
        name for name in nn.__all__
        if name not in report.rows and wanted(name) and name not in NOT_CALLED and is_layer(name)
    ]  # fmt: skip
    for name in missing:
        report.fail(name, "", "no combination was compared")


def is_layer(name: str) -> bool:
    """Whether it is a layer, and no loss."""
    made = getattr(nn, name)
    return isinstance(made, type) and issubclass(made, nn.Module) and "Loss" not in name


# Containers that are not called, and the base.
NOT_CALLED = ("Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList")


def compare_own(report: Any, rows: Iterator[Any], wanted: Callable[[str], Any]) -> None:
    """The combinations of `_own`, in training and, where that differs, in evaluation."""
    for module, args, kwargs in rows:
        if not wanted(type(module).__name__):
            continue
        stateful = module.training and any(m.__class__.__name__.endswith(
            ("Norm1d", "Norm2d", "Norm3d")) for m in module.modules())  # fmt: skip
        compare_modules(report, module, args, kwargs)
        if stateful:
            compare_modules(report, module.eval(), args, kwargs)
