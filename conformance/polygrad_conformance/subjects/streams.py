"""Random numbers: the streams are the same bits on every device, and numbers of the right kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.case import Case, Failed, Unsupported
from polygrad_conformance.compare import hexadecimal
from polygrad_conformance.declarations import load_data
from polygrad_conformance.target import Host, Target

SHAPE = (3, 5)
CALLS: dict[str, dict[str, Any]] = {
    "uniform": {"args": (SHAPE, -1.0, 3.0), "dtypes": ("float32", "float64")},
    "normal": {"args": (SHAPE, 1.0, 2.0), "dtypes": ("float32", "float64")},
    "integers": {"args": (-4, 9, SHAPE), "dtypes": ("int32", "int64")},
    "permutation": {"args": (15,), "dtypes": ("int32", "int64")},
    "bernoulli": {"args": (0.3, SHAPE), "dtypes": ("bool",)},
}
# Mean and standard deviation of 4096 numbers, and how far they may be off: five standard errors.
MOMENTS: dict[str, tuple[tuple[Any, ...], float, float]] = {
    "uniform": ((4096, -1.0, 3.0), 1.0, 4 / 12**0.5),
    "normal": ((4096, 1.0, 2.0), 1.0, 2.0),
    "integers": ((-4, 9, 4096), 2.0, 14**0.5),
    "bernoulli": ((0.3, 4096), 0.3, 0.21**0.5),
}


def cases(level: str) -> Iterator[Case]:
    """For each function and dtype: committed numbers, moments, repetition, shape, dtype, device."""
    for name, call in CALLS.items():
        for dtype in call["dtypes"] if level != "smoke" else call["dtypes"][:1]:
            yield _case(name, dtype, "value", "stream", _stream)
            if name in MOMENTS:
                yield _case(name, dtype, "value", "moments", _moments)
            yield _case(name, dtype, "repeat", "seed", _seeded)
            yield _case(name, dtype, "shape", "all", _shape)
            yield _case(name, dtype, "dtype", "all", _dtype)
            yield _case(name, dtype, "device", "all", _device)


def _case(name: str, dtype: str, check: str, sample: str, action: Any) -> Case:
    return Case(
        f"random.{name}", dtype, check, sample, lambda t: action(t, name, dtype), "", 4, "random",
        "random numbers",
    )  # fmt: skip


def draw(target: Any, name: str, dtype: str, args: tuple[Any, ...], seed: int = 7) -> Any:
    """The numbers of a seed."""
    if not target.supports(dtype):
        raise Unsupported(f"{target.device} has no {dtype}")
    pg.manual_seed(seed)
    options = {} if name == "bernoulli" else {"dtype": np.dtype(dtype)}
    return getattr(pg.random, name)(*args, device=target.device, **options)


def _host(target: Target, name: str, dtype: str, args: tuple[Any, ...], seed: int = 7) -> Host:
    made: Host = target.download(draw(target, name, dtype, args, seed))
    return made


def _stream(target: Target, name: str, dtype: str) -> None:
    got = [hexadecimal(v) for v in _host(target, name, dtype, CALLS[name]["args"]).reshape(-1)]
    want = load_data("streams")[name][dtype]
    if got != want:
        raise Failed(f"seed 7 gives {' '.join(got)}, expected {' '.join(want)}")


def _moments(target: Target, name: str, dtype: str) -> None:
    args, mean, deviation = MOMENTS[name]
    values = _host(target, name, dtype, args).astype(float)
    for what, got, want in (("mean", values.mean(), mean), ("deviation", values.std(), deviation)):
        if abs(got - want) > 5 * deviation / 64:
            raise Failed(f"the {what} of 4096 numbers is {got:.4g}, expected {want:.4g}")


def _seeded(target: Target, name: str, dtype: str) -> None:
    args = CALLS[name]["args"]
    first, other, again = (_host(target, name, dtype, args, seed) for seed in (7, 8, 7))
    if first.tobytes() != again.tobytes():
        raise Failed("the same seed gives other numbers")
    if first.tobytes() == other.tobytes():
        raise Failed("another seed gives the same numbers")
    pg.manual_seed(7)
    draw_on = lambda: target.download(getattr(pg.random, name)(*args, device=target.device))
    if draw_on().tobytes() == draw_on().tobytes():
        raise Failed("two calls give the same numbers")


def _shape(target: Target, name: str, dtype: str) -> None:
    got = _host(target, name, dtype, CALLS[name]["args"]).shape
    want = (15,) if name == "permutation" else SHAPE
    if got != want:
        raise Failed(f"shape {got}, expected {want}")


def _dtype(target: Target, name: str, dtype: str) -> None:
    got = draw(target, name, dtype, CALLS[name]["args"]).dtype
    if got != np.dtype(dtype):
        raise Failed(f"numbers of {got}, expected {dtype}")


def _device(target: Target, name: str, dtype: str) -> None:
    made = draw(target, name, dtype, CALLS[name]["args"])
    if made.device != target.device or target.backend.device_of(made.native()) != target.place:
        raise Failed(f"numbers on {made.device}, expected {target.device}")


def render() -> str:
    """The table of the first numbers as TOML: run this module to print it."""
    target = Target("cpu", "full")
    lines = ["# The numbers of seed 7, by function and dtype.", ""]
    for name, call in CALLS.items():
        lines.append(f"[{name}]")
        for dtype in call["dtypes"]:
            values = _host(target, name, dtype, call["args"]).reshape(-1)
            texts = ", ".join(f'"{hexadecimal(v)}"' for v in values)
            lines.append(f"{dtype} = [{texts}]")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    print(render())
