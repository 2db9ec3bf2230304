"""What the functions of `polygrad.random` are given: parameters, a shape, a place."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from polygrad import dtypes
from polygrad.config import default_dtype
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    ShapeError,
)
from polygrad.indexing import broadcasts_to, shape_tuple, size_of
from polygrad.ops.creation import asarray, contains_tensor
from polygrad.registry import default_integer, find_device, kernels_for
from polygrad.streams import Generator, default_generator
from polygrad.tensor import Tensor, new_tensor, on_host

__all__ = [
    "COUNT", "FINITE", "NONNEGATIVE", "NUMBER", "POSITIVE", "PROBABILITY", "SUCCESS", "Domain",
    "Given", "Parameter", "chosen", "finish", "finish_counts", "given", "values_of",
]  # fmt: skip

Host = np.ndarray[Any, Any]


class Domain(NamedTuple):
    """The legal values of a parameter: in words, and a test of an array."""

    words: str
    test: Callable[[Host], Any]


FINITE = Domain("finite", np.isfinite)
NUMBER = Domain("a number", lambda x: ~np.isnan(x))
POSITIVE = Domain("finite and above 0", lambda x: (x > 0) & (x < math.inf))
NONNEGATIVE = Domain("finite and at least 0", lambda x: (x >= 0) & (x < math.inf))
PROBABILITY = Domain("in [0, 1]", lambda x: (x >= 0) & (x <= 1))
SUCCESS = Domain("in (0, 1]", lambda x: (x > 0) & (x <= 1))
COUNT = Domain("whole and in [0, 2**53]", lambda x: (x >= 0) & (x <= 2.0**53) & (x == np.floor(x)))


class Parameter(NamedTuple):
    """A parameter of a distribution: its name, what it is, where it lies, its default."""

    name: str
    meaning: str
    domain: Domain
    default: float | None = None


class Given(NamedTuple):
    """What a call was given.

    Attributes
    ----------
    shape
        Of the result.
    kernels
        Of the result.
    values
        The parameters on the host, in float64, each of shape () or with all elements in one row.
    operands
        The parameters as they came, with arrays as Tensors.
    """

    shape: tuple[int, ...]
    kernels: Any
    values: list[Host]
    operands: list[Any]

    @property
    def size(self) -> int:
        """The number of elements."""
        return size_of(self.shape)


def chosen(generator: Any, where: str) -> Generator:
    """The generator, or the default one for None.

    Raises
    ------
    InvalidTypeError
        It is no generator of polygrad's.
    """
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise InvalidTypeError(
            f"a {type(generator).__name__} is no generator of polygrad's",
            f"{where}, argument generator", "pass a pg.Generator",
        )  # fmt: skip
    return generator


def values_of(value: Any, where: str) -> tuple[Host, Any]:
    """A parameter on the host in float64, and as an operand: a Tensor, or the number that it is."""
    if isinstance(value, (int, float, np.integer, np.floating)):
        try:
            return np.asarray(float(value)), value
        except OverflowError:
            raise InvalidArgumentError(
                "an int beyond the largest float", where, "pass a smaller one"
            ) from None
    plain = isinstance(value, (np.ndarray, list, tuple)) and not contains_tensor(value)
    exact = dtypes.float64 if plain and not isinstance(value, np.ndarray) else None
    t = asarray(value, dtype=exact, device="cpu" if plain else None)
    if t.kernels.kind == dtypes.COMPLEX:
        raise DtypeError(f"parameters are real, not {t.dtype}", where, "pass real ones")
    host = on_host(t).astype(np.float64)
    return host, host if plain else t


def check(domain: Domain, host: Host, name: str, where: str) -> None:
    """Refuse values outside a domain; the first of them is named."""
    legal = np.asarray(domain.test(host))
    if not legal.all():
        verb = "holds" if host.ndim else "is"
        raise InvalidArgumentError(
            f"{name} {verb} {host[~legal].flat[0]}", f"{where}, argument {name}",
            f"it must be {domain.words}",
        )  # fmt: skip


def _device(operands: Sequence[Any], device: Any, where: str) -> Any:
    """That of the parameters, which is to be the one asked for."""
    tensors = [t for t in operands if isinstance(t, Tensor)]
    found = tensors[0].device if tensors and device is None else find_device(device)
    for t in tensors:
        if t.device != found:
            raise DeviceMismatchError(
                f"a parameter is on {t.device}, and the result or another one on {found}", where,
                f'move the parameter: t.to("{found}")',
            )  # fmt: skip
    return found


def _real(dtype: Any, operands: Sequence[Any], where: str) -> Any:
    """The dtype asked for, that of the parameters, or the default one."""
    if dtype is None:
        floating = [t.dtype for t in operands if isinstance(t, Tensor) and t.kernels.inexact]
        return functools.reduce(dtypes.promote, floating) if floating else default_dtype()
    wanted = dtypes.canonical(dtype)
    if dtypes.kind_of(wanted) != dtypes.REAL:
        raise DtypeError(
            f"the numbers are real floating ones, not {wanted}", f"{where}, argument dtype",
            "pass a real floating dtype",
        )  # fmt: skip
    return wanted


def _whole(dtype: Any, device: Any, where: str) -> Any:
    """A dtype for counts: an integer one if none is asked for."""
    if dtype is None:
        return default_integer(device)
    wanted = dtypes.canonical(dtype)
    if dtypes.kind_of(wanted) not in (dtypes.INTEGER, dtypes.REAL):
        raise DtypeError(
            f"the numbers are counts, not {wanted}", f"{where}, argument dtype",
            "pass an integer dtype, or a real floating one",
        )  # fmt: skip
    return wanted


def given(
    parameters: Sequence[tuple[Parameter, Any]], shape: Any, dtype: Any, device: Any, where: str,
    *, whole: bool = False,
) -> Given:  # fmt: skip
    """Check what a function was given, and fetch its parameters.

    Parameters
    ----------
    parameters
        Each with its value.
    shape
        None: that to which the parameters broadcast.
    dtype
        None: the promoted one of the parameters, or the default one; an integer one if `whole`.
    device
        None: that of the parameters, or the default one.
    where
        The function's name.
    whole
        Whether the numbers are counts.

    Raises
    ------
    InvalidArgumentError, ShapeError, DtypeError, DeviceMismatchError, InvalidTypeError
        A value is outside its domain; the parameters do not broadcast to the shape; the dtype is
        not fit; the parameters are not on the device.
    """
    hosts, operands = [], []
    for parameter, value in parameters:
        host, operand = values_of(value, f"{where}, argument {parameter.name}")
        check(parameter.domain, host, parameter.name, where)
        hosts.append(host)
        operands.append(operand)
    shapes = [host.shape for host in hosts]
    try:
        common = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ShapeError(
            f"the parameters have shapes {', '.join(map(str, shapes))}", where,
            "they must broadcast",
        ) from None  # fmt: skip
    wanted = common if shape is None else shape_tuple(shape, where)
    if not broadcasts_to(common, wanted):
        raise ShapeError(
            f"parameters of shape {common} for numbers of shape {wanted}",
            f"{where}, argument shape", "it is a shape that the parameters broadcast to",
        )  # fmt: skip
    place = _device(operands, device, where)
    found = _whole(dtype, place, where) if whole else _real(dtype, operands, where)
    kernels = kernels_for(place, found, where)
    rows = [
        host.reshape(()) if host.size == 1 else np.broadcast_to(host, wanted).reshape(-1)
        for host in hosts
    ]
    return Given(wanted, kernels, rows, operands)


def finish(host: Host, kernels: Any, requires_grad: bool = False) -> Tensor:
    """A Tensor of numbers on the host; what the dtype cannot hold becomes infinite."""
    with np.errstate(over="ignore"):
        made = new_tensor(kernels.from_numpy(host), kernels)
    return made.requires_grad_() if requires_grad else made


def finish_counts(host: Host, kernels: Any, where: str) -> Tensor:
    """A Tensor of counts, which come in float64.

    Raises
    ------
    InvalidArgumentError
        The dtype cannot hold one of them.
    """
    if kernels.kind == dtypes.INTEGER and host.size:
        most, limit = host.max(), np.iinfo(kernels.dtype).max
        if most >= float(limit) + (limit < 2**53):
            raise InvalidArgumentError(
                f"{most:.17g} was drawn, which {kernels.dtype} cannot hold",
                f"{where}, argument dtype", "pass a wider or a floating dtype",
            )  # fmt: skip
        host = host.astype(kernels.dtype)
    return finish(host, kernels)
