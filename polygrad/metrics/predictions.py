"""What metrics are given: predictions and targets of a batch, read, checked, on the host."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polygrad import dtypes
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.ops.comparison import isnan
from polygrad.ops.creation import asarray, contains_tensor, host_data
from polygrad.ops.searching import argmax, where
from polygrad.ops.utility import any as any_of
from polygrad.registry import backend_of
from polygrad.tensor import Tensor, on_host

__all__ = [
    "Batch", "check_range", "counted", "has_class_axis", "host", "read", "real_numbers",
    "scores_of", "whole",
]  # fmt: skip

Host = np.ndarray[Any, Any]


class Batch(NamedTuple):
    """Predicted and true classes, of one shape, and which of them count."""

    predicted: Host
    target: Host
    counts: Host


def _wrapped(x: Any) -> Tensor:
    """A Tensor where the data are: on its device, or, of numbers, on the CPU as float64."""
    if isinstance(x, Tensor):
        return x
    if backend_of(x) is not None or contains_tensor(x):
        return asarray(x)
    return asarray(host_data(x, "a metric")[0])


def host(x: Any) -> Host:
    """The values of a Tensor, of an array of any known library, or of numbers."""
    return on_host(_wrapped(x))


def real_numbers(x: Any, place: str) -> Host:
    """Values as float64. DtypeError if they are complex."""
    values = host(x)
    if values.dtype.kind == "c":
        raise DtypeError(
            "complex numbers have no order and no one distance", place,
            "pass real ones, such as abs(x)",
        )  # fmt: skip
    return values.astype(np.float64)


def scores_of(x: Any, place: str) -> Host:
    """Real numbers none of which is NaN."""
    values = real_numbers(x, place)
    if np.isnan(values).any():
        raise _nan(place)
    return values


def _nan(place: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "a score is NaN", place, "find out where it comes from: pg.autograd.detect_anomaly()"
    )


def whole(x: Any, place: str) -> Host:
    """Class numbers: integers, booleans, or floating numbers that are whole."""
    values = host(x)
    if values.dtype.kind not in "iub":
        with np.errstate(invalid="ignore"):
            found: Host | None = None if values.dtype.kind == "c" else values.astype(np.int64)
        if found is None or (found != values).any():
            raise DtypeError(
                f"{values.dtype} values that are not whole are no classes", place,
                "pass integers from 0",
            )  # fmt: skip
        return found
    return values.astype(np.int64)


def counted(target: Host, ignore_index: int | None) -> Host:
    """Which targets count."""
    return np.ones(target.shape, bool) if ignore_index is None else target != ignore_index


def has_class_axis(input: tuple[int, ...], target: tuple[int, ...], place: str) -> bool:
    """Whether `input` has scores along the axis of classes, 1, or one number for each target.

    Raises
    ------
    ShapeError
        Neither.
    """
    if input == target:
        return False
    if len(input) == len(target) + 1 and (*input[:1], *input[2:])[: len(target)] == target:
        return True
    raise ShapeError(
        f"predictions of shape {input} do not fit targets of shape {target}", place,
        "pass one number for each target, or scores of each class along axis 1",
    )  # fmt: skip


def _most_likely(scores: Tensor, place: str) -> Host:
    """The class of the largest score, of equal ones the first, found on the device."""
    axis = min(1, scores.ndim - 1)
    shape = scores.shape[:axis] + scores.shape[axis + 1 :]
    if scores.shape[axis] < 2:
        raise ShapeError(
            f"scores of shape {scores.shape} are of {scores.shape[axis]} classes", place,
            "pass scores of two classes or more, or one number for each target: "
            "pg.squeeze(input, axis=1)",
        )  # fmt: skip
    if not scores.size:
        return np.zeros(shape, np.int64)
    best = argmax(scores, axis=axis)
    if scores.kernels.kind == dtypes.REAL:
        best = where(any_of(isnan(scores), axis=axis), -1, best)
    found = on_host(best).astype(np.int64)
    if (found < 0).any():
        raise _nan(place)
    return found


def read(
    place: str,
    input: Any,
    target: Any,
    *,
    threshold: float,
    ignore_index: int | None,
    num_classes: int | None = None,
) -> Batch:
    """Predicted and true classes of a batch.

    Raises
    ------
    ShapeError, DtypeError, InvalidArgumentError
        Shapes that do not fit; classes that are no integers, negative or too large; NaN.
    """
    x = _wrapped(input)
    true = whole(target, f"{place}, argument target")
    about = f"{place}, argument input"
    if x.kernels.kind == dtypes.COMPLEX:
        raise DtypeError("complex scores have no largest one", about, "pass real ones")
    counts = counted(true, ignore_index)
    if has_class_axis(x.shape, true.shape, place):
        width = x.shape[min(1, x.ndim - 1)]
        predicted = _most_likely(x, about)
        check_range(true[counts], min(width, num_classes or width), f"{place}, argument target")
    elif x.kernels.kind == dtypes.REAL:
        predicted = (scores_of(x, about) > threshold).astype(np.int64)
        check_range(true[counts], 2, f"{place}, argument target, of input above a threshold or not")
    else:
        predicted = whole(x, about)
        check_range(true[counts], num_classes, f"{place}, argument target")
    check_range(predicted[counts], num_classes, about)
    return Batch(predicted, true, counts)


def check_range(classes: Host, num_classes: int | None, place: str) -> None:
    """Refuse classes that are not in 0, 1, …, num_classes - 1."""
    least, most = int(classes.min(initial=0)), int(classes.max(initial=0))
    if least < 0:
        raise InvalidArgumentError(
            f"class {least} is negative", place,
            f"classes begin at 0; ignore_index={least} leaves such targets out",
        )  # fmt: skip
    if num_classes is not None and most >= num_classes:
        raise InvalidArgumentError(
            f"class {most} of {num_classes} classes", place,
            f"classes are 0 to {num_classes - 1}; a label to leave out is ignore_index",
        )  # fmt: skip
