"""What JAX 0.10 gets wrong on CPUs, as the level full of the conformance suite shows it."""

from __future__ import annotations

from typing import Any

from polygrad.backend import KnownGap

_ACCURACY: dict[str, Any] = {"checks": ("value",), "kind": "accuracy"}
_DOUBLE = {**_ACCURACY, "dtypes": ("float64",), "samples": ("mpmath",)}
_POINTS = {**_ACCURACY, "samples": ("points-1024", "size*")}  # the 64 of level smoke pass

KNOWN_GAPS = (
    KnownGap(
        "acos|acosh|asinh|cosh|exp|expm1|log|log1p|sinh|sqrt",
        "NaN in both parts, where the standard has a number or an infinity in one",
        dtypes=("complex64", "complex128"), checks=("special",), samples=("*nan*", "*inf*"),
        kind="accuracy",
    ),
    KnownGap(
        "atanh", "a number in one part, where the standard has NaN in both, or the other way",
        dtypes=("complex64", "complex128"), checks=("special",), samples=("*nan*",),
        kind="accuracy",
    ),
    KnownGap(
        "acos|asin|sqrt",
        "the conjugate on the side of the cut below 0 that has -0 as its imaginary part",
        dtypes=("complex64", "complex128"), samples=("hard-*",), **_ACCURACY,
    ),
    KnownGap(
        "asin", "it is halved on the way: next to the least normal number it becomes zero",
        dtypes=("bfloat16",), measured="152 ulp", **_POINTS,
    ),
    KnownGap(
        "asin", "it is halved on the way: next to the least normal number it becomes zero",
        dtypes=("float32",), measured="1.46e7 ulp", **_POINTS,
    ),
    KnownGap(
        "asin", "it is halved on the way: next to the least normal number it becomes zero",
        dtypes=("float64",), measured="4.95e15 ulp", **_POINTS,
    ),
    KnownGap(
        "sinh", "(exp(z) - exp(-z)) / 2 cancels near zero",
        dtypes=("complex64",), measured="6170 ulp", **_POINTS,
    ),
    KnownGap(
        "floor_divide", "-604 // 1.297 is -468, of which the quotient is -465.7",
        dtypes=("bfloat16",), **_POINTS,
    ),
    KnownGap("special.erfinv", "11 digits near 1", measured="8.2 ratio", **_DOUBLE),
    KnownGap("special.log_ndtr", "11 digits at -20", measured="12.4 ratio", **_DOUBLE),
    KnownGap("special.hyp2f1", "(1, 2, 2.2, -3) gives 6e117", measured="1.4e128 ratio", **_DOUBLE),
    KnownGap(
        "special.voigt_profile", "its w has 6 units of error, which derivatives magnify",
        dtypes=("float32",), checks=("gradgrad",), kind="accuracy", measured="14.9 ratio",
    ),
    KnownGap(
        "special.wofz", "12 digits at 7.9",
        dtypes=("float64", "complex128"), checks=("value", "grad"), kind="accuracy",
        measured="18.7 ratio",
    ),
    KnownGap("special.polygamma", "(1, -30.2) is negative", measured="6.3e8 ratio", **_DOUBLE),
)  # fmt: skip
