"""Hard samples of elementwise functions: each hard number with each."""

from __future__ import annotations

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]


def _one(h: Hard) -> Calls:
    return [((h.line,), {}), ((h.lanes,), {})]


def _complex_one(h: Hard) -> Calls:
    """Magnitudes whose squares overflow or vanish, and both sides of the cuts."""
    if h.kind != "c":
        return [((h.ends,), {})]
    return [((_magnitudes(h),), {}), ((_cuts(h),), {})]


def _magnitudes(h: Hard) -> Calls:
    top = 1e30 if h.dtype.itemsize == 8 else 1e300
    size = np.array([top, top / 7, 1 / top, 1.0])
    parts = np.array([3 + 4j, -3 + 4j, 3 - 4j, -3 - 4j, 5, 5j, -5j, -5])
    return h(size[:, None] * parts[None, :])


def _cuts(h: Hard) -> Calls:
    zeros = np.array([complex(a, b) for a in (-2.0, -0.5, 0.5, 2.0) for b in (0.0, -0.0)])
    return h(zeros)


def _cut(h: Hard) -> Calls:
    return _complex_one(h)[1:] if h.kind == "c" else []


def _two(h: Hard) -> Calls:
    return [(h.pairs(h.line), {}), ((h.lanes, h.lanes[:1]), {})]


def _equal(h: Hard) -> Calls:
    made = _two(h)
    if h.kind == "c":
        z = h([1 + 2j, 1 - 2j, 2 + 1j, complex(1, np.nan), complex(np.nan, 2), 0j])
        made.append((h.pairs(z), {}))
    return made


def _parts(h: Hard) -> Calls:
    """Complex numbers of which one part is infinite or NaN."""
    if h.kind != "c":
        return _one(h)
    hard = (1.0, 0.0, np.inf, -np.inf, np.nan)
    return [((h(np.array([complex(a, b) for a in hard for b in hard])),), {}), *_one(h)]


def _logical(count: int) -> Make:
    def make(h: Hard) -> Calls:
        del h
        lines = [
            np.array([0.5, -0.25, 0.0, -0.0, 2.0, np.nan, np.inf, 1e-30], np.float32),
            np.array([0, 1, 256, -1, 2**31 - 1], np.int32),
            np.array([0, 128, 1, 255], np.uint8),
            np.array([0, 0.5j, 1, -0.5], np.complex64),
            np.array([0, 2**32, 1], np.int64),
        ]
        if count == 1:
            return [((a,), {}) for a in lines]
        return [((a[:, None], a[None, :]), {}) for a in lines]

    return make


def _wrapping(h: Hard) -> Calls:
    """Integers wrap around; of floats whatever is no NaN by subtraction of infinities."""
    return [(h.pairs(h.ends), {})]


def _wrapping_one(h: Hard) -> Calls:
    return [((h.ends,), {})]


