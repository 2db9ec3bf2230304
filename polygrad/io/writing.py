"""Files that are there as a whole or not at all, and what pg.save writes into one."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from polygrad import dtypes
from polygrad.io.header import compose
from polygrad.registry import require_backend
from polygrad.tensor import Tensor, on_host

__all__ = ["replacing", "write"]

Host = np.ndarray[Any, Any]


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends, if it ends without an error.

    It is written under another name in the same folder, forced to the disk and renamed, so that at
    every moment the name leads to the old file or to the whole new one. What kills the process in
    between leaves the old one, and beside it one that begins with a dot and ends with .tmp. The new
    file has the permissions of the old one; where there is a symbolic link, what it leads to is
    replaced.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name[:150]}.{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(draft, flags, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            with contextlib.suppress(FileNotFoundError):
                draft.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Force the new name to the disk, where a folder can be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write(
    path: str, structure: str, arrays: dict[str, Any], metadata: dict[str, str]
) -> None:
    """Write arrays and Tensors, of which one at a time is copied to the host.

    Those of large items come first, so that each lies at a multiple of its item's size.
    """
    facts = [(name, *_facts(value)) for name, value in arrays.items()]
    facts.sort(key=lambda fact: -fact[1].itemsize)
    sums = ["0" * 8] * len(facts)
    head = compose(facts, metadata, structure, "".join(sums))
    with replacing(path) as file:
        file.write(head)
        for i, (name, *_) in enumerate(facts):
            data: Any = _bytes(_host(arrays[name]))
            sums[i] = f"{zlib.crc32(data):08x}"
            file.write(data)
        file.seek(0)
        file.write(compose(facts, metadata, structure, "".join(sums)))


def _facts(value: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The dtype and shape in the file; the format has no complex128, so it is pairs of float64."""
    if isinstance(value, Tensor):
        dtype, shape = value.dtype, value.shape
    else:
        dtype, shape = require_backend(value, "pg.save").dtype_of(value), tuple(value.shape)
    return (dtypes.float64, (*shape, 2)) if dtype == dtypes.complex128 else (dtype, shape)


def _host(value: Any) -> Host:
    if isinstance(value, Tensor):
        return on_host(value)
    return require_backend(value, "pg.save").to_numpy(value)


def _bytes(array: Host) -> Host:
    """The array's bytes, C-ordered, low byte first."""
    array = np.ascontiguousarray(array)
    return array.astype(array.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8)
