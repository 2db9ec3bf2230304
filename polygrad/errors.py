"""Every error polygrad raises: a sentence of three parts, what happened, where, and what to do.

Each class also derives from the built-in exception that users of NumPy and PyTorch catch.
"""

from __future__ import annotations

__all__ = [
    "BackendBrokenError",
    "BackendNotInstalledError",
    "CopyNeededError",
    "DeviceLostError",
    "DeviceMismatchError",
    "DtypeError",
    "FileFormatError",
    "ForeignArrayError",
    "GradientError",
    "GraphCutWarning",
    "ImportOrderError",
    "InPlaceError",
    "InvalidArgumentError",
    "InvalidTypeError",
    "LinearAlgebraError",
    "MissingDtypeError",
    "MissingLibraryError",
    "OutOfMemoryError",
    "OutOfRangeError",
    "PolygradError",
    "PrimitiveError",
    "ShapeError",
    "UnknownDeviceError",
    "UnsupportedOperationError",
    "WorkerError",
    "WorkerTimeoutError",
]


class PolygradError(Exception):
    """Base of all errors raised on purpose: `what` happened, `where`, and the `fix`."""

    def __init__(self, what: str, where: str = "", fix: str = "") -> None:
        super().__init__(what, where, fix)
        self.what, self.where, self.fix = what, where, fix

    def __str__(self) -> str:
        """Join the three parts into sentences."""
        parts = [part.rstrip(".") for part in (self.what, self.where, self.fix) if part]
        return ". ".join(parts) + "."


class UnknownDeviceError(PolygradError, ValueError):
    """A device name that no backend, known or plugged in, claims."""


class BackendNotInstalledError(PolygradError, ImportError):
    """A device whose array library polygrad knows, but which is not installed."""


class BackendBrokenError(PolygradError, RuntimeError):
    """The array library is installed, but cannot be used (no driver, no device, import fails)."""


class MissingLibraryError(PolygradError, ImportError):
    """A library that is no array library, and that what was asked for needs, is not installed."""


class ImportOrderError(PolygradError, ImportError):
    """Another library was imported before polygrad could set it up."""


class DeviceMismatchError(PolygradError, RuntimeError):
    """Operands of one operation live on two devices."""


class ForeignArrayError(PolygradError, TypeError):
    """An object that is no Tensor, number or array of a known library."""


class DtypeError(PolygradError, TypeError):
    """A dtype that the operation, or the device, does not have."""


class ShapeError(PolygradError, ValueError):
    """Shapes that do not fit one another or the operation."""


class InvalidArgumentError(PolygradError, ValueError):
    """An argument whose value is out of its domain."""


class CopyNeededError(InvalidArgumentError, BufferError):
    """`copy=False`, but there is no way without a copy."""


class InvalidTypeError(PolygradError, TypeError):
    """An argument of the wrong type."""


class LinearAlgebraError(PolygradError, ValueError):
    """A matrix lacks what was asked for: it is singular, or not positive definite, or the like."""


class OutOfRangeError(PolygradError, IndexError):
    """An index beyond the axis it points into."""


class GradientError(PolygradError, RuntimeError):
    """Differentiation was asked for where it cannot be had."""


class InPlaceError(PolygradError, RuntimeError):
    """A write that may not happen: to a leaf that requires grad, a frozen or overlapping view."""


class UnsupportedOperationError(PolygradError, NotImplementedError):
    """The backend has no implementation of an operation for this device and dtype."""


class MissingDtypeError(DtypeError, UnsupportedOperationError):
    """The operation needs a dtype that the device does not have."""


class OutOfMemoryError(PolygradError, MemoryError):
    """The device's memory is exhausted."""


class DeviceLostError(PolygradError, RuntimeError):
    """The device does not answer any more; what its memory held is gone."""


class FileFormatError(PolygradError, ValueError):
    """A file is not what it should be, or was damaged; the message says where in it."""


class WorkerError(PolygradError, RuntimeError):
    """A worker process of a DataLoader died, or failed with an error that cannot be rebuilt."""


class WorkerTimeoutError(WorkerError, TimeoutError):
    """A batch did not come from a worker process in time."""


class PrimitiveError(PolygradError, TypeError):
    """A primitive was declared wrongly: an unknown name in a rule, a name declared twice."""


class GraphCutWarning(UserWarning):
    """A tensor that requires grad became a Python number, which has no gradient."""
