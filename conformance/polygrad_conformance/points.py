"""Points of elementwise functions: many numbers of the whole domain, and sizes around blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polygrad import dtypes
from polygrad_conformance.declarations import load_data
from polygrad_conformance.oracle import seeded
from polygrad_conformance.samples import Sample
from polygrad_conformance.tolerance import format_of

__all__ = ["domain_of", "every_number", "points", "points_of", "within"]

Host = np.ndarray[Any, Any]
COUNT = {"smoke": 64, "full": 1024, "exhaustive": 1024}
SIZES = (1, 31, 33, 255, 257, 5003)
LARGE = 2**20 + 3


def points_of(subject: Any, dtype: str, level: str) -> list[Sample]:
    """Samples of many points, for the functions that `data/domains.toml` names."""
    domain = domain_of(subject.key)
    if domain is None:
        return []
    made = [points(subject, dtype, COUNT[level])]
    if level != "smoke" and dtype in ("float32", "int32"):
        made += [_sample(subject, dtype, domain, f"size-{n}", n) for n in SIZES]
        if subject.key in load_data("domains")["large"]["functions"]:
            made.append(_sample(subject, dtype, domain, f"size-{LARGE}", LARGE))
    if level == "exhaustive" and dtype == "float16" and domain["inputs"] == 1:
        made.append(every_number(domain, dtype))
    return made


def points(subject: Any, dtype: str, count: int) -> Sample:
    """So many points of the domain."""
    return _sample(subject, dtype, load_data("domains")["functions"][subject.key],
                   f"points-{count}", count)  # fmt: skip


def every_number(domain: dict[str, Any], dtype: str) -> Sample:
    """All 2^16 numbers of a format of 16 bits that the domain holds."""
    numbers = np.arange(2**16, dtype=np.uint16).view(dtypes.canonical(dtype))
    return Sample("every", (within(domain, numbers),))


def within(domain: dict[str, Any], numbers: Host) -> Host:
    """Those that the domain holds; NaN is none of them."""
    low, high = (domain.get("real") or [None])[0] or (-np.inf, np.inf)
    with np.errstate(invalid="ignore"):
        wide = numbers.astype(np.float64)
        return numbers[(wide >= low) & (wide <= high)]


def domain_of(key: str) -> dict[str, Any] | None:
    """The domain of a function's points; None: it has none."""
    return load_data("domains")["functions"].get(key)


def _sample(subject: Any, dtype: str, domain: dict[str, Any], name: str, count: int) -> Sample:
    random = seeded(subject.key, dtype, name)
    kind = dtypes.kind_of(np.dtype(dtype))
    draw = (_truths, _integers, _reals, _complexes)[kind]
    limits = domain.get(("bool", "integer", "real", "complex")[kind], [None] * domain["inputs"])
    arrays = tuple(draw(random, np.dtype(dtype), count, limit) for limit in limits)
    return Sample(name, arrays)


Draw = Callable[[np.random.Generator, Any, int, Any], Host]


def _truths(random: np.random.Generator, dtype: Any, count: int, limit: Any) -> Host:
    del limit
    return random.uniform(size=count) < 0.5


def _integers(random: np.random.Generator, dtype: Any, count: int, limit: Any) -> Host:
    """Half of them small, half of them from all of the range, or between the limits."""
    info = np.iinfo(dtype)
    low, high = limit or (info.min // 2, info.max // 2)
    low, high = max(low, info.min), min(high, info.max)
    wide = random.integers(low, high, count, dtype=dtype, endpoint=True)
    near = random.integers(max(low, -9), min(high, 9), count, dtype=dtype, endpoint=True)
    return np.where(random.uniform(size=count) < 0.5, wide, near).astype(dtype)


def _reals(random: np.random.Generator, dtype: Any, count: int, limit: Any) -> Host:
    """A third uniform near zero, a third uniform in the domain, a third of every magnitude."""
    form = format_of(dtype)
    largest, tiny = float(form.largest), float(form.tiny)
    low, high = limit or (-largest, largest)
    middle = (max(low, -10.0), min(high, 10.0))
    if middle[0] >= middle[1]:
        middle = (low, high)
    near = random.uniform(*middle, count)
    wide = random.uniform(max(low, -1e4), min(high, 1e4), count)
    if middle[0] > min(high, 1e4):
        wide = near
    top = np.log2(min(max(abs(low), abs(high)), largest / 2))
    magnitude = np.exp2(random.uniform(np.log2(tiny), top, count))
    sign = np.where((random.uniform(size=count) < 0.5) & (low < 0), -1.0, 1.0)
    every = np.clip(sign * magnitude, low, high)
    chosen = random.integers(0, 3, count)
    values = np.select([chosen == 0, chosen == 1], [near, wide], every)
    with np.errstate(all="ignore"):
        made = values.astype(dtype)
    inside = (made.astype(np.float64) >= low) & (made.astype(np.float64) <= high)
    return np.where(inside, made, near.astype(dtype)).astype(dtype)


def _complexes(random: np.random.Generator, dtype: Any, count: int, limit: Any) -> Host:
    """Half of them near zero, half with magnitudes from 1e-4 to 1e3 or to the limit."""
    top = limit or 1e3
    near = random.uniform(-3, 3, count) + 1j * random.uniform(-3, 3, count)
    size = 10.0 ** random.uniform(-4, np.log10(top), count)
    every = size * np.exp(1j * random.uniform(-np.pi, np.pi, count))
    return np.where(random.uniform(size=count) < 0.5, near, every).astype(dtype)
