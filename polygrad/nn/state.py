"""What a module saves and loads: `state_dict` and `load_state_dict`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from polygrad.config import no_grad
from polygrad.errors import (
    DeviceLostError,
    InvalidTypeError,
    OutOfMemoryError,
    PolygradError,
)
from polygrad.nn.parameter import Parameter
from polygrad.ops.creation import tensor, to_place
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.writes import assign

if TYPE_CHECKING:
    from polygrad.nn.module import Module

__all__ = ["EXTRA_STATE", "IncompatibleKeys", "StateDictError", "load_state_dict", "state_dict"]

EXTRA_STATE = "_extra_state"


class StateDictError(PolygradError, RuntimeError):
    """A state_dict does not fit the module; the message lists every key that is at fault."""


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` did not find, and what it found in excess."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        """Short when there is nothing to say."""
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys}, "
            f"unexpected_keys={self.unexpected_keys})"
        )


def snapshot(t: Tensor) -> Tensor:
    """A constant of the present value: it shares the array, copy-on-write keeps writes out."""
    return new_tensor(raw(t), t.kernels)


# ---- saving ---------------------------------------------------------------------------------
def state_dict(
    module: Module, destination: dict[str, Any], prefix: str, *, keep_vars: bool
) -> dict[str, Any]:
    """Fill `destination` with what `module` and its children save."""
    table = module.hook_table
    for entry in table.state_pre:
        entry.function(module, prefix, keep_vars)
    module._save_to_state_dict(destination, prefix, keep_vars)  # noqa: SLF001  an override point
    for name, child in module.named_registered("module"):
        child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for entry in table.state_post:
        made = entry.function(module, destination, prefix, {})
        if made is not None:
            raise InvalidTypeError(
                f"a state_dict post-hook returned {type(made).__name__}", type(module).__name__,
                "change the dictionary in place and return None",
            )  # fmt: skip
    return destination


def save_own(module: Module, destination: dict[str, Any], prefix: str, *, keep_vars: bool) -> None:
    """What the module itself saves, without its children."""
    for name, value in saved_tensors(module):
        destination[prefix + name] = value if keep_vars else snapshot(value)
    if has_extra_state(module):
        destination[prefix + EXTRA_STATE] = module.get_extra_state()


def saved_tensors(module: Module) -> list[tuple[str, Tensor]]:
    """The module's own parameters and persistent buffers."""
    return [*module.named_registered("parameter"), *module.named_registered("buffer")]


def has_extra_state(module: Module) -> bool:
    """Whether the class defines `get_extra_state`."""
    from polygrad.nn.module import Module  # noqa: PLC0415  it imports this module

    return type(module).get_extra_state is not Module.get_extra_state


# ---- loading --------------------------------------------------------------------------------
class Report(NamedTuple):
    """What loading found: keys and complaints, each list filled by the modules in turn."""

    missing: list[str]
    unexpected: list[str]
    errors: list[str]


def load_state_dict(
    module: Module, state: Mapping[str, Any], *, strict: bool, assign_tensors: bool
) -> IncompatibleKeys:
    """Copy `state` into the module and its children; one error names every key at fault."""
    if not isinstance(state, Mapping):
        raise InvalidTypeError(
            f"a state_dict is a dictionary, not {type(state).__name__}",
            f"load_state_dict of {type(module).__name__}", "pass what state_dict() returned",
        )  # fmt: skip
    report = Report([], [], [])
    _load(module, dict(state), "", report, strict=strict, assign_tensors=assign_tensors)
    errors = list(report.errors)
    if strict:
        for keys, what in ((report.unexpected, "unexpected"), (report.missing, "missing")):
            if keys:
                errors.insert(0, f"{what} keys: " + ", ".join(repr(k) for k in keys))
    if errors:
        raise StateDictError(
            "the state_dict does not fit:\n    " + "\n    ".join(errors) + "\n",
            f"load_state_dict of {type(module).__name__}",
            "load what fits with strict=False (sizes must agree always)",
        )
    return IncompatibleKeys(report.missing, report.unexpected)


