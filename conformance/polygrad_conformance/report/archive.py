"""The archive of a package: a .tgz of a few files, the same bytes for the same files.

What is read here may come from anyone. Nothing is written to the disk, nothing is followed, and
nothing that `pack_files` would not have written is accepted.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Callable, Mapping

from polygrad.errors import FileFormatError

__all__ = ["LIMIT", "pack_files", "unpack_files"]

# Of all files together, in bytes. A full report of 20,000 checks has 4 million.
LIMIT = 256 * 2**20
MEMBERS = 16
_BLOCK = 512
_FIX = "Do not use it; ask its author for a package made with `polygrad-conformance package`"


def pack_files(folder: str, files: Mapping[str, bytes]) -> bytes:
    """A .tgz with `files` in `folder`, in order of their names, without dates or owners."""
    out = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in sorted(files):
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode = len(files[name]), 0o644
            archive.addfile(member, io.BytesIO(files[name]))
    return out.getvalue()


def unpack_files(data: bytes, path: str = "package.tgz") -> dict[str, bytes]:
    """The files of an archive by name, without the folder that they all lie in.

    Raises
    ------
    FileFormatError
        It is no archive, too large, or has anything but plain files in one folder.
    """

    def refuse(what: str) -> FileFormatError:
        return FileFormatError(f"the package {path} is refused: {what}", "", _FIX)

    try:
        plain = _decompressed(data)
    except (OSError, EOFError, zlib.error) as error:
        raise refuse(f"it is no .tgz, or damaged ({error})") from error
    if len(plain) > LIMIT:
        raise refuse(f"its files have more than {LIMIT} bytes")
    files: dict[str, bytes] = {}
    folders = set()
    at = 0
    while at + _BLOCK <= len(plain) and any(plain[at : at + _BLOCK]):
        member = _member(plain[at : at + _BLOCK], refuse)
        folder, name = _split(member.name, refuse)
        folders.add(folder)
        at += _BLOCK
        if name in files or len(files) == MEMBERS or len(folders) > 1:
            raise refuse(
                f"{member.name!r} is there twice, in a second folder, or one file too many"
            )
        if not 0 <= member.size <= len(plain) - at:
            raise refuse(f"{member.name!r} claims {member.size} bytes and has fewer")
        files[name] = bytes(plain[at : at + member.size])
        at += -(-member.size // _BLOCK) * _BLOCK
    if any(plain[at:]):
        raise refuse("there is something behind its last file")
    if not files:
        raise refuse("it is empty")
    return files


def _decompressed(data: bytes) -> bytes:
    """At most one byte more than the limit, however much is packed into a few bytes."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
        return packed.read(LIMIT + 1)


def _member(block: bytes, refuse: Callable[[str], FileFormatError]) -> tarfile.TarInfo:
    """The header in a block. tarfile itself would follow links and extensions of the format."""
    try:
        member = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, UnicodeDecodeError) as error:
        raise refuse(f"a header is damaged ({error})") from error
    kinds = {
        tarfile.SYMTYPE: "a symbolic link", tarfile.LNKTYPE: "a hard link",
        tarfile.DIRTYPE: "a folder", tarfile.CHRTYPE: "a device", tarfile.BLKTYPE: "a device",
        tarfile.FIFOTYPE: "a pipe",
    }  # fmt: skip
    if member.type != tarfile.REGTYPE:
        kind = kinds.get(member.type, f"of type {member.type!r}")
        raise refuse(f"{member.name!r} is {kind}, not a plain file")
    return member


def _split(name: str, refuse: Callable[[str], FileFormatError]) -> tuple[str, str]:
    """The folder and the name of a member: two plain words, so that it can lead nowhere."""
    parts = name.split("/")
    plain = len(parts) == 2 and all(
        part and part not in (".", "..") and part.isprintable() and not set(part) & set('\\:*?"<>|')
        for part in parts
    )
    if not plain:
        raise refuse(f"the name {name!r} is not FOLDER/FILE")
    return parts[0], parts[1]
