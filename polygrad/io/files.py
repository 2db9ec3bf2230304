"""`save` and `load`: nested values with tensors, in one safetensors file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from polygrad import dtypes
from polygrad.errors import DtypeError, FileFormatError, InvalidArgumentError
from polygrad.io.header import OWN, VERSION
from polygrad.io.reading import Source
from polygrad.io.structure import Flags, decode, encode, key_of
from polygrad.io.writing import write
from polygrad.registry import backend_of, find_device, kernels_for
from polygrad.tensor import Tensor, new_tensor

__all__ = ["Contents", "TensorInfo", "describe", "load", "save"]

Host = np.ndarray[Any, Any]
Path = str | os.PathLike[str]


def save(obj: Any, path: Path, *, metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors, or nested lists, tuples and dictionaries of tensors and plain values.

    The file is there as a whole or not at all: whatever happens on the way, an older file of that
    name stays as it was. Any program that reads safetensors finds the tensors in it, named by their
    path joined with dots: those of a `state_dict` by its keys.

    Parameters
    ----------
    obj
        Tensors, arrays of any known library, numbers, strings, bytes, None, dtypes, devices; lists,
        tuples and dictionaries of them. Of a model, an optimiser or a schedule, its `state_dict()`.
    path
        Of the file, by custom with the ending .safetensors.
    metadata
        Strings to keep in the file, for `describe` and for other programs.

    Raises
    ------
    InvalidTypeError, DtypeError, GradientError
        Something in `obj` cannot be saved, with the path to it: an object, an array of strings, a
        tensor with a history.
    InvalidArgumentError
        Metadata that are no strings, or of a name that polygrad uses itself; `obj` contains itself.
    OSError
        The file cannot be written.

    Notes
    -----
    Saved are values, not histories or gradients. Named tuples come back as tuples, dictionaries of
    any class as dict, NumPy's scalars as Python numbers. complex128, which the format lacks, is
    stored as pairs of float64.

    >>> import os, tempfile
    >>> import polygrad as pg
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> pg.save({"weights": [pg.ones(2)], "step": 3}, path)
    >>> pg.load(path)
    {'weights': [tensor([1., 1.], dtype=float32)], 'step': 3}
    """
    found = dict(metadata or {})
    for key, value in found.items():
        if type(key) is not str or type(value) is not str or key.startswith(VERSION):
            raise InvalidArgumentError(
                f"{key!r}: {value!r} cannot be in the metadata", "pg.save, argument metadata",
                f"map strings to strings, of which none begins with {VERSION!r}",
            )  # fmt: skip
    structure, arrays = encode(obj)
    write(os.fspath(path), structure, arrays, found)


def load(
    path: Path,
    *,
    device: Any = None,
    dtype: Any = None,
    mmap: bool = False,
    keys: Iterable[Any] | Callable[[Any], bool] | None = None,
    strict: bool = True,
    verify: bool | None = None,
) -> Any:
    """Read what `save` wrote, or a safetensors file of any other program.

    Reading makes values only: no code of the file, or named in it, is run.

    Parameters
    ----------
    path
        Of a safetensors file; of an index as Hugging Face's libraries write it beside several files
        (`model.safetensors.index.json`); or of a folder that holds one of these. Files that
        polygrad did not write give a dictionary of tensors by name.
    device
        Where the tensors go; the default device if not given, wherever they were saved from.
    dtype
        A real floating dtype, for all tensors of real floating dtypes. Others keep theirs.
    mmap
        Read the numbers only when they are looked at, from the file: it must not be changed while a
        tensor is in use (`save` replaces files, and changes none). A write to such a tensor copies
        it.
    keys
        Of a dictionary, load only these keys, or those for which `keys(key)` is true.
    strict
        Whether it is an error if one of `keys` is not there.
    verify
        Whether to check that the file is as it was written, which only files of polygrad can show.
        True: all of it. False: nothing. None: all of it, but with `mmap` only the header.

    Returns
    -------
    object
        As `save` was given it; arrays of other libraries are NumPy's.

    Raises
    ------
    FileFormatError
        The file is damaged, or no safetensors file; the message says where.
    InvalidArgumentError
        `keys` names something that is not there, or the file holds no dictionary.
    DtypeError
        The device has no such dtype, or no tensor can have it: choose one with `dtype`.
    OSError
        The file cannot be read.

    >>> import os, tempfile
    >>> import polygrad as pg
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> pg.save({"model": {"weight": pg.ones(2)}, "step": 3}, path)
    >>> pg.load(path, keys=["model"], dtype=pg.float64)
    {'model': {'weight': tensor([1., 1.], dtype=float64)}}
    """
    place, wanted = find_device(device), None if dtype is None else dtypes.canonical(dtype)
    if wanted is not None and dtypes.kind_of(wanted) != dtypes.REAL:
        raise DtypeError(
            f"{wanted} is no real floating dtype", "pg.load, argument dtype",
            "pass one, or convert what was loaded",
        )  # fmt: skip
    with Source(os.fspath(path), mapped=mmap, verify=verify) as source:
        used: set[str] = set()

        def fetch(kind: str, name: str, flags: Flags) -> Any:
            used.add(name)
            file = source.file_of(name)
            where = f"{file.path}, tensor {name!r}"
            host = _combined(file.array(name), flags, where)
            if kind == "array":
                return host
            return _tensor(host, place, wanted, flags, where)

        made = decode(_chosen(source.structure, keys, strict, source.where), fetch, source.where)
        if keys is None and len(used) < len(source.files):
            rest = sorted(source.files.keys() - used)
            raise FileFormatError(
                f"the structure lacks {len(rest)} tensors, among them {rest[0]!r}", source.where,
                "the file was changed by another program: load what it names with keys=",
            )  # fmt: skip
        return made


