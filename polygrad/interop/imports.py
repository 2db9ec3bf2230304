"""What polygrad does when another library is imported, without importing it.

Some libraries ask to be told of a new kind of array: a subclass for einops, a backend for
`scipy.fft`. polygrad does that in a module of its own, which imports the library, and which is
imported right after the library was: at once, if it is there, else when it comes.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any

__all__ = ["when_imported"]


class _Watcher:
    """A finder that finds nothing, but sees what is looked for."""

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        """None for all but the libraries waited for; theirs, as the other finders find it."""
        del path, target
        module = self.waiting.pop(name, None)
        if not self.waiting and self in sys.meta_path:
            sys.meta_path.remove(self)
        spec = None if module is None else importlib.util.find_spec(name)
        if module is not None and spec is not None and spec.loader is not None:
            _import_after(spec.loader, module)
        return spec


def _import_after(loader: Any, module: str) -> None:
    """Let a loader import `module` once it has run the library."""
    run = loader.exec_module

    def exec_module(library: Any) -> None:
        loader.exec_module = run
        run(library)
        _introduce(module)

    loader.exec_module = exec_module


def _introduce(module: str) -> None:
    try:
        importlib.import_module(module)
    except ImportError as error:
        warnings.warn(
            f"polygrad could not introduce itself to another library: {module} failed with "
            f"{error}. The library works, but not with Tensors.",
            stacklevel=2,
        )


_watcher = _Watcher()


def when_imported(library: str, module: str) -> None:
    """Import `module` as soon as the module `library` is there; both are dotted names.

    A failure (a library of another version may lack a name) is a warning: the library itself must
    work whatever polygrad does.
    """
    if library in sys.modules:
        _introduce(module)
        return
    _watcher.waiting[library] = module
    if _watcher not in sys.meta_path:
        sys.meta_path.insert(0, _watcher)
