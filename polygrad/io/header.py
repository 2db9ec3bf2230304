"""The header of a safetensors file: what is where in it, checked before anything is read.

Source: the description of the format at https://github.com/huggingface/safetensors. Eight bytes
hold the length of the header, an unsigned number, low byte first. The header is a JSON object. It
maps the name of each tensor to its dtype, its shape and where its bytes begin and end, counted from
the end of the header; `__metadata__` maps strings to strings. The tensors' bytes follow, C-ordered,
low byte first, without gaps and to the end of the file.

Note [The digest]
-----------------
A file that polygrad wrote has the four keys of `OWN` in its metadata. Its header is protected by a
digest in the header itself: BLAKE2b of all its bytes, with zeros where the digest stands. Each
tensor's bytes are protected by a CRC-32. Damage may turn a header into another valid one (a shape
of (2, 3) into one of (3, 2), a dtype into another of its size): only the digest finds that. It
would have to hit all four keys to pass for a file of somebody else's.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections import Counter
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from polygrad.errors import DtypeError, FileFormatError, InvalidArgumentError

__all__ = ["CHECKSUMS", "METADATA", "STRUCTURE", "Entry", "Header", "compose", "read_header"]

METADATA = "__metadata__"
VERSION, STRUCTURE = "polygrad", "polygrad.structure"
CHECKSUMS, DIGEST = "polygrad.checksums", "polygrad.digest"
OWN = (VERSION, STRUCTURE, CHECKSUMS, DIGEST)
WRITTEN = "1"  # the version of what this module writes
LARGEST = 100_000_000  # bytes of a header, in the reference implementation
ALIGNMENT = 64  # of the first tensor in the file
_MOST_AXES = 64  # that a NumPy array can have

# The format's names of dtypes: NumPy's, or those of ml_dtypes; and their sizes in bytes.
_DTYPES = {
    "BOOL": ("bool", 1), "U8": ("uint8", 1), "I8": ("int8", 1), "U16": ("uint16", 2),
    "I16": ("int16", 2), "U32": ("uint32", 4), "I32": ("int32", 4), "U64": ("uint64", 8),
    "I64": ("int64", 8), "F16": ("float16", 2), "BF16": ("bfloat16", 2), "F32": ("float32", 4),
    "F64": ("float64", 8), "C64": ("complex64", 8), "F8_E4M3": ("float8_e4m3fn", 1),
    "F8_E5M2": ("float8_e5m2", 1),
}  # fmt: skip
_CODES = {name: code for code, (name, _) in _DTYPES.items()}
_DAMAGED = "the file is damaged, or no safetensors file: get it again"
_MAGIC = {
    b"PK\x03\x04": "a zip file, as torch.save and numpy.savez write",
    **{bytes([0x80, version]): "a pickle" for version in range(2, 6)},
    b"\x93NUMPY": "an array of numpy.save",
    b"\x89HDF": "an HDF5 file",
}
_FOREIGN = (
    "convert it with the program that wrote it: to NumPy arrays and pg.save, or with the package "
    "safetensors"
)


class Entry(NamedTuple):
    """One tensor: its name, dtype (by NumPy's name), shape, first byte and the byte after it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    stop: int

    def numpy_dtype(self, where: str) -> np.dtype[Any]:
        """As NumPy has it, low byte first; DtypeError if that needs a package not installed."""
        if hasattr(np, self.dtype):
            plain: np.dtype[Any] = np.dtype(self.dtype)
            return plain.newbyteorder("<")
        try:
            import ml_dtypes  # noqa: PLC0415  optional
        except ImportError as error:
            raise DtypeError(
                f"{self.dtype} needs the package ml_dtypes, which is not installed", where,
                "pip install ml_dtypes",
            ) from error  # fmt: skip
        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, self.dtype))
        return found


class Header(NamedTuple):
    """A header that was found valid.

    Attributes
    ----------
    entries
        The tensors, by name, in the order of their bytes.
    metadata
        Its strings.
    start
        Where in the file the tensors' bytes begin.
    """

    entries: dict[str, Entry]
    metadata: dict[str, str]
    start: int


