"""What to say when a name is not found: many are those of PyTorch or NumPy, and called otherwise.

Read for a mistake only. A name is looked up in `polygrad.hint_tables`, then in the other modules of
polygrad; a trailing underscore is taken for a write in place.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from polygrad.hint_tables import CALLED, DEVICE_KINDS, FAMILIES, METHODS, SAY, SUBMODULES

__all__ = [
    "MissingNameError", "device_hint", "hint", "method_hint", "missing", "missing_device_part",
    "missing_method",
]  # fmt: skip

_DEVICE = {"type": "write device.kind", "index": "write device.rest"}
_PLACES = (
    "", "linalg", "fft", "special", "random", "autograd", "amp", "nn.functional", "nn", "nn.init",
    "nn.utils", "nn.utils.rnn", "nn.utils.parametrize", "nn.utils.parametrizations", "optim",
    "optim.lr_scheduler", "optim.swa_utils", "data", "io", "metrics", "testing",
)  # fmt: skip


def _has(module: Any, name: str) -> bool:
    """Whether a module offers the name, without asking its `__getattr__`, which would ask here."""
    return name in getattr(module, "__all__", ())


def _found(name: str) -> str:
    """Where else in polygrad the name is, as `pg.linalg.det`; empty if nowhere."""
    for place in _PLACES:
        module = importlib.import_module(f"polygrad.{place}" if place else "polygrad")
        if _has(module, name):
            return f"pg.{place}.{name}" if place else f"pg.{name}"
    return ""


def hint(name: str, module: str = "polygrad") -> str:
    """What to say about a name that a module does not have; empty where there is nothing to say.

    >>> hint("cat")
    'write pg.concat'
    >>> hint("softplus_", "polygrad.nn.functional")
    'write F.softplus(x, inplace=True)'
    >>> hint("set_printoptions")
    'write numpy.set_printoptions(...)'
    """
    if name.startswith("_"):
        return ""
    if _has(sys.modules.get(module), f"{name}_"):
        return f"it is {module.replace('polygrad', 'pg', 1)}.{name}_"
    if name in SAY:
        return SAY[name]
    if name in CALLED:
        return f"write pg.{CALLED[name]}"
    if name in SUBMODULES:
        return SUBMODULES[name]
    if name.startswith("Lazy"):
        return f"say the sizes: nn.{name[4:]}"
    if name.endswith("_with_indices"):
        return f"write pg.nn.functional.{name.removesuffix('_with_indices')}(return_indices=True)"
    if name.endswith("Tensor"):
        return "write pg.tensor(data, dtype=...)"
    found = _found(name)
    return f"it is {found}" if found else _of_underscore(name, module) or _of_family(name)


def _of_family(name: str) -> str:
    """Of names that begin alike, and are all not here."""
    return next((text for start, text in FAMILIES.items() if name.startswith(start)), "")


def _of_underscore(name: str, module: str) -> str:
    """`relu_`, `exp_`: writes in place."""
    if not name.endswith("_"):
        return ""
    if module == "polygrad.nn.functional" and _found(name[:-1]):
        return f"write F.{name[:-1]}(x, inplace=True)"
    return _in_place(name[:-1])


def _in_place(name: str) -> str:
    """What to write for the method of this name with an underscore."""
    if name in SAY:
        return f"write x[...] = values; for these {SAY[name]}"
    call = _call(name)
    return f"write x[...] = {call}" if call else ""


def _call(name: str) -> str:
    """How a function of this name is called with a Tensor x."""
    path = CALLED.get(name, name)
    tensor: Any = importlib.import_module("polygrad").Tensor
    if hasattr(tensor, path):
        return f"x.{path}(...)"
    found = f"pg.{path}" if name in CALLED else _found(path)
    return f"{found}(x, ...)" if found else ""


def method_hint(name: str) -> str:
    """What to say about a method or attribute that a Tensor does not have.

    >>> method_hint("unsqueeze"), method_hint("exp_"), method_hint("float")
    ('write x.expand_dims(...)', 'write x[...] = x.exp(...)', 'write x.to(pg.float32)')
    """
    if name.startswith("_"):
        return ""
    if name in METHODS:
        return METHODS[name]
    if name in SAY:
        return SAY[name]
    call = _call(name)
    if call:
        return f"write {call}"
    return (_in_place(name[:-1]) if name.endswith("_") else "") or _of_family(name)


class MissingNameError(AttributeError):
    """An AttributeError that looks for advice when it is shown: `hasattr` is asked all the time.

    Where there is advice, Python is kept from guessing at a name that is near.
    """

    find: Callable[[], str] | None = None

    def __str__(self) -> str:
        """The message, and what to write instead if that is known."""
        advice = self.find() if self.find else ""
        if not advice:
            return super().__str__()
        self.obj = None
        return f"{super().__str__()}: {advice}"


def _error(owner: str, name: str, find: Callable[[], str]) -> AttributeError:
    """The error for a name that something does not have.

    >>> print(missing("polygrad", "cat"))
    module 'polygrad' has no attribute 'cat': write pg.concat
    """
    error = MissingNameError(f"{owner} has no attribute {name!r}")
    error.find = find
    return error


def missing(module: str, name: str) -> AttributeError:
    """The error for a name that a module does not have."""
    return _error(f"module {module!r}", name, functools.partial(hint, name, module))


def missing_method(kind: str, name: str) -> AttributeError:
    """The error for a method or attribute that a Tensor, of the class `kind`, does not have."""
    return _error(f"{kind!r} object", name, functools.partial(method_hint, name))


def missing_device_part(name: str) -> AttributeError:
    """The error for an attribute that a Device does not have; PyTorch's are `type` and `index`."""
    return _error("'Device' object", name, lambda: _DEVICE.get(name, ""))


def device_hint(kind: str, kinds: Mapping[str, str], others: tuple[str, ...]) -> str:
    """What to say about a kind of device that no backend serves; empty if there is nothing to say.

    Parameters
    ----------
    kind
        What was written before the first colon.
    kinds
        The kinds there are, and the backends that serve them.
    others
        What else may have been meant: dtypes.

    >>> device_hint("xpu", {"cpu": "numpy"}, ())
    'write "sycl:gpu:0"'
    >>> device_hint("CPU", {"cpu": "numpy"}, ()), device_hint("numpy", {"cpu": "numpy"}, ())
    ('write "cpu"', 'write "cpu"')
    >>> device_hint("flaot32", {"cpu": "numpy"}, ("float32",))
    'write "float32"'
    """
    lower = kind.lower()
    if lower in DEVICE_KINDS:
        return DEVICE_KINDS[lower]
    found = [k for k, backend in kinds.items() if lower in (k, backend)]
    found = found or difflib.get_close_matches(lower, [*kinds, *others], n=1)
    return "write " + " or ".join(f'"{name}"' for name in found) if found else ""
