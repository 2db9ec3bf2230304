"""The device under test: arrays go to it and come back, operations are called there, once each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import dtypes
from polygrad.registry import default_integer, find_backend, find_device
from polygrad.tensor import Tensor, on_host
from polygrad_conformance.case import Case, Unsupported
from polygrad_conformance.keeping import Keeper
from polygrad_conformance.layouts import laid_out

__all__ = ["Evaluation", "Host", "Target", "leaves", "map_arrays"]

Host = np.ndarray[Any, Any]
STRIDE = 2**16  # at level exhaustive, of 2^32 numbers every so many-th
_NAMES = frozenset(dtype.name for dtype in dtypes.ALL)


def map_arrays(value: Any, change: Callable[[Host], Any]) -> Any:
    """`value` with each NumPy array in it, at any depth, replaced by `change(array)`."""
    if isinstance(value, np.ndarray):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(map_arrays(v, change) for v in value)
    if type(value) is dict:
        return {k: map_arrays(v, change) for k, v in value.items()}
    return value


def leaves(made: Any) -> list[Any]:
    """The parts of a result, out of tuples and lists at any depth; a tuple of numbers is a part."""
    if isinstance(made, (tuple, list)) and any(isinstance(v, (Tensor, tuple, list)) for v in made):
        return [leaf for part in made for leaf in leaves(part)]
    return [made]


@dataclass
class Evaluation:
    """One call of an operation: its tensors, what it made, or the error it raised.

    `brought` has what the library returned on the host, and polygrad brought to the device.
    """

    inputs: list[Tensor] = field(default_factory=list)
    hosts: list[Host] = field(default_factory=list)
    made: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    error: Exception | None = None
    brought: list[str] = field(default_factory=list)

    def checked(self) -> Evaluation:
        """Itself; raises the error of the call."""
        if self.error is not None:
            raise self.error
        return self


class Target(Keeper):
    """A device, what its backend says of it, and the calls made so far of the operation at hand."""

    def __init__(self, device: str, level: str = "smoke", stride: int = STRIDE) -> None:
        super().__init__()
        self.place = find_device(device)
        self.device = self.place.name
        self.backend = find_backend(self.place.kind)
        self.capabilities = self.backend.capabilities_of(self.place)
        self.level, self.stride = level, stride
        self.integer = default_integer(self.place)
        self.measures: dict[tuple[str, str, str], Any] = {}  # by operation, dtype, sample

    @property
    def on_host(self) -> bool:
        """Whether its arrays are NumPy's, in the host's memory."""
        return any(issubclass(t, np.ndarray) for t in self.backend.array_types)

    def supports(self, dtype: Any) -> bool:
        """Whether the device has a dtype."""
        return self.backend.supports(np.dtype(dtype), self.place)

    def lacks(self, case: Case) -> bool:
        """Whether a case is of a dtype that the device has not; claims are checked all the same."""
        known = case.check != "claims" and case.dtype in _NAMES
        return known and not self.supports(case.dtype)

    def fits(self, array: Host) -> Host:
        """The array in a dtype that the device has: integers become its widest ones.

        Raises
        ------
        Unsupported
            There is none.
        """
        if self.supports(array.dtype):
            return array
        if array.dtype.kind in "iu" and array.dtype.itemsize > self.integer.itemsize:
            return array.astype(self.integer)
        raise Unsupported(f"{self.device} has no {array.dtype}")

    def upload(self, array: Host, *, requires_grad: bool = False, layout: str = "") -> Tensor:
        """The array as a Tensor on the device, in a layout of its memory."""
        array = self.fits(array)
        tracked = requires_grad and dtypes.kind_of(array.dtype) >= dtypes.REAL
        if layout:
            return laid_out(array, layout, self.device).requires_grad_(tracked)
        return pg.tensor(array, device=self.device, requires_grad=tracked)

    @staticmethod
    def download(made: Any) -> Any:
        """A Tensor's values as a NumPy array of its own; anything else as it is."""
        return np.array(on_host(made)) if isinstance(made, Tensor) else made

    def call(self, subject: Any, args: Any, kwargs: Any) -> Any:
        """Call an operation on the device, from the same random state every time."""
        pg.manual_seed(0)
        with pg.device(self.device), np.errstate(all="ignore"):
            return subject.function(*args, **kwargs)

    def evaluate(self, subject: Any, dtype: str, sample: Any, layout: str = "") -> Evaluation:
        """The call of a sample; kept until another operation or dtype is evaluated."""
        return self.keep(
            (subject.key, dtype),
            ("call", sample.name, layout),
            lambda: self.made(subject, sample, layout),
        )

    def made(self, subject: Any, sample: Any, layout: str = "") -> Evaluation:
        """The call of a sample, anew."""
        made = Evaluation()

        def upload(array: Host) -> Tensor:
            made.hosts.append(self.fits(array))
            made.inputs.append(self.upload(array, layout=layout))
            return made.inputs[-1]

        try:
            args, kwargs = map_arrays((sample.args, sample.kwargs), upload)
            with self._noting_host_results(made.brought):
                made.made = leaves(self.call(subject, args, kwargs))
            made.results = [self.download(leaf) for leaf in made.made]
        except Exception as error:  # noqa: BLE001  raised again by every check of the sample
            made.error = error
        return made

    @contextmanager
    def _noting_host_results(self, noted: list[str]) -> Iterator[None]:
        """Note each array of the host that is coerced: libraries may return scalars, no more."""
        backend: Any = self.backend
        if self.on_host:
            yield
            return
        coerce = backend.coerce

        def noting(value: Any, device: Any) -> Any:
            if isinstance(value, np.ndarray) and value.ndim:
                noted.append(f"numpy.ndarray of shape {value.shape}")
            return coerce(value, device)

        backend.coerce = noting
        try:
            yield
        finally:
            del backend.coerce
