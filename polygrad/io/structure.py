"""Nested values as JSON, with the names of arrays in the places of arrays.

JSON's own values stand for themselves, and lists for lists. All else is an object whose first key
says what it is: `{"tuple": […]}`, `{"dict": {…}}` (of string keys), `{"items": [[key, value], …]}`
(a dictionary of other keys), `{"tensor": name}`, `{"array": name}`, `{"float": "nan"}`,
`{"complex": [re, im]}`, `{"bytes": base64}`, `{"dtype": name}`, `{"device": name}`.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad.device import Device
from polygrad.errors import (
    DtypeError,
    FileFormatError,
    GradientError,
    InvalidArgumentError,
    InvalidTypeError,
)
from polygrad.io.header import METADATA, dtype_can_be_saved
from polygrad.registry import backend_of
from polygrad.tensor import Tensor

__all__ = ["Flags", "decode", "encode", "key_of"]

Flags = dict[str, Any]
Fetch = Callable[[str, str, Flags], Any]
_PLAIN = (type(None), bool, int, str)
_WHERE = "pg.save, argument obj"


# ---- to JSON ------------------------------------------------------------------------------------
def encode(value: Any) -> tuple[str, dict[str, Any]]:
    """The JSON of a nested value, and its arrays and Tensors by the names that it gives them.

    A name is the path to the array, joined with dots; so those of a flat dictionary are its keys.

    Raises
    ------
    InvalidTypeError
        Something that cannot be saved, with the path to it.
    DtypeError
        An array of a dtype that the format does not have.
    GradientError
        A tensor with a history.
    InvalidArgumentError
        Containers are nested too deeply: one may contain itself.
    """
    arrays: dict[str, Any] = {}
    try:
        node = _encode(value, (), arrays)
        return json.dumps(node, allow_nan=False, separators=(",", ":")), arrays
    except RecursionError as error:
        raise InvalidArgumentError(
            "the value is nested too deeply", _WHERE, "see whether a container contains itself"
        ) from error


def _encode(value: Any, path: tuple[str, ...], arrays: dict[str, Any]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _PLAIN:
        return value
    if isinstance(value, (list, tuple)):
        items = [_encode(item, (*path, str(i)), arrays) for i, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        return _mapping(value, path, arrays)
    if isinstance(value, Tensor) or backend_of(value) is not None:
        return _array(value, path, arrays)
    return _scalar(value, path)


def _mapping(value: Mapping[Any, Any], path: tuple[str, ...], arrays: dict[str, Any]) -> Any:
    inner = [(key, _encode(item, (*path, str(key)), arrays)) for key, item in value.items()]
    if all(type(key) is str for key, _ in inner):
        return {"dict": dict(inner)}
    return {"items": [[_encode(key, (*path, "a key"), {}), item] for key, item in inner]}


def _array(value: Any, path: tuple[str, ...], arrays: dict[str, Any]) -> Any:
    base = ".".join(path) or "value"
    name, count = base, 1
    while name in arrays or name == METADATA:
        count += 1
        name = f"{base}#{count}"
    is_tensor = isinstance(value, Tensor)
    flags: Flags = {}
    if is_tensor:
        dtype = value.dtype
        if value.grad_fn is not None:
            raise GradientError(
                f"{base}: a tensor with a history cannot be saved", _WHERE,
                "save its value: t.detach()",
            )  # fmt: skip
        if value.requires_grad:
            flags["requires_grad"] = True
    else:
        backend = backend_of(value)
        assert backend is not None  # noqa: S101  asked before
        dtype = backend.dtype_of(value)
    if dtype == dtypes.complex128:
        flags["complex128"] = True
    elif not dtype_can_be_saved(dtype):
        raise DtypeError(
            f"{base}: an array of dtype {dtype} cannot be saved", _WHERE,
            "convert it to numbers of a dtype that tensors have",
        )  # fmt: skip
    arrays[name] = value
    return {"tensor" if is_tensor else "array": name, **flags}


def _scalar(value: Any, path: tuple[str, ...]) -> Any:
    if type(value) is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if type(value) is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if type(value) in (bytes, bytearray):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, Device):
        return {"device": value.name}
    name = type(value).__qualname__
    at = f" at {'.'.join(path)}" if path else ""
    fix = "save numbers, strings, None, arrays, and lists, tuples and dictionaries of them"
    if hasattr(value, "state_dict"):
        fix = "save its state_dict(), and load that into one made anew"
    elif hasattr(value, "get_state"):
        fix = "save its get_state(), and restore that with set_state"
    raise InvalidTypeError(f"a {name}{at} cannot be saved", _WHERE, fix)


# ---- from JSON ----------------------------------------------------------------------------------
def decode(node: Any, fetch: Fetch, where: str) -> Any:
    """The value of a JSON node; `fetch(kind, name, flags)` gives its arrays.

    Raises
    ------
    FileFormatError
        The node is not one that `encode` makes.
    """
    try:
        return _decode(node, fetch, where)
    except RecursionError as error:
        raise FileFormatError("the structure is nested too deeply", where, _FIX) from error


_FIX = "the file was not written by pg.save: load it with another program"


def _decode(node: Any, fetch: Fetch, where: str) -> Any:
    if type(node) in _PLAIN or type(node) is float:
        return node
    if isinstance(node, list):
        return [_decode(item, fetch, where) for item in node]
    kind, content = next(iter(node.items()), ("", None))
    if kind in ("tensor", "array"):
        flags = {key: value for key, value in node.items() if key != kind}
        if type(content) is not str or not flags.keys() <= {"requires_grad", "complex128"}:
            raise FileFormatError(f"{node!r} names no array", where, _FIX)
        return fetch(kind, content, flags)
    if len(node) == 1:
        if kind == "dict" and isinstance(content, dict):
            return {key: _decode(item, fetch, where) for key, item in content.items()}
        if kind == "tuple" and isinstance(content, list):
            return tuple(_decode(item, fetch, where) for item in content)
        if kind == "items" and isinstance(content, list):
            return _items(content, fetch, where)
        if kind in _SCALARS:
            try:
                return _SCALARS[kind](content)
            except (ValueError, TypeError, DtypeError) as error:
                raise FileFormatError(
                    f"{content!r} is no {kind}: {error}", where, _FIX
                ) from error
    raise FileFormatError(f"a value of kind {kind!r} is unknown", where, _FIX)


def _items(pairs: list[Any], fetch: Fetch, where: str) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for pair in pairs:
        key = key_of(pair, where)
        if key in made:
            raise FileFormatError(f"the key {key!r} comes twice", where, _FIX)
        made[key] = _decode(pair[1], fetch, where)
    return made


def key_of(pair: Any, where: str) -> Any:
    """The key of a pair of key and value; FileFormatError if it is none."""
    if not isinstance(pair, list) or len(pair) != 2:
        raise FileFormatError(f"{pair!r} is no key with its value", where, _FIX)

    def refuse(kind: str, name: str, flags: Flags) -> Any:
        del flags
        raise FileFormatError(f"the {kind} {name!r} is a key", where, _FIX)

    key = decode(pair[0], refuse, where)
    try:
        hash(key)
    except TypeError as error:
        raise FileFormatError(f"{key!r} cannot be a key", where, _FIX) from error
    return key


def _number(text: Any) -> float:
    if type(text) is not str:
        raise TypeError("it is not text")
    return float(text)


def _complex(parts: Any) -> complex:
    real, imaginary = parts
    return complex(_number(real), _number(imaginary))


def _dtype(name: Any) -> np.dtype[Any]:
    if name not in (*dtypes.NAMES, "bfloat16"):
        raise ValueError("there is no such dtype")
    return dtypes.canonical(name)


_SCALARS: dict[str, Callable[[Any], Any]] = {
    "float": _number, "complex": _complex, "dtype": _dtype, "device": Device,
    "bytes": lambda text: base64.b64decode(text, validate=True),
}  # fmt: skip