def _shifts(h: Hard) -> Calls:
    bits = 8 * h.dtype.itemsize
    counts = h([0, 1, bits // 2, bits - 2, bits - 1])
    return [((h.ends[:, None], counts), {}), ((h.ends[:, None], h([bits, bits + 1])), {})]


def _divided(h: Hard) -> Calls:
    if h.kind == "c":
        z = _magnitudes(h)
        return [((z, z), {}), ((z, z[:, ::-1].copy()), {}), ((z, h(2)), {})]
    # Their reciprocals are not subnormal: a device may multiply by those.
    return [(h.pairs(h.ends / 8), {})]


def _floored(h: Hard) -> Calls:
    """Signs of both operands; divisors that are not zero, and none that overflows."""
    if h.floats:
        x = h([-7, -6.5, -1, -0.5, 0.5, 1, 6.5, 7, 3])
        return [((x[:, None], h([-3, -2, -0.5, 0.5, 2, 3])), {})]
    divisors = h.ends[(h.ends != 0) & (h.ends.astype(object) != -1)]
    return [((h.ends[:, None], divisors), {})]


def _rounded(h: Hard) -> Calls:
    if not h.floats:
        return [((h.ends,), {})]
    x = [-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, 3.5, 0.49, 2.51, np.inf, -np.inf, np.nan]
    whole = [2.0**format_bits for format_bits in (9, 10)]
    made = [((h(x),), {}), ((h(np.array(whole) + 0.5),), {}), ((h.line,), {})]
    if h.kind == "c":
        z = np.array(x[:11])
        return [((h(z + 1j * z[::-1]),), {})]
    return made


def _clipped(h: Hard) -> Calls:
    x = h.lanes
    low, high = h(1), h(2)
    return [
        ((x, low, high), {}),
        ((x, None, high), {}),
        ((x, low, None), {}),
        ((x, h([0, 1, 2, 0, 1]), h([2, 2, 3, 1, 1])), {}),
    ]


def _added_logs(h: Hard) -> Calls:
    top = 1000.0
    x = h([top, -top, 0.0, 1.0, np.inf, -np.inf, np.nan])
    return [(h.pairs(x), {})]


def _hypots(h: Hard) -> Calls:
    big = float(h.largest) / 2
    return [(h.pairs(h([big, -big, 1, 0.0, -0.0, 1 / big, np.inf, -np.inf])), {})]


def _turned(h: Hard) -> Calls:
    return [(h.pairs(h([1, -1, 0.0, -0.0, np.inf, -np.inf, np.nan])), {})]


# Both ends of domains, zeros of both signs, and where results round to a bound or to infinity.
_ENDS: dict[str, tuple[float, ...]] = {
    "acosh": (1, 1.5, 100, 0.5), "asinh": (-1e4, -1, -0.0, 0, 1e-3, 1e4),
    "atan": (-1e4, -1, -0.0, 0, 1e-3, 1e4), "erf": (-9, -1, -0.0, 0, 1e-3, 9),
    "erfc": (-9, -1, -0.0, 0, 1e-3, 20), "exp": (-1000, -1, -0.0, 0, 1, 10),
    "expm1": (-1000, -1, -0.0, 0, 1e-3, 10), "log1p": (-2, -1, -0.5, -0.0, 0, 1e-3, 1e4),
    "tanh": (-1000, -20, -1, -0.0, 0, 1e-3, 1000), "square": (-1e4, -1, -0.0, 0, 1e-3, 1e4),
    **dict.fromkeys(("cos", "sin", "tan"), (-10, -1, -0.0, 0, 1e-3, 1, 10)),
    **dict.fromkeys(("cosh", "sinh"), (-10, -1, -0.0, 0, 1e-3, 10)),
    **dict.fromkeys(("asin", "acos", "atanh"), (-2, -1, -0.5, -0.0, 0, 1e-3, 0.5, 1, 2)),
    **dict.fromkeys(("log10", "log2"), (-1, -0.0, 0, 1e-3, 1, 1e4)),
}  # fmt: skip


def _at_ends(name: str, more: Make) -> Make:
    """Each point twice, next to each other: cotangents differ."""

    def make(h: Hard) -> Calls:
        points = [*_ENDS[name], np.inf, -np.inf, np.nan]
        return [*([((h(np.repeat(points, 2)),), {})] if h.kind == "f" else []), *more(h)]

    return make


def _raised(h: Hard) -> Calls:
    """Bases and exponents of every sign, halves and whole."""
    if h.kind != "f":
        return []
    return [(h.pairs(h([-2, -1, -0.5, -0.0, 0, 0.5, 1, 2, np.inf, -np.inf, np.nan])), {})]


def _squared(h: Hard) -> Calls:
    return [((h.ends,), {})] if h.kind in "iu" else []


_NONE: Make = lambda h: []
TABLE: dict[str, Make] = {
    **dict.fromkeys(("equal", "not_equal"), _equal),
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal", "maximum", "minimum"), _two),
    **dict.fromkeys(("isfinite", "isinf", "isnan"), _parts),
    **dict.fromkeys(("signbit", "sign") , lambda h: [] if h.kind == "c" else _one(h)),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), _logical(2)),
    "logical_not": _logical(1),
    **dict.fromkeys(("add", "subtract", "multiply"), _wrapping),
    **dict.fromkeys(("negative", "positive"), _wrapping_one), "copysign": _two,
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), _wrapping),
    "bitwise_invert": _wrapping_one,
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift"), _shifts),
    **dict.fromkeys(("real", "imag", "conj"), _parts),
    **dict.fromkeys(("abs", "sqrt", "log"), _complex_one),
    "angle": _cut, **{name: _at_ends(name, _NONE) for name in _ENDS},
    **{name: _at_ends(name, _cut) for name in ("asin", "acos", "atanh", "log10", "log2")},
    "square": _at_ends("square", _squared), "pow": _raised,
    "divide": _divided, "reciprocal": lambda h: _complex_one(h)[:1],
    **dict.fromkeys(("floor_divide", "remainder"), _floored),
    **dict.fromkeys(("round", "floor", "ceil", "trunc"), _rounded), "clip": _clipped,
    "logaddexp": _added_logs, "hypot": _hypots, "atan2": _turned,
}  # fmt: skip
