"""Losses, over the inputs of PyTorch's own test databases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal import common_modules, common_nn

from pytorch_parity import _own
from pytorch_parity._bridge import compare_modules, remember_arguments
from pytorch_parity.layers import DTYPES, Case, _floating, compare_database, compare_own

__all__ = ["run"]


def by_old_database(dtype: torch.dtype) -> Iterator[Case]:
    """The cases of `common_nn`: losses without a batch."""
    for row in common_nn.criterion_tests:
        torch.manual_seed(0)
        torch.set_default_dtype(torch.float64)
        try:
            test = common_nn.CriterionTest(**row)
            module = test.constructor(*test._get_arg("constructor_args", unpack=False))
            inputs, target = test._get_arg("input", unpack=False), test._get_target()
        finally:
            torch.set_default_dtype(torch.float32)
        inputs = inputs if isinstance(inputs, tuple) else (inputs,)
        inputs = tuple(_floating(x, dtype) for x in inputs)
        if target.is_floating_point():
            target = target.to(dtype)
        yield Case(module.to(dtype), (*inputs, target, *test.extra_args), {})


def run(report: Any, wanted: Callable[[str], Any]) -> None:
    """All losses."""
    remember_arguments()
    for name in sorted({info.module_cls.__name__ for info in common_modules.module_db}):
        if "Loss" in name and wanted(name):
            compare_database(report, name)
    for dtype, (order, what) in DTYPES.items():
        for case in by_old_database(dtype):
            if wanted(type(case.module).__name__):
                compare_modules(report, case.module, case.args, case.kwargs, order, what)
    compare_own(report, _own.losses(), wanted)