def _load(
    module: Module,
    state: dict[str, Any],
    prefix: str,
    report: Report,
    *,
    strict: bool,
    assign_tensors: bool,
) -> None:
    table = module.hook_table
    metadata = {"assign_to_params_buffers": assign_tensors}
    args = (state, prefix, metadata, strict, *report)
    for entry in table.load_pre:
        entry.function(module, *args)
    module._load_from_state_dict(*args)  # noqa: SLF001  an override point
    for name, child in module.named_registered("module"):
        inner = f"{prefix}{name}."
        part = {k: v for k, v in state.items() if k.startswith(inner)}
        _load(child, part, inner, report, strict=strict, assign_tensors=assign_tensors)
    keys = IncompatibleKeys(report.missing, report.unexpected)
    for entry in table.load_post:
        if entry.function(module, keys) is not None:
            raise InvalidTypeError(
                "a load_state_dict post-hook returned something", type(module).__name__,
                "change the lists of keys in place and return None",
            )  # fmt: skip


def load_own(
    module: Module,
    state: dict[str, Any],
    prefix: str,
    report: Report,
    *,
    assign_tensors: bool,
) -> None:
    """Load what the module itself saves, without its children."""
    known = set()
    for name, target in saved_tensors(module):
        key = prefix + name
        known.add(name)
        if key not in state:
            report.missing.append(key)
            continue
        try:
            complaint = _load_tensor(
                module, name, target, state[key], assign_tensors=assign_tensors
            )
        except (OutOfMemoryError, DeviceLostError) as error:
            left = f"load_state_dict: {key!r} and all after it are as before"
            raise type(error)(error.what, f"{error.where}. {left}", error.fix) from error
        if complaint:
            report.errors.append(f"{key}: {complaint}")
    known.update(n for n, _ in module.named_registered("module"))
    if has_extra_state(module):
        known.add(EXTRA_STATE)
        if prefix + EXTRA_STATE in state:
            module.set_extra_state(state[prefix + EXTRA_STATE])
        else:
            report.missing.append(prefix + EXTRA_STATE)
    _unexpected(module, state, prefix, known, report)


def _unexpected(
    module: Module, state: dict[str, Any], prefix: str, known: set[str], report: Report
) -> None:
    """Keys under `prefix` that neither the module nor a child of it can take."""
    children = {n for n, _ in module.named_registered("module")}
    for key in state:
        if not key.startswith(prefix):
            continue
        head, dot, _ = key[len(prefix) :].partition(".")
        if head not in (children if dot else known - children):
            report.unexpected.append(key)


def _load_tensor(
    module: Module, name: str, target: Tensor, value: Any, *, assign_tensors: bool
) -> str:
    """Load one tensor; what is wrong with it, or an empty string."""
    try:
        source = value if isinstance(value, Tensor) else tensor(value)
    except PolygradError as error:
        return str(error)
    if source.shape == (1,) and target.shape == ():
        source = source[0]
    if source.shape != target.shape:
        return f"shape {source.shape} in the state_dict, {target.shape} in the module"
    if assign_tensors:
        module.__dict__[name] = _like(target, source)
        return ""
    try:
        with no_grad():
            moved = to_place(snapshot(source), target.dtype, target.device)
            if raw(moved) is raw(source):  # the caller may own that memory
                moved = new_tensor(target.kernels.copy(raw(source)), target.kernels)
            assign(target, moved)
    except (OutOfMemoryError, DeviceLostError):  # no fault of the state
        raise
    except PolygradError as error:
        return str(error)
    return ""


def _like(target: Tensor, source: Tensor) -> Tensor:
    """`source`'s value, dtype and device as a Parameter or buffer in the place of `target`."""
    if isinstance(source, Parameter) or not isinstance(target, Parameter):
        return source
    return Parameter(snapshot(source), target.tracked and source.kernels.inexact)
