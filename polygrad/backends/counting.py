"""Whether anybody but one Tensor refers to an array, as CPython counts references.

A backend whose views refer to their base, and whose arrays nobody refers to without Python's
knowledge, answers `Backend.unshared` with it.
"""

from __future__ import annotations

import sys
import sysconfig
from typing import Any

__all__ = ["ALONE"]


class _Holder:
    __slots__ = ("array",)

    array: Any


def _calibrate() -> int:
    """What `sys.getrefcount(holder.array)` gives for an array that nobody else refers to.

    Free-threaded builds and other Pythons cannot count: there no array is ever alone.
    """
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return -1
    holder = _Holder()
    holder.array = object()
    return sys.getrefcount(holder.array)


ALONE = _calibrate()