# ---- writing ----------------------------------------------------------------------------------
def compose(
    sizes: list[tuple[str, np.dtype[Any], tuple[int, ...]]],
    metadata: dict[str, str],
    structure: str,
    checksums: str,
) -> bytes:
    """The first bytes of a file, its length included.

    Parameters
    ----------
    sizes
        Name, dtype and shape of each tensor, in the order of their bytes.
    metadata
        The user's strings.
    structure
        How the tensors belong together, as JSON.
    checksums
        Of each tensor, eight hexadecimal digits.
    """
    own = {VERSION: WRITTEN, STRUCTURE: structure, CHECKSUMS: checksums, DIGEST: "0" * 32}
    table: dict[str, Any] = {METADATA: {**metadata, **own}}
    start = 0
    for name, dtype, shape in sizes:
        stop = start + dtype.itemsize * math.prod(shape)
        code = _CODES[dtype.name]
        table[name] = {"dtype": code, "shape": list(shape), "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(
            f"a key is not valid Unicode: {text[error.start - 20 : error.end + 20]!r}",
            "pg.save, argument obj", "rename it",
        ) from error  # fmt: skip
    raw += b" " * (-(8 + len(raw)) % ALIGNMENT)
    place = _digest_place(raw)
    assert place is not None  # noqa: S101  it was written above
    raw = raw[: place.start(1)] + _digest(raw, place).encode() + raw[place.end(1) :]
    return len(raw).to_bytes(8, "little") + raw


_DIGEST = re.compile(rb'"' + re.escape(DIGEST.encode()) + rb'":"([0-9a-f]{32})"')


def _digest_place(raw: bytes) -> re.Match[bytes] | None:
    """Where the digest stands: once, for in a string its quotes would be escaped."""
    return _DIGEST.search(raw)


def _digest(raw: bytes, place: re.Match[bytes]) -> str:
    zeroed = raw[: place.start(1)] + b"0" * 32 + raw[place.end(1) :]
    return hashlib.blake2b(zeroed, digest_size=16).hexdigest()


def dtype_can_be_saved(dtype: np.dtype[Any]) -> bool:
    """Whether the format has the dtype."""
    return dtype.name in _CODES


# ---- reading ------------------------------------------------------------------------------------
def read_header(file: BinaryIO, size: int, path: str, *, verify: bool) -> Header:
    """Read and check the header of a file of `size` bytes.

    Raises
    ------
    FileFormatError
        It is not valid, or with `verify` not as it was written; the message says where.
    """
    first = file.read(8)
    length = int.from_bytes(first, "little")
    if size < 8 or len(first) < 8:
        raise FileFormatError(f"the file has only {size} bytes", path, _DAMAGED)
    if length > min(LARGEST, size - 8):
        for magic, what in _MAGIC.items():
            if first.startswith(magic):
                problem = f"this is no safetensors file, it looks like {what}"
                raise FileFormatError(problem, path, _FOREIGN)
        limit = f"at most {LARGEST} are allowed" if length > LARGEST else f"the file has {size}"
        raise FileFormatError(
            f"the header would be {length} bytes long, and {limit}", f"{path}, bytes 0 to 7",
            _DAMAGED,
        )  # fmt: skip
    raw = file.read(length)
    where = f"{path}, header"
    if len(raw) < length:
        raise FileFormatError("the file ends within its header", where, _DAMAGED)
    table = parse_json(raw, where, _DAMAGED)
    if raw[:1] != b"{" or not isinstance(table, dict):
        raise FileFormatError("the header is no JSON object", where, _DAMAGED)
    metadata = _metadata(table.pop(METADATA, {}), where)
    if verify and any(key.startswith(VERSION) for key in metadata):
        _verify(raw, metadata, where)
    entries = [_entry(name, facts, f"{where}, tensor {name!r}") for name, facts in table.items()]
    entries.sort(key=lambda entry: (entry.start, entry.stop))
    _check_cover(entries, size - 8 - length, where)
    return Header({entry.name: entry for entry in entries}, metadata, 8 + length)


