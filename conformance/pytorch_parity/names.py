"""Every public name of PyTorch's that a user may type: it is here, or the error says what to write.

Functions of `torch` are those that PyTorch lists as public in `torch.overrides`, those that may be
overridden and those that may not; Tensors have what `dir` finds; the other modules what they offer.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.optim import swa_utils
from torch.overrides import get_ignored_functions, get_overridable_functions

import polygrad as pg
from polygrad import hints
from pytorch_parity.report import Report

# What no script of a user has: for a reason, the names.
LEFT = {
    "internal to PyTorch": (
        r"(batch_norm|autocast)_.*|.*(autocast|warn_always|anomaly_check|multithreading)_.*"
        r"|(mi|mk)\w*_.*|fbgemm_.*|fused_.*|choose_.*|parse_.*|import_ir_.*|merge_type.*"
        r"|.*(torch_function\w*|view_replay_enabled|serialization|module_load|doc|common_args|notes)s?"
        r"|[A-Z]\w*(Type|Storage|Config|Event|State|Activity)|set_autocast\w*|is_autocast\w*"
        r"|get_autocast\w*|clear_autocast_cache|\w+_copy|slice_inverse|hash_tensor|norm_except_dim"
        r"|const_data_ptr|as_subclass|grad_dtype|dim_order|map2_|init_num_threads|convolution"
        r"|grid_sampler_[23]d|feature_dropout_?|embedding_renorm_|segment_reduce|volatile|reinforce"
        r"|from_file|fork|wait|unify_type_list|typename|get_file_path|compiled_with.*|prepare_.*"
        r"|swap_in_.*|convert_conv.*|.*_mm|grouped_mm|boolean_dispatch|assert_.*|variable|overload"
        r"|bind|invert_permutation|copy_method_params|kineto_available|is_tensor_like|SavedTensor"
        r"|NestedIOFunction|PackedSequence_|argument_validation|\w*datapipes?\w*|runtime_.*"
        r"|non_deterministic|DFIterDataPipe|DataChunk|enforce_grad.*|chalf|is_vulkan\w*"
        r"|thread_safe_generator|get_device_module|.*_deterministic_\w+|has_lapack|(narrow|nonzero)_\w+"
        r"|factory_kwargs|debug_unwrap|functionalize|rearrange|replace_all_batch_norm_modules_"
        r"|OpaqueBase|is_opaque_\w+|is_traceable_\w+|get_swap_\w+|set_warn_always|get_device"
    ),
    "sparse, quantized, or on other devices": (
        r".*(sparse|quant|mkldnn|nested|vulkan|mtia|maia|ipu|_xla|meta|padded_tensor).*"
        r"|(c?col|c?row)_indices|indices|values|coalesce|is_coalesced|sspaddmm|hspmm|spmm|smm|saddmm"
        r"|dsmm|hsmm|dense_dim|int_repr|qscheme|.*_factor_ex|per_(channel|tensor)\w*"
    ),
    "dtypes of less than a byte, or without numbers": r"bit|bits\w+|u?int[1-7]|float4\w*|complex32",
    "deprecated": (
        r"resize(_as)?_?|index|new_empty_strided|storage_\w+|is_(shared|set_to|distributed)"
    ),
    "lazy conjugates and signs": r"(is|resolve)_(conj|neg)",
}
# Modules, and what they are called here.
MODULES: tuple[tuple[Any, Any], ...] = (
    (torch.nn, pg.nn), (torch.nn.init, pg.nn.init), (torch.optim, pg.optim),
    (torch.optim.lr_scheduler, pg.optim.lr_scheduler), (torch.utils.data, pg.data),
    (torch.random, pg.random), (torch.autograd, pg.autograd), (torch.func, pg.autograd),
    (torch.autograd.functional, pg.autograd), (torch.amp, pg.amp), (swa_utils, pg.optim.swa_utils),
    (torch.nn.utils, pg.nn.utils), (torch.nn.utils.rnn, pg.nn.utils.rnn),
    (torch.nn.utils.parametrize, pg.nn.utils.parametrize),
    (torch.nn.utils.parametrizations, pg.nn.utils.parametrizations),
    (torch.nn.functional, pg.nn.functional), (torch.linalg, pg.linalg), (torch.fft, pg.fft),
    (torch.special, pg.special),
)  # fmt: skip


def _offered(module: Any) -> Iterable[str]:
    """What a module of PyTorch's defines itself, and functions of its C extension."""
    for name, value in vars(module).items():
        home = str(getattr(value, "__module__", None) or module.__name__)
        if name.startswith("_") or inspect.ismodule(value) or not callable(value):
            continue
        if home.startswith("torch") and type(value).__name__ != "TypeVar":
            yield name


def _of_torch() -> set[str]:
    """The functions of `torch` that its list of overrides knows, and its dtypes."""
    known = {*get_overridable_functions()[torch], *get_ignored_functions()}
    made = {name for name, value in vars(torch).items() if callable(value) and value in known}
    return made | {name for name, value in vars(torch).items() if isinstance(value, torch.dtype)}


def run(report: Report, wanted: Callable[[str], Any]) -> None:
    """Look up every name."""
    for subject, names, has, hint in _subjects():
        for name in sorted(n for n in names if not n.startswith("_") and wanted(n)):
            if has(name) or hint(name):
                report.equal(subject, name, 1, 1)
                continue
            reason = next((r for r, text in LEFT.items() if re.fullmatch(text, name)), "")
            if reason:
                report.leave(subject, reason)
            else:
                report.fail(subject, name, "not here, and nothing to say about it")


def _subjects() -> Iterable[tuple[str, Iterable[str], Callable[[str], bool], Callable[[str], str]]]:
    """Of each module: its name, the names in it, whether one is here, and what is said of it."""
    yield "torch", _of_torch(), lambda n: hasattr(pg, n), hints.hint
    yield "torch.Tensor", dir(torch.Tensor), lambda n: hasattr(pg.Tensor, n), hints.method_hint
    for theirs, ours in MODULES:
        module = importlib.import_module(ours.__name__)
        yield (
            theirs.__name__,
            set(_offered(theirs)),
            lambda n, module=module: n in module.__all__,
            lambda n, module=module: hints.hint(n, module.__name__),
        )
