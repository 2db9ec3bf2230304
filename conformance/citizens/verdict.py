"""What became of the gradient of one call.

The same call is made with NumPy arrays, which gives its value and, by central differences of a
fixed random combination of all its floating outputs, its gradient; and with arrays of a player.
"""

from __future__ import annotations

import signal
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from citizens.calls import Call
    from citizens.players import Player

__all__ = ["GOOD", "MEANING", "Verdict", "judge", "worse"]

MEANING = {
    "OK": "right: value and gradient agree with NumPy's and with central differences",
    "runs": "runs; the result does not depend on the input, or in steps only (ranks, labels)",
    "py-float": "the result is a Python number, by the function's own doing",
    "warned": "a number was taken out of an array (`float(x)`), and with it the gradient: "
              "with a warning (`GraphCutWarning`)",
    "asarray!": "converted to a NumPy array, and refused for it: no gradient would come back",
    "no-vjp!": "an operation has no derivative, and says so",
    "inplace!(bwd)": "PyTorch: modified by an inplace operation",
    "inplace-view!": "PyTorch: a view is modified inplace",
    "inplace-leaf!": "PyTorch: a leaf is modified inplace",
    "setitem!": "JAX: arrays are immutable",
    "traced-bool!": "JAX: a concrete value is needed",
    "timeout": "more than {limit} seconds",
    "SILENT-CUT": "runs, and the gradient is missing, without an error or a warning",
    "WRONG": "a wrong gradient",
    "WRONG-VALUE": "a wrong result",
    "NaN": "a gradient that is not a number",
}  # fmt: skip
GOOD = "OK"
# From best to worst; all errors count the same.
_RANKS = {"OK": 0, "runs": 0, "py-float": 1, "warned": 2, "SILENT-CUT": 5, "WRONG": 5,
          "WRONG-VALUE": 5, "NaN": 5}  # fmt: skip
_ERROR = 3
LIMIT = 60


@dataclass(frozen=True)
class Verdict:
    """The status, as the table shows it, and what there is to say about it."""

    status: str
    detail: str = ""


def worse(found: str, expected: str) -> bool:
    """Whether a status is worse than the one expected: an error than a result, silence than all."""
    return _RANKS.get(found, _ERROR) > _RANKS.get(expected, _ERROR) or (
        expected == GOOD != found
    )


def judge(call: Call, player: Player) -> Verdict:
    """Run one call."""
    inputs = call.inputs()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = _outputs(call.function(*inputs))
        weights = _weights(call.name, expected)
        differences = _differences(call, inputs, weights)
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"), _limited():
        warnings.simplefilter("always")
        try:
            seen, found = player.differentiate(
                lambda *arrays: _outputs(call.function(*arrays)), inputs,
                lambda outputs: _loss(outputs, weights),
            )  # fmt: skip
        except TimeoutError:
            return Verdict("timeout")
        except Exception as error:  # noqa: BLE001  whatever it raises is the answer
            return Verdict(player.cause(error), str(error))
    warned = any(w.category.__name__ == "GraphCutWarning" for w in caught)
    if len(seen) != len(expected):
        return Verdict("WRONG-VALUE", f"{len(seen)} outputs for {len(expected)}")
    for got, want in zip(seen, expected, strict=True):
        if not np.allclose(got, want, rtol=1e-6, atol=1e-9, equal_nan=True):
            return Verdict("WRONG-VALUE", f"{got} for {want}")
    return _compare(call, differences, found, seen, warned)


def _compare(
    call: Call, differences: list[Any], found: list[Any] | None, seen: list[Any], warned: bool
) -> Verdict:
    """The status of gradients."""
    flat = all(np.max(np.abs(d), initial=0) < 1e-7 for d in differences)
    number = any(isinstance(o, (float, complex)) for o in seen)
    if found is None or all(g is None for g in found):
        if flat:
            return Verdict("runs")
        return Verdict("py-float" if number else "warned" if warned else "SILENT-CUT")
    zeros = [np.zeros_like(d) if g is None else g for g, d in zip(found, differences, strict=True)]
    for i, (got, want) in enumerate(zip(zeros, differences, strict=True)):
        scale = max(1.0, float(np.max(np.abs(want), initial=0)))
        if np.allclose(got, want, rtol=call.tolerance, atol=call.tolerance * 0.05 * scale):
            continue
        detail = f"gradient of input {i}: {got} for {want}"
        if not np.all(np.isfinite(got)):
            return Verdict("NaN", detail)
        if not np.any(got):
            return Verdict("py-float" if number else "warned" if warned else "SILENT-CUT", detail)
        return Verdict("py-float" if number else "warned" if warned else "WRONG", detail)
    return Verdict("runs" if flat else "OK")


# ---- outputs and their weights ------------------------------------------------------------------
def _outputs(result: Any) -> list[Any]:
    """The floating numbers and arrays of a result, from left to right."""
    if isinstance(result, dict):
        return [o for key in sorted(result) for o in _outputs(result[key])]
    if isinstance(result, (tuple, list)):
        return [o for part in result for o in _outputs(part)]
    if isinstance(result, (float, complex)):
        return [result]
    return [result] if _floating(result) else []


def _floating(x: Any) -> bool:
    dtype = str(getattr(x, "dtype", "")).rpartition(".")[2]
    return hasattr(x, "shape") and dtype.startswith(("float", "complex"))


def _weights(name: str, outputs: list[Any]) -> list[Any]:
    """A fixed random weight for each number, complex for complex ones."""
    generator = np.random.default_rng(zlib.crc32(f"weights of {name}".encode()))
    found = []
    for o in outputs:
        w = generator.uniform(0.5, 1.5, np.shape(o)) * generator.choice([-1, 1], np.shape(o))
        if np.iscomplexobj(o):
            w = w + 1j * generator.uniform(0.5, 1.5, np.shape(o))
        found.append(np.asarray(w))
    return found


def _loss(outputs: list[Any], weights: list[Any]) -> Any:
    """The sum of Re(conj(weight) * output), on the library of the outputs."""
    from citizens.calls import namespace

    total: Any = 0.0
    for o, w in zip(outputs, weights, strict=False):
        if isinstance(o, (float, complex)):
            total = total + float(np.real(np.conj(w) * o))
            continue
        xp = namespace(o)
        product = o * xp.asarray(np.conj(w).tolist(), dtype=o.dtype)
        total = total + xp.sum(xp.real(product) if "complex" in str(product.dtype) else product)
    return total


def _host_loss(call: Call, inputs: list[Any], weights: list[Any]) -> float:
    outputs = _outputs(call.function(*inputs))
    return sum(float(np.sum(np.real(np.conj(w) * o)))
               for o, w in zip(outputs, weights, strict=True))  # fmt: skip


def _differences(call: Call, inputs: list[Any], weights: list[Any]) -> list[Any]:
    """Central differences; of a complex input dL/dx + i dL/dy."""
    found = []
    for i, x in enumerate(inputs):
        d = np.zeros_like(x)
        for place in np.ndindex(x.shape):
            for unit in (1, 1j) if np.iscomplexobj(x) else (1,):
                h = call.step * max(1.0, abs(x[place]))
                ends = []
                for sign in (1, -1):
                    moved = [np.array(a) for a in inputs]
                    moved[i][place] += sign * h * unit
                    ends.append(_host_loss(call, moved, weights))
                d[place] += (ends[0] - ends[1]) / (2 * h) * unit
        found.append(d)
    return found


@contextmanager
def _limited() -> Iterator[None]:
    """A TimeoutError after LIMIT seconds, where signals can do that."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