def parse_json(raw: bytes, where: str, fix: str) -> Any:
    """The JSON value of bytes in UTF-8, in which no object has a key twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
            raise FileFormatError(f"the key {twice!r} comes twice", where, fix)
        return made

    def constant(name: str) -> Any:
        raise FileFormatError(f"{name} is not JSON", where, fix)

    try:
        return json.loads(raw.decode(), object_pairs_hook=unique, parse_constant=constant)
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"byte {error.start} is not UTF-8: {error.reason}", where, fix
        ) from error
    except FileFormatError:  # a ValueError itself
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"this is not JSON: {error}", where, fix) from error


def _metadata(found: Any, where: str) -> dict[str, str]:
    if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()):
        return found
    raise FileFormatError(
        "the metadata do not map strings to strings", f"{where}, {METADATA}", _DAMAGED
    )


def _verify(raw: bytes, metadata: dict[str, str], where: str) -> None:
    """That the header is as polygrad wrote it."""
    missing = [key for key in OWN if key not in metadata]
    if missing:
        raise FileFormatError(f"the metadata lack {missing[0]!r}", where, _DAMAGED)
    place = _digest_place(raw)
    if place is None or _digest(raw, place).encode() != place[1]:
        raise FileFormatError(
            "the header is not as it was written: its digest differs", where,
            "get the file again; if another program changed it on purpose, pass verify=False",
        )  # fmt: skip
    if metadata[VERSION] != WRITTEN:
        raise FileFormatError(
            f"the file is of version {metadata[VERSION]!r}, this polygrad reads {WRITTEN!r}",
            where, "install a newer polygrad",
        )  # fmt: skip


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _entry(name: str, facts: Any, where: str) -> Entry:
    """One tensor's entry, checked by itself."""
    if not isinstance(facts, dict):
        raise FileFormatError("the entry is no JSON object", where, _DAMAGED)
    for key in ("dtype", "shape", "data_offsets"):
        if key not in facts:
            raise FileFormatError(f"the entry has no {key!r}", where, _DAMAGED)
    code, shape, offsets = facts["dtype"], facts["shape"], facts["data_offsets"]
    if not isinstance(code, str) or code not in _DTYPES:
        known = ", ".join(_DTYPES)
        raise FileFormatError(
            f"the dtype {code!r} is unknown", where, f"polygrad reads {known}; convert the file"
        )
    if not isinstance(shape, list) or not all(map(_is_count, shape)) or len(shape) > _MOST_AXES:
        raise FileFormatError(f"{shape!r} is no shape", where, _DAMAGED)
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_count, offsets)):
        raise FileFormatError(f"{offsets!r} are no offsets", where, _DAMAGED)
    dtype, itemsize = _DTYPES[code]
    needed, (start, stop) = itemsize * math.prod(shape), offsets
    if stop - start != needed:
        raise FileFormatError(
            f"{code} of shape {tuple(shape)} takes {needed} bytes, the offsets {start} and {stop} "
            f"are {stop - start} apart", where, _DAMAGED,
        )  # fmt: skip
    return Entry(name, dtype, tuple(shape), start, stop)


def _check_cover(entries: list[Entry], size: int, where: str) -> None:
    """That the tensors' bytes follow one another from the header to the end of the file."""
    reached = 0
    for entry in entries:
        if entry.start != reached:
            how = "overlaps the one before" if entry.start < reached else "leaves a gap before it"
            raise FileFormatError(
                f"the tensor begins at byte {entry.start}, the one before ends at {reached}: it "
                f"{how}", f"{where}, tensor {entry.name!r}", _DAMAGED,
            )  # fmt: skip
        reached = entry.stop
    if reached != size:
        last = f", tensor {entries[-1].name!r}" if entries else ""
        problem = "is cut short" if reached > size else "has more"
        raise FileFormatError(
            f"the tensors end at byte {reached} after the header, the file at {size}: it {problem}",
            where + last, _DAMAGED,
        )  # fmt: skip
