"""Bytes for people."""

from __future__ import annotations

__all__ = ["size_text"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(nbytes: float) -> str:
    """A number of bytes in the unit that leaves up to four digits before the point.

    >>> size_text(0), size_text(300), size_text(3 << 20), size_text(5 << 30)
    ('0 B', '300 B', '3.0 MiB', '5.0 GiB')
    """
    size, unit = float(nbytes), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else f"{size:.0f} B"
