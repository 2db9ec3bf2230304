"""Errors: what is wrong is refused, with polygrad's own error, and never computed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import errors
from polygrad_conformance import wide
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.checks import make, rests_on
from polygrad_conformance.declarations import load_data
from polygrad_conformance.target import Host, map_arrays

_USUAL = ("float32", "int32", "bool", "complex64")
_FAR = 7  # no sample has so many axes


def cases(subject: Any, dtype: str, level: str) -> Iterator[Case]:
    """One for each way in which the first sample can be spoilt, in a dtype that devices have."""
    dtypes = subject.dtypes(level)
    if dtype != next((d for d in _USUAL if d in dtypes), dtypes[0]) or dtype == "none":
        return
    for name, (expected, spoil) in _ways(subject, dtype).items():

        def action(target: Any, expected: Any = expected, spoil: Any = spoil) -> None:
            try:
                args, kwargs = spoil(target)
                made = target.call(subject, args, kwargs)
            except expected:
                return
            except errors.UnsupportedOperationError:
                raise  # there is nothing to be refused
            except errors.PolygradError as error:
                kinds = " or ".join(e.__name__ for e in expected)
                raise Failed(
                    f"{type(error).__name__} was raised, expected {kinds}: {error}"
                ) from error
            raise Failed(f"no error was raised; the result is {type(made).__name__}")

        yield make(subject, dtype, "error", name, action, rests=rests_on(subject, dtype))


Spoilt = Callable[[Any], tuple[Any, Any]]


def _ways(subject: Any, dtype: str) -> dict[str, tuple[tuple[type, ...], Spoilt]]:
    """What can be wrong with a call of this operation: the errors allowed, and the spoilt call."""
    sample = subject.samples(dtype)[0]
    arrays: list[Host] = []
    map_arrays(sample.args, lambda a: arrays.append(a) or a)
    made: dict[str, tuple[tuple[type, ...], Spoilt]] = {}
    foreign = (errors.ForeignArrayError, errors.InvalidTypeError, errors.DtypeError)
    if sample.args and isinstance(sample.args[0], np.ndarray) and _applies("foreign", subject):
        made["foreign"] = foreign, lambda t: ((object(), *_up(t, sample.args[1:])), sample.kwargs)
    parameters = inspect.signature(subject.operation.function).parameters
    if "axis" in parameters and arrays and _applies("axis", subject):
        place = list(parameters).index("axis")
        keyword = parameters["axis"].kind is inspect.Parameter.KEYWORD_ONLY
        if keyword or "axis" in sample.kwargs or len(sample.args) <= place:
            made["axis"] = (
                (errors.OutOfRangeError,),
                lambda t: (_up(t, sample.args), {**_up(t, sample.kwargs), "axis": _FAR}),
            )
    two = len(sample.args) > 1 and all(isinstance(a, np.ndarray) for a in sample.args[:2])
    if two and _applies("devices", subject):
        made["devices"] = (
            (errors.DeviceMismatchError,),
            lambda t: (
                (_up(t, sample.args[0]), _elsewhere(sample.args[1]), *_up(t, sample.args[2:])),
                _up(t, sample.kwargs),
            ),
        )
    primitive = subject.operation.primitive
    if primitive is not None and len(primitive.inputs) == 2:
        made["shapes"] = (errors.ShapeError,), lambda t: (
            (_up(t, np.ones((2, 3), dtype)), _up(t, np.ones((4,), dtype))), {},
        )  # fmt: skip
    return made


def _applies(way: str, subject: Any) -> bool:
    return subject.key not in load_data("errors")[way]["except"]


def _up(target: Any, value: Any) -> Any:
    return map_arrays(value, target.upload)


def _elsewhere(array: Host) -> Any:
    """On the reference device, which no device under test is."""
    return pg.tensor(array, device=wide.WIDE)
