"""How kernels are compiled, and where their machine code is kept.

numba keeps compiled code in a folder if it may, and looks at the time of one source file to see
whether it is out of date; kernels here use functions and numbers of other files. So the folder is
named after the text of all of them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba

from polygrad import erf_table

__all__ = ["compiled"]


def _folder() -> str | None:
    """Where machine code of exactly these sources is kept; None where nothing can be written."""
    digest = hashlib.sha256(numba.__version__.encode())
    for path in (*sorted(Path(__file__).parent.glob("*.py")), Path(erf_table.__file__)):
        digest.update(path.read_bytes())
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "polygrad" / "numba" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


_FOLDER = _folder()


def compiled(function: Callable[..., Any]) -> Any:
    """The compiled form of a loop: without the lock of the interpreter, IEEE's rules for zero.

    A product and a sum may become one instruction; nothing else is reordered.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
    if _FOLDER is None:
        return numba.njit(**options)(function)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, _FOLDER
    try:
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before
