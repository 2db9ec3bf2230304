"""`run --snippet ID`: a failure as a script that needs polygrad and the backend, not the suite."""

from __future__ import annotations

import base64
import sys
import zlib
from dataclasses import replace
from typing import Any

import numpy as np

from polygrad.errors import PolygradError
from polygrad_conformance import backends, collection
from polygrad_conformance.case import Case, Element, Failed, SuiteError
from polygrad_conformance.collection import Selection
from polygrad_conformance.compare import hexadecimal
from polygrad_conformance.declarations import subjects
from polygrad_conformance.options import NothingRan, Options
from polygrad_conformance.record import Result
from polygrad_conformance.report.plain import short_hex
from polygrad_conformance.runner import run
from polygrad_conformance.target import Host, Target

__all__ = ["snippet"]

_SHOWN = 32  # elements of an array that are written as numbers; larger arrays as their bytes
_LARGEST = 2**16  # bytes that a script may hold
_KINDS = ("value", "special")
# What `checks.special` asks of each part of a number.
_SPECIAL = """
def same(a, b, signed):
    a, b = (a, b) if signed else (abs(a), abs(b))
    if b != b or b == 0 or np.isinf(b):
        return (a != a and b != b) or (a == b and np.signbit(a) == np.signbit(b))
    return abs(a - b) <= allowed

""".splitlines()


def snippet(options: Options, name: str) -> str:
    """The script of one case, which is run first, in a child process.

    Raises
    ------
    SuiteError
        There is no such case, its check compares no values, it passes, or it is too large.
    NothingRan
        The backend cannot be used.
    """
    case = _case(options.level, name)
    options = replace(options, selection=Selection((name,)), workers=1)
    result = {r.id: r for r in run(options).results}[name]
    if result.status in ("pass", "unsupported", "blocked"):
        raise SuiteError(f"{name}: {result.status}: there is no failure to show. {result.message}")
    sys.path[:0] = options.path
    failed, device = None, backends.device_of(options.backend, options.device)
    if result.status == "fail":  # so it ended well enough to be run here
        failed = _again(case, Target(device, options.level))
    if failed is not None and failed.element is not None:
        return _script(options.backend, device, case, result, failed.element)
    whole = Element(case.call, 0, -1, (), None, 0.0)
    return _script(options.backend, device, case, result, whole)


def _case(level: str, name: str) -> Case:
    op = name.partition("/")[0]
    case = {c.id: c for c in collection.collect(level, frozenset({op}))}.get(name)
    if case is None:
        raise SuiteError(f"there is no case {name} at level {level}: take an id of `list`")
    if case.check not in _KINDS or op not in subjects() or case.call is None:
        raise SuiteError(
            f"{name}: a script is made of the checks {' and '.join(_KINDS)} of an operation; "
            f"of others see `run -k {name}`"
        )
    return case


def _again(case: Case, target: Target) -> Failed | None:
    try:
        case.action(target)
    except Failed as failed:
        return failed
    except (PolygradError, NothingRan):
        pass
    return None


# ---- the text ------------------------------------------------------------------------------------
def _script(backend: Any, device: str, case: Case, result: Result, element: Element) -> str:
    said = " ".join(result.message.split()).replace("\\", "/").replace('"', "'")
    arrays: list[str] = []

    def text(value: Any) -> str:
        if isinstance(value, np.ndarray):
            arrays.append(_array(value))
            return f"t({_letter(len(arrays) - 1)})"
        if isinstance(value, (list, tuple)):
            inner = ", ".join(map(text, value))
            if isinstance(value, list):
                return f"[{inner}]"
            return f"({inner}{',' * (len(value) == 1)})"
        return _plain(value, case.id)

    sample = element.sample
    words = [text(v) for v in sample.args] + [f"{k}={text(v)}" for k, v in sample.kwargs.items()]
    call = f"pg.{case.op}({', '.join(words)})"
    lines = [
        f'"""{case.id} on {device}: {said}"""',
        "import numpy as np",
        "import polygrad as pg",
        *_imports(backend),
        "",
        "f = float.fromhex",
        *(f"{_letter(i)} = {a}" for i, a in enumerate(arrays)),
        f'pg.set_default_device("{device}")',
        "pg.manual_seed(0)",
        "t = pg.tensor",
        f"made = {call}",
        *_verdict(element),
    ]
    if "bfloat16" in " ".join(arrays):
        lines.insert(2, "import ml_dtypes")
    return "\n".join(lines)


def _letter(i: int) -> str:
    return f"x{i}"


def _imports(backend: Any) -> list[str]:
    """The plug-in: what is installed polygrad finds by the name of the device."""
    module, _, name = str(backend).partition(":")
    if not name:
        return []
    return [
        "from polygrad.registry import Entry, open_backend",
        f"from {module} import {name}",
        "",
        f'open_backend({name}, Entry({name}.name, "{backend}", (), (), ""))',
    ]


def _number(value: Any) -> str:
    kind = np.asarray(value).dtype.kind
    if kind == "c":
        return f"complex({_number(value.real)}, {_number(value.imag)})"
    if kind in "fV":
        return f'f("{short_hex(hexadecimal(value))}")'
    return repr(np.asarray(value).item())


def _array(a: Host) -> str:
    """An array in one expression; large ones from their bytes."""
    shape = f".reshape({a.shape})" if a.ndim != 1 else ""
    if a.size <= _SHOWN:
        return f'np.array([{", ".join(map(_number, a.reshape(-1)))}], "{a.dtype.name}"){shape}'
    packed = base64.b64encode(zlib.compress(np.ascontiguousarray(a).tobytes())).decode()
    if len(packed) > _LARGEST:
        raise SuiteError(f"an array of shape {a.shape} is too large for a script: run the case")
    return (
        "np.frombuffer(__import__('zlib').decompress(__import__('base64').b64decode("
        f'"{packed}")), "{a.dtype.name}"){shape}'
    )


def _plain(value: Any, name: str) -> str:
    if isinstance(value, np.dtype):
        return f'np.dtype("{value.name}")'
    if isinstance(value, (np.generic, float)):
        return _number(value)
    if callable(value):
        raise SuiteError(f"{name}: it is given a function, which cannot be written down")
    return repr(value)


def _verdict(element: Element) -> list[str]:
    """Compare the element; where none is known, show what was made."""
    if element.place < 0:
        return ["print(made)"]
    got = f"(made if isinstance(made, pg.Tensor) else made[{element.part}])"
    want = np.asarray(element.want)
    if want.dtype.kind in "fc":  # long double has no literal
        want = want.astype(np.complex128 if want.dtype.kind == "c" else np.float64)
    right = [
        "right = (got == want) or (got != got and want != want)",
        *["right = right or (np.isfinite(want) and abs(type(want)(got) - want) <= allowed)"]
        * (want.dtype.kind in "fc"),
    ]
    if element.signed:
        parts = "(got.real, got.imag), (want.real, want.imag)"
        right = [*_SPECIAL, f"right = all(map(same, {parts}, {element.signed}))"]
    return [
        f"got = np.asarray({got}.numpy()).reshape(-1)[{element.place}]",
        f"want, allowed = {_number(want[()])}, {float(element.allowed)!r}",
        *right,
        'print("right" if right else "WRONG", "got", got, "expected", want, "within", allowed)',
        "raise SystemExit(not right)",
    ]  # fmt: skip
