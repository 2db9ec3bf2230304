"""What a backend says of itself, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Capabilities", "KnownGap"]


@dataclass(frozen=True)
class Capabilities:
    """What a backend can do, as data: tests and the documentation read it, never a vendor's name.

    Attributes
    ----------
    writeable
        Arrays can be written in place.
    aliasing
        Basic indexing, reshape and permute_dims give views of one memory; their `base` owns it.
    sparse_keys
        Integer-array and mask keys work in `x[key]` and `x[key] = v` as in NumPy.
    negative_steps
        Slices go backwards too.
    checks_indices
        An index out of range raises, without help.
    late_index_checks
        Where the library does not check indices, polygrad does so without making the host wait: an
        index out of range raises when the host next waits for the device.
    data_dependent_shapes
        `nonzero`, `unique_*` and masks work.
    compiles
        Each new shape of an operation is compiled first: tests make do with fewer shapes.
    asynchronous
        Calls may return before the device has finished.
    deterministic_scatter
        Adding to one place several times always sums in the same order.
    subnormals
        False where results below the smallest normal number become zero.
    max_dimensions
        The most axes that an array can have, None for any number.
    survives_fork
        The library works in a child process that was forked after it had been used.
    unsupported
        Operations that the library cannot serve: names or globs, `linalg.lu`, `fft.*`, or
        `matmul/float16` for one dtype. The conformance suite holds that this is so.
    accuracy
        The accuracy that is claimed for a dtype: `ieee`, `full` (unless another is said),
        `relaxed` or `fast`; what they mean, the conformance suite says.
    """

    writeable: bool = True
    aliasing: bool = False
    sparse_keys: bool = True
    negative_steps: bool = True
    checks_indices: bool = True
    late_index_checks: bool = False
    data_dependent_shapes: bool = True
    compiles: bool = False
    asynchronous: bool = False
    deterministic_scatter: bool = True
    subnormals: bool = True
    max_dimensions: int | None = 64
    survives_fork: bool = False
    unsupported: tuple[str, ...] = ()
    accuracy: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class KnownGap:
    """A fault of the library that the conformance suite expects, until the day it is gone.

    Attributes
    ----------
    op
        The operation, or a glob.
    reason, url
        What is wrong, and where it was reported.
    dtypes, checks, samples, devices
        Where it shows: dtypes, kinds of check, samples (globs), devices; everywhere if empty.
    kind
        bug, accuracy, spec, hardware or future; a bug if there is a url.
    measured
        The error when it was entered, as `24.5 ulp`: more than a quarter above it is a failure.
    when
        The versions that have it: `backend_version < 2.5`.
    """

    op: str
    reason: str
    url: str = ""
    dtypes: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    kind: str = ""
    measured: str = ""
    when: str = ""