def _chosen(node: Any, keys: Any, strict: bool, where: str) -> Any:
    """The node of a dictionary without the keys that are not wanted."""
    if keys is None:
        return node
    kind, content = next(iter(node.items()), ("", None)) if isinstance(node, dict) else ("", None)
    if kind == "dict" and isinstance(content, dict):
        pairs = list(content.items())
    elif kind == "items" and isinstance(content, list):
        pairs = [(key_of(pair, where), pair) for pair in content]
    else:
        raise InvalidArgumentError(
            "the file holds no dictionary", f"pg.load of {where}, argument keys", "leave keys out"
        )
    there = [key for key, _ in pairs]
    if not callable(keys):
        wanted = [keys] if isinstance(keys, str) else list(keys)
        missing = [key for key in wanted if key not in there]
        if missing and strict:
            raise InvalidArgumentError(
                f"the file does not have {_listed(missing)}", f"pg.load of {where}, argument keys",
                f"it has {_listed(there)}; strict=False leaves out what is not there",
            )  # fmt: skip
        keys = wanted.__contains__
    left = [(key, value) for key, value in pairs if keys(key)]
    return {"dict": dict(left)} if kind == "dict" else {"items": [pair for _, pair in left]}


def _listed(keys: list[Any]) -> str:
    shown = ", ".join(map(repr, keys[:10]))
    return shown + (f" and {len(keys) - 10} more" if len(keys) > 10 else "")


def _combined(host: Host, flags: Flags, where: str) -> Host:
    """Pairs of float64 as complex128, if they are that."""
    if "complex128" not in flags:
        return host
    if host.dtype != dtypes.float64 or host.shape[-1:] != (2,):
        raise FileFormatError(
            f"{host.dtype} of shape {host.shape} is no complex128", where,
            "the file was changed: get it again",
        )  # fmt: skip
    return host.view(dtypes.complex128).reshape(host.shape[:-1])


def _tensor(host: Host, device: Any, dtype: Any, flags: Flags, where: str) -> Tensor:
    """A Tensor of an array, which it owns or which cannot be written."""
    name = host.dtype.name
    if dtype is not None and name.startswith(("float", "bfloat")):
        host = host.astype(dtype, copy=False)
    elif name.startswith("float8"):
        raise DtypeError(
            f"tensors cannot hold {name}", where, "choose a dtype: pg.load(path, dtype=pg.float32)"
        )
    kernels = kernels_for(device, host.dtype, f"pg.load, {where}")
    here = backend_of(host) is kernels.backend
    made = new_tensor(host if here else kernels.from_numpy(host), kernels)
    if "requires_grad" in flags:
        if not kernels.inexact:
            raise FileFormatError(
                f"a tensor of {name} cannot require grad", where,
                "the file was changed: get it again",
            )  # fmt: skip
        made.tracked = True
    return made


# ---- what is in a file ----------------------------------------------------------------------
class TensorInfo(NamedTuple):
    """The dtype, by name, the shape, and the file of a tensor."""

    dtype: str
    shape: tuple[int, ...]
    file: str


class Contents(NamedTuple):
    """What is in a file: its tensors by name, and its metadata."""

    tensors: dict[str, TensorInfo]
    metadata: dict[str, str]


def describe(path: Path) -> Contents:
    """What a file holds, without reading the numbers.

    Parameters
    ----------
    path
        As of `load`.

    Returns
    -------
    Contents
        The tensors as the file has them, and the metadata that `save` was given.

    Raises
    ------
    FileFormatError, OSError
        As `load`.

    >>> import os, tempfile
    >>> import polygrad as pg
    >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
    >>> pg.save({"a": pg.ones((2, 3))}, path, metadata={"made by": "me"})
    >>> found = pg.io.describe(path)
    >>> found.tensors["a"].shape, found.metadata
    ((2, 3), {'made by': 'me'})
    """
    with Source(os.fspath(path), mapped=False, verify=None) as source:
        tensors = {}
        for name, shard in source.files.items():
            entry = source.file_of(name).header.entries[name]
            tensors[name] = TensorInfo(entry.dtype, entry.shape, shard)
        rest = {key: value for key, value in source.metadata.items() if key not in OWN}
        return Contents(tensors, rest)
