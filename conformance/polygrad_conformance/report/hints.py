"""What to write in the class of a backend, by what a check said that ended in an exception."""

from __future__ import annotations

import re
from collections.abc import Callable

from polygrad.kernels import FORWARDS
from polygrad.ops import load_all
from polygrad_conformance.record import Result

__all__ = ["hint"]


def _lacks(result: Result) -> str:
    load_all()
    name = result.op.rpartition(".")[2]  # linalg.svd is served by svd
    if name in FORWARDS:
        serve = f"self.kernel({name!r})(function) or self.through_host({name!r})"
    else:
        serve = (
            f"{result.op} is made of other operations: give the one that is named above to "
            "self.kernel(name)(function) or self.through_host(name)"
        )
    return f"a function that is missing, or missing for a dtype: {serve}, or supports() without it"


_KEYS = (
    "capabilities = Capabilities(sparse_keys=False) does without arrays as keys, or getitem and "
    "set_at of the class convert them and call super()"
)
_WIDEN = (
    "kernels for take and take_along_axis that convert them, and hand on to FORWARDS[name](F, ...) "
    "of polygrad.kernels"
)
_NARROW = "index arrays of a dtype that it does not take, or takes for a mask"
# Of the first that holds: what is sought in the id, what in the message, and what to say.
_HINTS: tuple[tuple[str, str, str | Callable[[Result], str]], ...] = (
    ("reversed", "step|stride|slice|negative|backward",
     "slices that cannot go backwards: capabilities = Capabilities(negative_steps=False)"),
    ("", "item assignment|read-?only|immutable|not writeable",
     "arrays that cannot be written into: capabilities = Capabilities(writeable=False)"),
    ("^(get|set)item/.*/(mask|indices|pairs|split|spread)", "",
     f"arrays that are refused as keys: {_KEYS}"),
    ("", "^OutOfRangeError: index out of range: ",
     f"the library raised an IndexError, which need not be about a range; {_NARROW}: {_KEYS}"),
    ("", r"dtype.*\bind(ex|ices)\b|\bind(ex|ices)\b.*dtype",
     f"indices of a dtype that the library does not take: {_WIDEN}"),
    ("", "not implemented|not yet implemented|NotImplementedError|has no attribute|no kernel for",
     _lacks),
)  # fmt: skip


def hint(result: Result) -> str:
    """What may help, or an empty string."""
    if result.status != "error":
        return ""
    for where, words, text in _HINTS:
        if re.search(where, result.id) and re.search(words, result.message):
            return text if isinstance(text, str) else text(result)
    return ""
