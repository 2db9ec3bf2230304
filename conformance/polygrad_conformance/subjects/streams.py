"""Random numbers: the streams are the same on every device, and numbers of the right kind.

The first numbers of each distribution are committed, `data/streams.toml`: of two calls after one
another, with parameters of every kind. Run this module to print the table.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.case import Case, Failed, Unsupported
from polygrad_conformance.compare import hexadecimal
from polygrad_conformance.declarations import load_data
from polygrad_conformance.target import Host, Target

SHAPE = (3, 5)
_REAL, _WHOLE = ("float32", "float64"), ("int32", "int64")
CALLS: dict[str, dict[str, Any]] = {
    "uniform": {"args": (SHAPE, -1.0, 3.0), "dtypes": _REAL},
    "normal": {"args": (SHAPE, 1.0, 2.0), "dtypes": _REAL},
    "integers": {"args": (-4, 9, SHAPE), "dtypes": _WHOLE},
    "permutation": {"args": (15,), "dtypes": _WHOLE},
    "bernoulli": {"args": (0.3, SHAPE), "dtypes": ("bool",)},
    **{name: {"args": (SHAPE, 1.0, 2.0), "dtypes": _REAL[:1]}
       for name in ("laplace", "logistic", "cauchy", "gumbel", "log_normal")},
    "exponential": {"args": (SHAPE, 4.0), "dtypes": _REAL[:1]},
    **{name: {"args": (2.5, SHAPE), "dtypes": _REAL[:1]}
       for name in ("gamma", "chi_square", "student_t", "weibull")},
    "beta": {"args": (0.5, 2.0, SHAPE), "dtypes": _REAL[:1]},
    "dirichlet": {"args": ([0.5, 1.0, 2.0, 3.0, 0.1], SHAPE), "dtypes": _REAL[:1]},
    "truncated_normal": {"args": (-0.5, 1.5, SHAPE), "dtypes": _REAL[:1]},
    "geometric": {"args": (0.3, SHAPE), "dtypes": _WHOLE[:1]},
    "poisson": {"args": (3.5, SHAPE), "dtypes": _WHOLE[:1]},
    "binomial": {"args": (20, 0.3, SHAPE), "dtypes": _WHOLE[:1]},
    "categorical": {"args": ([0.0, 1.0, 2.0], SHAPE), "dtypes": _WHOLE[:1]},
    "multinomial": {"args": ([[1.0, 5.0, 1.0, 2.0, 3.0]] * 3, 5), "dtypes": _WHOLE[:1]},
}  # fmt: skip
_WIDE = {"dtype": np.dtype("int64")}
# More parameters: small ones, many, by keyword, none. Each is called twice, in one stream.
MORE: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "uniform-odd": ("uniform", (3,), {"low": 2.0, "high": 2.5}),
    "uniform-many": ("uniform", (70_001,), {}),
    "uniform-bounds": ("uniform", (), {"low": [0.0, 1.0, -5.0], "high": [1.0, 3.0, -4.0]}),
    "normal-odd": ("normal", (3,), {"mean": 1.0, "std": 4.0}),
    "normal-each": ("normal", (), {"mean": [0.0, 10.0, 20.0], "std": [0.0, 1.0, 3.0]}),
    "integers-of-one": ("integers", (5, 6, (3,)), {}),
    "integers-of-two": ("integers", (0, 2, (12,)), {}),
    "integers-large": ("integers", (0, 2**32, (4,)), _WIDE),
    "integers-larger": ("integers", (-(2**62), 2**62, (4,)), _WIDE),
    "integers-many": ("integers", (0, 256, (70_001,)), {}),
    "permutation-none": ("permutation", (0,), {}),
    "permutation-one": ("permutation", (1,), {}),
    "permutation-many": ("permutation", (70_001,), {}),
    "bernoulli-each": ("bernoulli", ([0.0, 0.1, 0.5, 0.9, 1.0],), {}),
    "bernoulli-likely": ("bernoulli", (0.9, (12,)), {}),
    "exponential-scale": ("exponential", (3,), {"scale": 4.0}),
    **{f"{name}-each": (name, (), {"loc": [0.0, -3.0, 5.0], "scale": [1.0, 2.0, 0.5]})
       for name in ("laplace", "logistic", "cauchy", "gumbel")},
    "log_normal-each": ("log_normal", (), {"mean": [0.0, 1.0], "std": [1.0, 0.5]}),
    "gamma-small": ("gamma", (0.1, (6,)), {"scale": 2.0}),
    "gamma-each": ("gamma", ([0.1, 0.5, 1.0, 3.0, 1000.0],), {"scale": [1.0, 2.0, 1.0, 2.0, 1.0]}),
    "weibull-each": ("weibull", ([0.5, 1.0, 3.0],), {"scale": [1.0, 2.0, 3.0]}),
    "chi_square-each": ("chi_square", ([0.5, 1.0, 30.0],), {}),
    "student_t-each": ("student_t", ([0.5, 1.0, 30.0],), {}),
    "beta-each": ("beta", ([0.1, 1.0, 20.0], [0.1, 1.0, 2.0]), {}),
    "dirichlet-rows": ("dirichlet", ([[0.1, 0.1], [3.0, 9.0]],), {}),
    "truncated_normal-tails": ("truncated_normal", ([-0.5, 4.0, -9.0], [0.5, 5.0, -8.0]), {}),
    "truncated_normal-moved": ("truncated_normal", (-1.0, 3.0, (6,)), {"mean": 1.0, "std": 4.0}),
    "geometric-each": ("geometric", ([0.01, 0.5, 1.0],), {}),
    "poisson-each": ("poisson", ([0.0, 0.5, 9.0, 1000.0],), {}),
    "binomial-each": ("binomial", ([0, 3, 1000, 10], [0.5, 0.1, 0.5, 1.0]), {}),
    "categorical-columns": ("categorical", ([[0.0, 1.0, 2.0], [1.0, 2.0, 0.0]],), {"axis": 0}),
    "categorical-many": ("categorical", ([[0.0, 3.0], [2.0, 0.0]], (4, 2)), {}),
    "multinomial-again": ("multinomial", ([1.0, 3.0, 2.0], 8), {"replacement": True}),
    "multinomial-zeros": ("multinomial", ([0.0, 2.0, 0.0, 1.0], 2), {}),
}  # fmt: skip
_SHOWN = 4096  # of more numbers the table has a checksum
# Logarithms and cosines are the host's, and so are their last places.
_EXACT = ("uniform", "normal", "integers", "permutation", "bernoulli")
_CLOSE = 2.0**-20
# Mean and standard deviation of 4096 numbers, and how far they may be off: five standard errors.
MOMENTS: dict[str, tuple[tuple[Any, ...], float, float]] = {
    "uniform": ((4096, -1.0, 3.0), 1.0, 4 / 12**0.5),
    "normal": ((4096, 1.0, 2.0), 1.0, 2.0),
    "integers": ((-4, 9, 4096), 2.0, 14**0.5),
    "bernoulli": ((0.3, 4096), 0.3, 0.21**0.5),
    "laplace": ((4096, 1.0, 2.0), 1.0, 8**0.5),
    "logistic": ((4096, 1.0, 2.0), 1.0, 2 * np.pi / 3**0.5),
    "gumbel": ((4096, 1.0, 2.0), 1 + 2 * 0.5772156649, 2 * np.pi / 6**0.5),
    "exponential": ((4096, 4.0), 4.0, 4.0),
    "gamma": ((2.5, 4096), 2.5, 2.5**0.5),
    "chi_square": ((2.5, 4096), 2.5, 5**0.5),
    "beta": ((0.5, 2.0, 4096), 0.2, (1 / 6.25 / 3.5) ** 0.5),
    "geometric": ((0.3, 4096), 1 / 0.3, 0.7**0.5 / 0.3),
    "poisson": ((3.5, 4096), 3.5, 3.5**0.5),
    "binomial": ((20, 0.3, 4096), 6.0, 4.2**0.5),
}


def cases(level: str) -> Iterator[Case]:
    """For each function and dtype: committed numbers, moments, repetition, shape, dtype, device.

    And committed numbers of further parameters.
    """
    for name, call in CALLS.items():
        for dtype in call["dtypes"] if level != "smoke" else call["dtypes"][:1]:
            yield _case(name, dtype, "value", "stream", _stream)
            if name in MOMENTS:
                yield _case(name, dtype, "value", "moments", _moments)
            yield _case(name, dtype, "repeat", "seed", _seeded)
            yield _case(name, dtype, "shape", "all", _shape)
            yield _case(name, dtype, "dtype", "all", _dtype)
            yield _case(name, dtype, "device", "all", _device)
    for sample, (name, *_) in MORE.items() if level != "smoke" else ():
        yield Case(
            f"random.{name}", _dtype_of(sample), "value", sample,
            lambda t, s=sample: _compare(_more(t, s), load_data("streams")["more"][s], s),
            "", 4, "random", "random numbers",
        )  # fmt: skip


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


def _dtype_of(sample: str) -> str:
    name, _, options = MORE[sample]
    chosen = options.get("dtype")
    return str(CALLS[name]["dtypes"][0] if chosen is None else chosen.name)


def _stream(target: Target, name: str, dtype: str) -> None:
    got = _host(target, name, dtype, CALLS[name]["args"])
    _compare(got, load_data("streams")[name][dtype], name)


def _more(target: Target, sample: str) -> Host:
    """The numbers of two calls in one stream, one after the other."""
    name, args, options = MORE[sample]
    dtype = _dtype_of(sample)
    if not target.supports(dtype):
        raise Unsupported(f"{target.device} has no {dtype}")
    pg.manual_seed(7)
    options = {"dtype": np.dtype(dtype), **options, "device": target.device}
    calls = [target.download(getattr(pg.random, name)(*args, **options)) for _ in range(2)]
    made = np.concatenate([np.asarray(a).reshape(-1) for a in calls])
    if made.dtype != np.dtype(dtype):
        raise Failed(f"numbers of {made.dtype}, expected {dtype}")
    return made


def _compare(got: Host, want: list[str], what: str) -> None:
    texts = _shown(got.reshape(-1))
    if texts == want:
        return
    close = got.dtype.kind == "f" and what.partition("-")[0] not in _EXACT
    if close and len(texts) == len(want):
        numbers = [np.array([float.fromhex(v) for v in row]) for row in (texts, want)]
        if np.allclose(*numbers, rtol=_CLOSE, atol=0):
            return
    raise Failed(f"seed 7 gives {' '.join(texts)}, expected {' '.join(want)}")


def _shown(values: Host) -> list[str]:
    """Numbers as text; of many their checksum."""
    if values.size > _SHOWN:
        return [f"{values.size} numbers, CRC {zlib.crc32(values.tobytes()):08x}"]
    return [hexadecimal(v) for v in values]


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
    lines = ["# The numbers of seed 7, by function and dtype; then those of more parameters.", ""]
    for name, call in CALLS.items():
        lines.append(f"[{name}]")
        lines += [
            f"{dtype} = {_row(_host(target, name, dtype, call['args']))}"
            for dtype in call["dtypes"]
        ]
        lines.append("")
    lines.append("[more]")
    lines += [f"{sample} = {_row(_more(target, sample))}" for sample in MORE]
    return "\n".join(lines)


def _row(values: Host) -> str:
    return "[" + ", ".join(f'"{text}"' for text in _shown(values.reshape(-1))) + "]"


if __name__ == "__main__":
    print(render())
