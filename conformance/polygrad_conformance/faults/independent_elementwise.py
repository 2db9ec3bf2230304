"""Independent faults of elementwise functions: libraries of mathematics, and quick formulas."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad_conformance.faults.independent_planting import IndependentFault, Place, kernel, only

__all__ = ["FAULTS"]

_CHAPTER = "elementwise"
_INF = float("inf")
_NAN = float("nan")


def _of(op: str, *data: Any, dtype: str = "float32") -> Any:
    def shown(at: Place) -> Any:
        return at.run(op, *(at(d, dtype) for d in data))

    return shown


def _element(op: str, name: str, precedent: str, wrong: Any, shown: Any) -> IndependentFault:
    return kernel(_CHAPTER, op, name, precedent, wrong, shown)


def _upper(right: Any, z: Any) -> Any:
    w = np.array(z)
    w.imag = w.imag + 0.0
    return right(w)


def _half_away(right: Any, x: Any) -> Any:
    del right
    return np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x)


def _log_sum(right: Any, x: Any, y: Any) -> Any:
    del right
    m = np.maximum(x, y)
    return m + np.log(np.exp(x - m) + np.exp(y - m))


def _truncated(right: Any, x: Any, y: Any) -> Any:
    return right(x, y) + ((np.fmod(x, y) != 0) & ((x < 0) != (np.asarray(y) < 0))).astype(x.dtype)


def _zero_of_dividend(right: Any, x: Any, y: Any) -> Any:
    r = right(x, y)
    return np.where(r == 0, np.copysign(r, x), r)


def _quick_tanh(right: Any, x: Any) -> Any:
    del right
    e = np.exp(2 * x)
    return (e - 1) / (e + 1)


def _flushed(right: Any, *args: Any) -> Any:
    r = np.asarray(right(*args))
    return np.where(np.abs(r) < np.finfo(r.dtype).tiny, r.dtype.type(0), r)


def _textbook_division(right: Any, x: Any, y: Any) -> Any:
    del right
    y = np.asarray(y, x.dtype)
    size = y.real * y.real + y.imag * y.imag
    re, im = x.real * y.real + x.imag * y.imag, x.imag * y.real - x.real * y.imag
    return (re / size + 1j * (im / size)).astype(x.dtype)


def _logical_shift(right: Any, x: Any, y: Any) -> Any:
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return right(x.view(unsigned), np.asarray(y).astype(unsigned)).view(x.dtype)


def _shift_mod_width(right: Any, x: Any, y: Any) -> Any:
    return right(x, np.bitwise_and(y, np.asarray(8 * x.dtype.itemsize - 1, x.dtype)))


def _low_then_high(right: Any, x: Any, *bounds: Any, **named: Any) -> Any:
    low, high = (*bounds, None, None)[:2]
    low, high = named.get("min", low), named.get("max", high)
    if low is None or high is None:
        return right(x, *bounds, **named)
    return right(right(x, None, high), low, None)


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "log1p-of-a-sum": _element(
        "log1p", "log1p(x) is log(1 + x)", "vendors' fast-math headers",
        only("f", lambda right, x: np.log(1 + x)), _of("log1p", [1e-6, -3e-7, 0.5]),
    ),
    "expm1-of-a-difference": _element(
        "expm1", "expm1(x) is exp(x) - 1", "vendors' fast-math headers",
        only("f", lambda right, x: np.exp(x) - 1), _of("expm1", [1e-6, -3e-7, 0.5]),
    ),
    "hypot-overflows": _element(
        "hypot", "hypot is sqrt(x*x + y*y): it overflows and underflows early",
        "https://github.com/Hipparchus-Math/hipparchus/issues/87",
        only("f", lambda right, x, y: np.sqrt(x * x + y * y)),
        _of("hypot", [3e30, 3e-30, 3.0], [4e30, 4e-30, 4.0]),
    ),
    "pow-of-a-negative-base": _element(
        "pow", "pow of a negative base is NaN, for integer exponents too",
        "https://github.com/taichi-dev/taichi/issues/5915",
        only("f", lambda right, x, y: np.where(x < 0, x.dtype.type(_NAN), right(x, y))),
        _of("pow", [-2.0, -1.0, 2.0], [3.0, 2.0, 3.0]),
    ),
    "pow-of-nan-and-zero": _element(
        "pow", "pow(NaN, 0) and pow(1, NaN) are NaN", "IEEE's powr in the place of pow",
        only("f", lambda right, x, y: np.where(np.isnan(x) | np.isnan(y), x.dtype.type(_NAN),
                                               right(x, y))),
        _of("pow", [_NAN, 1.0], [0.0, _NAN]),
    ),
    "complex-sqrt-on-the-cut": _element(
        "sqrt", "sqrt of a negative number with imaginary part -0 takes the upper branch",
        "https://github.com/jax-ml/jax/issues/39110", only("c", _upper),
        _of("sqrt", [complex(-4.0, -0.0), complex(-4.0, 0.0)], dtype="complex64"),
    ),
    "complex-log-on-the-cut": _element(
        "log", "log of a negative number with imaginary part -0 has imaginary part +pi",
        "https://github.com/scipy/scipy/issues/6536", only("c", _upper),
        _of("log", [complex(-4.0, -0.0)], dtype="complex128"),
    ),
    "round-half-away": _element(
        "round", "round takes halves away from zero", "C's round in the place of rint",
        only("f", _half_away), _of("round", [0.5, 1.5, 2.5, -2.5]),
    ),
    "logaddexp-of-minus-infinities": _element(
        "logaddexp", "logaddexp(-inf, -inf) is NaN",
        "https://github.com/tinygrad/tinygrad/pull/13798", only("f", _log_sum),
        _of("logaddexp", [-_INF, 0.0], [-_INF, 1.0]),
    ),
    "remainder-of-c": _element(
        "remainder", "the remainder of integers takes the sign of the dividend",
        "https://github.com/JuliaGPU/CUDA.jl/issues/748",
        only("i", lambda right, x, y: np.fmod(x, y)),
        _of("remainder", [-7, 7, 7], [3, -3, 3], dtype="int32"),
    ),
    "remainder-of-sign-of-zero": _element(
        "remainder", "a remainder of zero takes the sign of the dividend",
        "https://github.com/pytorch/pytorch/issues/193755", only("f", _zero_of_dividend),
        _of("remainder", [-1.0, 2.0], [1.0, -1.0]),
    ),
    "floor-divide-truncates": _element(
        "floor_divide", "floor_divide of integers truncates towards zero",
        "https://github.com/NVIDIA/numba-cuda-mlir/issues/184", only("i", _truncated),
        _of("floor_divide", [-7, 7, 7], [3, -3, 3], dtype="int64"),
    ),
    "maximum-drops-nan": _element(
        "maximum", "maximum of a number and NaN is the number", "fmax of GPUs",
        only("f", lambda right, x, y: np.fmax(x, y)), _of("maximum", [1.0, _NAN], [_NAN, 2.0]),
    ),
    "minimum-second-nan": _element(
        "minimum", "minimum drops a NaN in its second operand: `y < x ? y : x`",
        "ternary operators in kernels", only("f", lambda right, x, y: np.where(y < x, y, x)),
        _of("minimum", [1.0, _NAN], [_NAN, 2.0]),
    ),
    "sign-of-nan": _element(
        "sign", "sign(NaN) is 0: `(x > 0) - (x < 0)`", "kernels written by hand",
        only("f", lambda right, x: (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)),
        _of("sign", [_NAN, -2.0]),
    ),
    "tanh-overflows": _element(
        "tanh", "tanh(x) is (exp(2x) - 1) / (exp(2x) + 1): NaN for large x",
        "shaders without a tanh of their own", only("f", _quick_tanh),
        _of("tanh", [100.0, 1e-5, -100.0]),
    ),
    "copysign-of-minus-zero": _element(
        "copysign", "copysign does not see the sign of -0", "`y < 0` in the place of signbit",
        only("f", lambda right, x, y: np.where(np.asarray(y) < 0, -np.abs(x), np.abs(x))),
        _of("copysign", [1.0, 1.0], [-0.0, -2.0]),
    ),
    "nextafter-flushes": _element(
        "nextafter", "nextafter(0, 1) is 0: subnormals are flushed", "GPUs with -ftz",
        only("f", _flushed), _of("nextafter", [0.0, 1.0], [1.0, 2.0]),
    ),
    "exp-flushes": _element(
        "exp", "a subnormal result of exp is 0, and the device does not say so", "GPUs with -ftz",
        only("f", _flushed), _of("exp", [-90.0, 1.0]),
    ),
    "atan2-of-zeros": _element(
        "atan2", "atan2(0, -0) is 0, not pi", "shaders' atan2",
        only("f", lambda right, y, x: right(y, np.asarray(x) + 0.0)),
        _of("atan2", [0.0, -0.0], [-0.0, -0.0]),
    ),
    "right-shift-of-negatives": _element(
        "bitwise_right_shift", "a right shift of a negative integer brings in zeros",
        "languages with one shift of unsigned words", only("i", _logical_shift),
        _of("bitwise_right_shift", [-8, 8], [1, 1], dtype="int32"),
    ),
    "shift-modulo-width": _element(
        "bitwise_left_shift", "a left shift by the width or more is taken modulo the width",
        "x86 and GPU shift instructions", only("iu", _shift_mod_width),
        _of("bitwise_left_shift", [1, 1], [33, 3], dtype="int32"),
    ),
    "complex-division-overflows": _element(
        "divide", "complex division squares the divisor: it overflows early",
        "https://github.com/mruby/mruby/pull/4623", only("c", _textbook_division),
        _of("divide", [1e25 + 1e25j, 1.0], [1e24 + 1e24j, 2j], dtype="complex64"),
    ),
    "complex-abs-overflows": _element(
        "abs", "abs of a complex number is sqrt(re*re + im*im)",
        "https://github.com/lfortran/lfortran/issues/9580",
        only("c", lambda right, z: np.sqrt(z.real * z.real + z.imag * z.imag)),
        _of("abs", [3e30 + 4e30j, 3 + 4j], dtype="complex64"),
    ),
    "isfinite-of-the-real-part": _element(
        "isfinite", "isfinite of a complex number looks at the real part only",
        "reinterpreted complex buffers", only("c", lambda right, z: right(z.real)),
        _of("isfinite", [complex(1.0, _INF), 1.0], dtype="complex64"),
    ),
    "isnan-by-fast-math": _element(
        "isnan", "isnan is always False: the compiler assumes there are none", "-ffast-math",
        only("f", lambda right, x: np.zeros(x.shape, bool)), _of("isnan", [_NAN, 1.0]),
    ),
    "signbit-is-less-than-zero": _element(
        "signbit", "signbit(-0.0) is False", "`x < 0` in the place of signbit",
        only("f", lambda right, x: x < 0), _of("signbit", [-0.0, -1.0]),
    ),
    "sin-of-large-numbers": _element(
        "sin", "the argument of sin is reduced with a pi of single precision",
        "native_sin of GPUs",
        only("f", lambda right, x: right(np.fmod(x, x.dtype.type(np.float32(2 * np.pi))))),
        _of("sin", [1e5, 1.0]),
    ),
    "clip-of-crossed-bounds": _element(
        "clip", "clip applies max before min: with min > max the result is min",
        "clamp of shading languages", only("fiu", _low_then_high),
        lambda at: at.run("clip", at([0.0, 5.0]), 4.0, 2.0),
    ),
    "log10-of-single-precision": _element(
        "log10", "log10 is log times a constant of single precision, in float64 too",
        "float literals in templates",
        only("f", lambda right, x: np.log(x) * x.dtype.type(np.float32(1 / np.log(10)))),
        _of("log10", [1e-3, 1e3, 1e6, 1e15], dtype="float64"),
    ),
    "asinh-cancels": _element(
        "asinh", "asinh(x) is log(x + sqrt(x*x + 1)): -inf for large negative x",
        "textbook formulas", only("f", lambda right, x: np.log(x + np.sqrt(x * x + 1))),
        _of("asinh", [-1e4, 1e-6]),
    ),
    "atanh-cancels": _element(
        "atanh", "atanh(x) is log((1 + x) / (1 - x)) / 2: small x lose their digits",
        "textbook formulas", only("f", lambda right, x: np.log((1 + x) / (1 - x)) / 2),
        _of("atanh", [1e-6, 0.5]),
    ),
    "logical-xor-of-values": _element(
        "logical_xor", "logical_xor compares values: 1 xor 2 is True", "`a != b` in kernels",
        only("fi", lambda right, x, y: x != y), _of("logical_xor", [1, 0], [2, 0], dtype="int32"),
    ),
    "logical-and-of-fractions": _element(
        "logical_and", "logical_and truncates 0.5 to 0 first", "casts through int",
        only("f", lambda right, x, y: right(x.astype(np.int64), np.asarray(y).astype(np.int64))),
        _of("logical_and", [0.5, 2.0], [1.0, 1.0]),
    ),
    "equal-of-large-integers": _element(
        "equal", "equal compares int64 as float64: 2**53 equals 2**53 + 1",
        "languages whose only number is a double",
        only("i", lambda right, x, y: x.astype(np.float64) == np.asarray(y).astype(np.float64)),
        _of("equal", [2**53, 1], [2**53 + 1, 1], dtype="int64"),
    ),
    "less-of-unsigned": _element(
        "less", "less compares uint64 as int64", "kernels for signed words only",
        only("u", lambda right, x, y: x.astype(np.int64) < np.asarray(y).astype(np.int64)),
        _of("less", [2**63, 1], [1, 2], dtype="uint64"),
    ),
}
# fmt: on
