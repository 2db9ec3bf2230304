"""What pg.load reads: one safetensors file, or several with an index."""

from __future__ import annotations

import contextlib
import mmap
import os
import stat
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import numpy as np

from polygrad.errors import FileFormatError
from polygrad.io.header import CHECKSUMS, STRUCTURE, Entry, Header, parse_json, read_header

__all__ = ["File", "Source"]

Host = np.ndarray[Any, Any]
_AGAIN = "the file is damaged: get it again"
_INDEX = ".safetensors.index.json"
_LARGEST_INDEX = 100_000_000


class File:
    """One open safetensors file.

    Parameters
    ----------
    path
        Of a regular file.
    mapped
        Whether arrays are views of the file, read when they are looked at.
    verify
        True: the header and every array are as they were written, if polygrad wrote them; None: the
        same, but for mapped arrays; False: neither.
    """

    def __init__(self, path: str, *, mapped: bool, verify: bool | None) -> None:
        self.path, self.mapped = path, mapped
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise FileFormatError("this is no regular file", path, "name a safetensors file")
        self._file: BinaryIO = Path(path).open("rb")  # noqa: SIM115  closed by __exit__
        try:
            self.size = os.fstat(self._file.fileno()).st_size
            strict = verify is not False
            self.header: Header = read_header(self._file, self.size, path, verify=strict)
            self._sums: dict[str, str] = {}
            if verify or (strict and not mapped):
                self._sums = self._checksums()
            self._map: mmap.mmap | None = None
            if mapped:
                self._map = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; mapped arrays stay valid."""
        self._file.close()

    def _checksums(self) -> dict[str, str]:
        digits = self.header.metadata.get(CHECKSUMS)
        if digits is None:
            return {}
        names = list(self.header.entries)
        if len(digits) != 8 * len(names):
            where = f"{self.path}, header, {CHECKSUMS}"
            raise FileFormatError(f"there are not {len(names)} checksums", where, _AGAIN)
        return {name: digits[8 * i : 8 * i + 8] for i, name in enumerate(names)}

    def array(self, name: str) -> Host:
        """An array that the header lists: in memory of its own, or read-only in the file's."""
        entry = self.header.entries[name]
        where = f"{self.path}, tensor {name!r}"
        made = self._mapped(entry, where) if self.mapped else self._read(entry, where)
        data: Any = made.reshape(-1).view(np.uint8)
        if name in self._sums and f"{zlib.crc32(data):08x}" != self._sums[name]:
            raise FileFormatError(
                "the numbers are not as they were written: their checksum differs", where, _AGAIN
            )
        if entry.dtype == "bool" and made.size and int(data.max()) > 1:
            raise FileFormatError("a bool is neither 0 nor 1", where, _AGAIN)
        return made if made.dtype.isnative else made.astype(made.dtype.newbyteorder("="))

    def _read(self, entry: Entry, where: str) -> Host:
        made: Host = np.empty(entry.shape, entry.numpy_dtype(where))
        flat: Any = made.reshape(-1).view(np.uint8)
        rest = memoryview(flat)
        self._file.seek(self.header.start + entry.start)
        while rest:
            count = self._file.readinto(rest)  # type: ignore[attr-defined]
            if not count:
                raise FileFormatError("the file ends within a tensor", where, _AGAIN)
            rest = rest[count:]
        return made

    def _mapped(self, entry: Entry, where: str) -> Host:
        assert self._map is not None  # noqa: S101  for the type checker
        offset = self.header.start + entry.start
        made: Host = np.ndarray(entry.shape, entry.numpy_dtype(where), self._map, offset)
        return made if made.flags.aligned else made.copy()


# ---- one file or several --------------------------------------------------------------------
class Source:
    """The arrays of one file, or of the files that an index lists.

    Attributes
    ----------
    where
        Its path.
    structure
        The JSON node of what is in it.
    files
        The name of the file of each array, relative to `folder`.
    """

    def __init__(self, path: str, *, mapped: bool, verify: bool | None) -> None:
        self._options: dict[str, Any] = {"mapped": mapped, "verify": verify}
        self._open: dict[str, File] = {}
        self._stack = contextlib.ExitStack()
        self.where = _found(path)
        self.folder = Path(self.where).parent
        if self.where.endswith(".json"):
            self.files, self.metadata = _read_index(self.where)
            self.structure: Any = _flat(self.files)
            return
        with contextlib.ExitStack() as stack:
            name = Path(self.where).name
            file = self._open[name] = stack.enter_context(File(self.where, **self._options))
            self.files = dict.fromkeys(file.header.entries, name)
            self.metadata = file.header.metadata
            self.structure = _structure(self.metadata, self.files, self.where)
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the files."""
        self._stack.close()

    def file_of(self, name: str) -> File:
        """The file of an array, opened now if it was not; FileFormatError if it is not there."""
        if name not in self.files:
            raise FileFormatError(
                f"there is no tensor {name!r}, which the structure names", self.where, _AGAIN
            )
        shard = self.files[name]
        if shard not in self._open:
            path = str(self.folder / shard)
            self._open[shard] = self._stack.enter_context(File(path, **self._options))
        file = self._open[shard]
        if name not in file.header.entries:
            raise FileFormatError(
                f"the tensor {name!r} is not in {shard}, where the index has it", self.where,
                "get both files again",
            )  # fmt: skip
        return file


def _structure(metadata: dict[str, str], names: Iterable[str], path: str) -> Any:
    text = metadata.get(STRUCTURE)
    if text is None:
        return _flat(names)
    raw = text.encode(errors="surrogatepass")
    return parse_json(raw, f"{path}, header, {STRUCTURE}", _AGAIN)


def _flat(names: Iterable[str]) -> Any:
    """The structure of a file that has none: a dictionary of tensors by name."""
    return {"dict": {name: {"tensor": name} for name in names}}


def _found(path: str) -> str:
    """The file to read: of a folder that Hugging Face's library wrote, the model or its index."""
    folder = Path(path)
    if not folder.is_dir():
        return path
    for pattern in ("model.safetensors", "model" + _INDEX, "*" + _INDEX, "*.safetensors"):
        found = sorted(folder.glob(pattern))
        if len(found) == 1:
            return str(found[0])
    raise FileFormatError(
        "the folder holds no safetensors file, or several without an index", path, "name the file"
    )


def _read_index(path: str) -> tuple[dict[str, str], dict[str, str]]:
    """The file of each tensor, and the index's metadata, as strings."""
    fix = "an index is what Hugging Face's libraries write beside the files: get it again"
    if Path(path).stat().st_size > _LARGEST_INDEX:
        raise FileFormatError(f"the index has more than {_LARGEST_INDEX} bytes", path, fix)
    table = parse_json(Path(path).read_bytes(), path, fix)
    files = table.get("weight_map") if isinstance(table, dict) else None
    if not isinstance(files, dict) or not all(isinstance(name, str) for name in files.values()):
        raise FileFormatError("the index has no weight_map of names to files", path, fix)
    for name in sorted(set(files.values())):
        if Path(name).name != name or "\\" in name or not name.endswith(".safetensors"):
            raise FileFormatError(
                f"{name!r} is not the name of a safetensors file in the same folder",
                f"{path}, weight_map", fix,
            )  # fmt: skip
    found = table.get("metadata")
    about = found if isinstance(found, dict) else {}
    return files, {key: str(value) for key, value in about.items()}
