"""Plain data for every format: strict numbers, and text that no terminal or parser trips over."""

from __future__ import annotations

import importlib
import json
import math
import re
from typing import Any

from polygrad.errors import PolygradError

__all__ = [
    "canonical",
    "clean",
    "needed",
    "one_line",
    "short_hex",
    "shortened",
    "strict",
    "to_number",
]


class MissingPackageError(PolygradError, ImportError):
    """A package of the extra `conformance` is not installed."""


# JSON has no literal for these.
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# What XML 1.0 cannot hold and terminals obey: control characters except tab and newline, halves of
# surrogate pairs, the two code points that are no characters; and what turns the direction of text.
_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u202a-\u202e\u2066-\u2069]"
)
_ZEROS = re.compile(r"(0x[01])(?:\.0+|(\.[0-9a-f]*?)0*)(?=p)")


def clean(text: str) -> str:
    r"""Text without control characters, which are spelled out; line ends are newlines.

    >>> print(clean("a\x1b[31m\r\nb"))
    a\x1b[31m
    b
    """
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _FORBIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters of cleaned text, and how many were left out.

    >>> shortened("abcdefgh", 5)
    'abcde … (3 characters more)'
    """
    text = clean(text)
    more = len(text) - limit
    return text if more <= 0 else f"{text[:limit]} … ({more} characters more)"


def one_line(text: str, limit: int = 160) -> str:
    """The text in one line of at most `limit` characters.

    >>> one_line("a\\n  b", 80), one_line("abcdef", 4)
    ('a b', 'abc…')
    """
    text = " ".join(clean(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def short_hex(text: str) -> str:
    """The text, its hexadecimal numbers without zeros at the end.

    >>> short_hex("x=0x1.8000000000000p+1, y=-0x1.0000000000000p+0")
    'x=0x1.8p+1, y=-0x1p+0'
    """
    return _ZEROS.sub(r"\1\2", text)


def strict(value: float | None) -> float | str | None:
    """A number that JSON can hold: NaN and the infinities are the strings of their names.

    >>> strict(1.5), strict(float("nan")), strict(float("-inf"))
    (1.5, 'nan', '-inf')
    """
    if value is None or math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def to_number(value: float | str | None) -> float | None:
    """The number that `strict` wrote."""
    if isinstance(value, str):
        return _WORDS[value]
    return None if value is None else float(value)


def canonical(data: Any) -> str:
    """JSON in one line, keys in order: equal data, equal bytes. NaN is a ValueError."""
    return json.dumps(
        data, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


def needed(module: str, what: str) -> Any:
    """A module of the extra `conformance`; what needs it is named where it is missing."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(
            f"{package} is not installed",
            f"{what} is made with it",
            "pip install polygrad[conformance]",
        ) from error
