"""Parametrizations: parameters that are functions of other tensors, which are what is learned.

PyTorch's `torch.nn.utils.parametrize`; what it is made of is in `parametrization_list`.
"""

from __future__ import annotations

from typing import Any

from polygrad.config import no_grad
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
    UnsupportedOperationError,
)
from polygrad.nn.container import ModuleDict
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.nn.utils.parametrization_list import (
    ParametrizationList,
    apply_all,
    as_tensors,
    cached,
    describe,
    forget,
    overwrite,
    reclass,
    refuse_other_place,
    type_before_parametrizations,
)
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations: of the tensor named, or of any if none is."""
    entries = _entries(module)
    if entries is None:
        return False
    return bool(len(entries)) if tensor_name is None else tensor_name in entries


def _entries(module: Module) -> ModuleDict | None:
    """The lists of a parametrized module, by the names of tensors."""
    if not isinstance(module, Module):
        raise InvalidTypeError(
            f"a {type(module).__name__} is no Module", "parametrizations, argument module",
            "pass an instance of pg.nn.Module",
        )  # fmt: skip
    found = module.__dict__.get("parametrizations")
    return found if isinstance(found, ModuleDict) else None


def _entry(module: Module, name: str) -> ParametrizationList:
    entries = _entries(module)
    assert entries is not None  # noqa: S101  asked before
    found: ParametrizationList = entries[name]
    return found


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """From now on `module.<tensor_name>` is `parametrization(original)`, and `original` is learned.

    The original lies in `module.parametrizations.<tensor_name>.original`, and in the state_dict
    under that path; it is the same Parameter as before, so that optimizers keep working. Several
    parametrizations of one tensor are applied in the order in which they were registered.

    If the parametrization defines `right_inverse(value)`, the original starts as what that gives
    for the present tensor, else as the tensor. It may give several: they become new Parameters
    `original0`, `original1`, ..., which forward gets as arguments, and which an optimizer that
    exists already must be given. Assigning to the tensor calls right_inverse too.

    Parameters
    ----------
    module
        Its class becomes a subclass of what it was; it may be copied and pickled.
    tensor_name
        Of a parameter or buffer of the module itself.
    parametrization
        A module that takes the original and returns the tensor.
    unsafe
        Do not check that dtype and shape of the tensor stay the same.

    Raises
    ------
    InvalidArgumentError
        The module has no such tensor.
    InvalidTypeError, DtypeError, ShapeError, DeviceMismatchError
        The parametrization returns no tensor, or changes what it may not. Nothing has changed then.

    Examples
    --------
    >>> import polygrad as pg
    >>> class Symmetric(pg.nn.Module):
    ...     def forward(self, x):
    ...         return pg.triu(x) + pg.triu(x, k=1).mT
    >>> layer = pg.nn.Linear(2, 2)
    >>> _ = register_parametrization(layer, "weight", Symmetric())
    >>> bool(pg.all(layer.weight == layer.weight.T))
    True
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'parametrizations.weight.original']
    """
    where = f"register_parametrization, {tensor_name!r} of {type(module).__name__}"
    if not isinstance(parametrization, Module):
        raise InvalidTypeError(
            f"a {type(parametrization).__name__} is no Module", where,
            "pass an instance of a Module whose forward makes the tensor",
        )  # fmt: skip
    mode = parametrization.training
    parametrization.train(module.training)
    try:
        if is_parametrized(module, tensor_name):
            _append(module, tensor_name, parametrization, unsafe, where)
        else:
            _start(module, tensor_name, parametrization, unsafe, where)
    except BaseException:
        parametrization.train(mode)
        raise
    return module


def _start(module: Module, name: str, parametrization: Module, unsafe: bool, where: str) -> None:
    """The first parametrization of a tensor."""
    kind = module.registry.get(name, "")
    tensor = module.__dict__.get(name)
    if not isinstance(tensor, Tensor) or kind == "module":
        held = [n for n, k in module.registry.items() if k != "module"]
        raise InvalidArgumentError(
            f"there is no parameter or buffer {name!r}", where,
            f"it has {', '.join(held) or 'none'}",
        )  # fmt: skip
    with no_grad():
        new = _inverse(parametrization, tensor)
    values = as_tensors(new, where)
    if isinstance(new, Tensor):
        refuse_other_place(new, tensor, where)
    if not unsafe:
        _check(apply_all([parametrization], values), tensor, where)
    shape = tensor.shape
    if isinstance(new, Tensor):
        overwrite(tensor, new)
        originals = {"original": tensor}
    else:
        originals = {f"original{i}": _original(t, tensor) for i, t in enumerate(values)}
    entry = ParametrizationList([parametrization], originals, kind, shape, unsafe=unsafe)
    entries = _entries(module)
    found = ModuleDict() if entries is None else entries
    found[name] = entry
    delattr(module, name)
    module.add_module("parametrizations", found)
    reclass(module)


def _original(new: Tensor, tensor: Tensor) -> Tensor:
    """One of several originals: a leaf of its own, a Parameter if the tensor is one."""
    leaf = new_tensor(new.kernels.copy(raw(new)), new.kernels)
    wanted = tensor.requires_grad and new.kernels.inexact
    return Parameter(leaf, wanted) if isinstance(tensor, Parameter) else leaf.requires_grad_(wanted)


def _inverse(parametrization: Module, tensor: Tensor) -> Any:
    """What right_inverse gives; the tensor where it is not defined or declines."""
    if not hasattr(parametrization, "right_inverse"):
        return tensor
    try:
        return parametrization.right_inverse(tensor)
    except UnsupportedOperationError:  # the device cannot compute it: that is no refusal
        raise
    except NotImplementedError:
        return tensor


def _append(module: Module, name: str, parametrization: Module, unsafe: bool, where: str) -> None:
    """One more parametrization of a tensor."""
    entry = _entry(module, name)
    if not unsafe:
        present = getattr(module, name)
        made = parametrization(present)
        _check(made, present, where)
        with no_grad():
            back = _inverse(parametrization, made)
        _check(back, present, where, "right_inverse")
    entry.append(parametrization)
    entry.unsafe = entry.unsafe or unsafe
    forget(entry)


def _check(made: Any, tensor: Tensor, where: str, what: str = "the parametrization") -> None:
    if not isinstance(made, Tensor):
        raise InvalidTypeError(f"{what} gave {describe(made)}", where, "it must return a Tensor")
    fix = "it must keep dtype and shape, unless unsafe=True"
    if made.dtype != tensor.dtype:
        raise DtypeError(f"{what} gave {made.dtype} for {tensor.dtype}", where, fix)
    if made.shape != tensor.shape:
        raise ShapeError(f"{what} gave shape {made.shape} for {tensor.shape}", where, fix)


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a tensor an ordinary parameter or buffer again.

    Parameters
    ----------
    module, tensor_name
        As for `register_parametrization`.
    leave_parametrized
        Whether it keeps its present value; otherwise it takes that of the original. A single
        original is the Parameter that the module gets back, so that optimizers keep working.

    Raises
    ------
    InvalidArgumentError
        It is not parametrized; or there are several originals and the value shall not be kept.
    DtypeError
        The parametrization changes the dtype, and the value shall be kept.
    """
    where = f"remove_parametrizations, {tensor_name!r} of {type(module).__name__}"
    if not is_parametrized(module, tensor_name):
        raise InvalidArgumentError(
            "the tensor is not parametrized", where, "register a parametrization first"
        )
    entry = _entry(module, tensor_name)
    originals, kind = list(entry.originals().values()), entry.kind_of_originals()
    if not leave_parametrized and not entry.is_tensor:
        raise InvalidArgumentError(
            f"the tensor is made from {len(originals)} originals: none can take its place", where,
            "leave out leave_parametrized=False",
        )  # fmt: skip
    tensor = originals[0]
    if leave_parametrized:
        forget(entry)
        with no_grad():
            value = getattr(module, tensor_name)
        if entry.is_tensor:
            refuse_other_place(value, tensor, where)
            overwrite(tensor, value)
        else:
            tracked = any(t.requires_grad for t in originals) and value.kernels.inexact
            leaf = new_tensor(value.kernels.copy(raw(value)), value.kernels)
            tensor = Parameter(leaf, tracked) if kind == "parameter" else leaf
    forget(entry)
    entries = _entries(module)
    if entries is not None:
        del entries[tensor_name]
    if not entries:
        delattr(module, "parametrizations")
    reclass(module)
    module._register(tensor_name, tensor, kind)  # noqa: SLF001  with the kind that it had
    return module


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Register the parametrizations of one module in another too; the originals become shared.

    Of the tensor named, or of all. A tensor that `to_module` lacks is added to it. Nothing happens
    if `from_module` is not parametrized.

    Raises
    ------
    InvalidArgumentError
        The tensor that is named has no parametrizations.
    """
    if not is_parametrized(from_module):
        return to_module
    entries: Any = _entries(from_module)
    for name in list(entries) if tensor_name is None else [tensor_name]:
        if name not in entries:
            raise InvalidArgumentError(
                f"{name!r} is not parametrized", "transfer_parametrizations_and_params",
                f"these are: {', '.join(entries)}",
            )  # fmt: skip
        entry = entries[name]
        if not hasattr(to_module, name):
            to_module.register_parameter(name, Parameter(getattr(from_module, name).detach()))
        for parametrization in entry:
            register_parametrization(to_module, name, parametrization, unsafe=entry.unsafe)
        made = _entry(to_module, name)
        for original, value in entry.originals().items():
            made.put_original(original, value)
    return to_module
