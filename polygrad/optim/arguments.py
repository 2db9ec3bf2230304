"""What optimisers refuse: options out of their domain, and what is no parameter."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

from polygrad import dtypes
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError
from polygrad.tensor import Tensor, on_host

__all__ = [
    "as_list", "at_least", "betas_within", "check_parameter", "counts", "named_pair", "names_of",
    "numbers_of", "rate_of",
]  # fmt: skip


def at_least(where: str, bound: float, **arguments: Any) -> None:
    """Refuse arguments that are no numbers, or below `bound`; `lr` may be a tensor of one element.

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        Naming the argument.
    """
    for name, given in arguments.items():
        value = _one_rate(where, given) if name == "lr" and isinstance(given, Tensor) else given
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InvalidTypeError(
                f"{name} is a number, not {value!r}", f"{where}, argument {name}", "pass a float"
            )
        if isinstance(value, Integral) and abs(int(value)) > sys.float_info.max:
            raise InvalidArgumentError(
                f"{name} is an int beyond the largest float", f"{where}, argument {name}",
                "pass a smaller one",
            )  # fmt: skip
        if not float(value) >= bound:
            raise InvalidArgumentError(
                f"{name} is {value}", f"{where}, argument {name}", f"it must be at least {bound}"
            )


def numbers_of(where: str, name: str, given: Any, n: int = 2) -> dict[str, Any]:
    """The n entries of an option that is a tuple, by names such as "betas[0]".

    Raises
    ------
    InvalidTypeError, InvalidArgumentError
        It is none; it has another length.
    """
    if not isinstance(given, (tuple, list)) or len(given) != n:
        error = InvalidArgumentError if isinstance(given, (tuple, list)) else InvalidTypeError
        raise error(
            f"{name} is {given!r}", f"{where}, argument {name}", f"pass a tuple of {n} numbers"
        )
    return {f"{name}[{i}]": value for i, value in enumerate(given)}


def _one_rate(where: str, lr: Tensor) -> float:
    """The learning rate that a tensor holds. Raises InvalidArgumentError."""
    if lr.size != 1:
        raise InvalidArgumentError(
            f"lr is a tensor of shape {lr.shape}", f"{where}, argument lr",
            "pass a number or a tensor of one element",
        )  # fmt: skip
    if lr.requires_grad:
        raise InvalidArgumentError(
            "lr requires grad, but a step of an optimiser is not recorded on the tape",
            f"{where}, argument lr", "pass lr.detach(); to differentiate through a step, write it "
            "as a function of tensors",
        )  # fmt: skip
    if lr.kernels.kind not in (dtypes.INTEGER, dtypes.REAL):
        raise InvalidTypeError(
            f"lr is a {lr.dtype} tensor", f"{where}, argument lr", "pass a real one"
        )
    return float(on_host(lr).item())


def only_real(where: str, params: Iterable[Tensor]) -> None:
    """Refuse complex parameters. Raises DtypeError."""
    for p in params:
        if p.kernels.is_complex:
            raise DtypeError(
                f"a {p.dtype} parameter is not real", f"{where}, argument params",
                "optimise it with AdamW, or its real and imaginary parts",
            )  # fmt: skip


def rate_of(group: Mapping[str, Any]) -> float:
    """The learning rate of a group as a number, which may be in a tensor."""
    lr = group["lr"]
    return _one_rate("param_groups", lr) if isinstance(lr, Tensor) else lr


def named_pair(pair: Any, where: str) -> tuple[str, Any]:
    """A name and a parameter. Raises InvalidTypeError."""
    if len(pair) != 2 or not isinstance(pair[0], str):
        raise InvalidTypeError(
            f"a tuple of {', '.join(type(part).__name__ for part in pair) or 'nothing'} is no "
            "named parameter", where, "pass pairs (name, parameter), as named_parameters() gives",
        )  # fmt: skip
    return pair  # type: ignore[no-any-return]


def names_of(where: str, named: list[bool], groups: list[bool]) -> None:
    """Refuse names of some parameters or groups only. Raises InvalidArgumentError."""
    if any(named) and not all(named):
        raise InvalidArgumentError(
            f"{named.count(True)} of {len(named)} parameters have names", where,
            "pass pairs (name, parameter) for all of them, or for none",
        )  # fmt: skip
    if groups and any(named) != groups[0]:
        raise InvalidArgumentError(
            "some groups have names of parameters, others have none", where,
            "pass pairs (name, parameter) in all groups, or in none",
        )  # fmt: skip


def counts(where: str, least: int, **arguments: Any) -> None:
    """Refuse what is no integer, or below `least`. Raises as `at_least`."""
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, Integral):
            raise InvalidTypeError(
                f"{name} is a whole number, not {value!r}", f"{where}, argument {name}",
                "pass an int",
            )  # fmt: skip
    at_least(where, least, **arguments)


def betas_within(where: str, **arguments: Any) -> None:
    """Refuse decay rates outside [0, 1)."""
    at_least(where, 0.0, **arguments)
    for name, value in arguments.items():
        if value >= 1:
            raise InvalidArgumentError(
                f"{name} is {value}", f"{where}, argument {name}", "it must be at least 0, below 1"
            )


def as_list(params: Any, where: str) -> list[Any]:
    """Parameters or groups in a list. Raises InvalidTypeError, InvalidArgumentError."""
    unordered = (Tensor, set, frozenset, str, Mapping)
    if isinstance(params, unordered) or not isinstance(params, Iterable):
        raise InvalidTypeError(
            f"parameters come in an ordered collection, not in a {type(params).__name__}",
            f"{where}, argument params", "pass a list, or model.parameters()",
        )  # fmt: skip
    found = list(params)
    if not found:
        raise InvalidArgumentError(
            "there are no parameters to optimise", f"{where}, argument params",
            "pass a list with at least one; an iterator can be used up only once",
        )  # fmt: skip
    return found


def check_parameter(p: Any, where: str) -> None:
    """Refuse what has no gradient. Raises InvalidTypeError, InvalidArgumentError."""
    if not isinstance(p, Tensor):
        raise InvalidTypeError(
            f"a parameter is a Tensor, not {type(p).__name__}", where, "pass Tensors or Parameters"
        )
    if not p.is_leaf:
        raise InvalidArgumentError(
            f"a tensor made by {p.grad_fn!r} is no leaf", where,
            "optimise the leaf it was made from, or t.detach().requires_grad_()",
        )  # fmt: skip
    if not p.kernels.inexact:
        raise InvalidArgumentError(
            f"a {p.dtype} tensor has no gradient", where, "convert it to a floating dtype"
        )
