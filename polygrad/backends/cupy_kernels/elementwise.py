"""Activation functions and their adjoints: an expression for each, of `x` and the cotangent `g`.

Infinities give their limits: `bounded` keeps them out of products with zero, and `exp` sees
negative numbers only.
"""

from __future__ import annotations

from typing import Any

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.text import REALS
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY", "OF_G_AND_X", "OF_X"]

FUNCTIONS = r"""
#define ROOT_HALF 0.70710678118654752440
#define SLOPE 0.79788456080286535588
#define CUBIC 0.044715

// NaN stays NaN.
D A least(A a, A b) { return a < b || a != a ? a : b; }
D A greatest(A a, A b) { return a > b || a != a ? a : b; }
D A bounded(A x) { return least(greatest(x, -(A)LARGEST), (A)LARGEST); }
D A bounded_below(A x) { return greatest(x, -(A)LARGEST); }
D A sigmoid(A x) { return exp(least(x, 0)) / (exp(-fabs(x)) + 1); }
D A softplus(A x) { return greatest(x, 0) + log1p(exp(-fabs(x))); }
D A clipped(A x) { return least(greatest(x, -30), 30); }
D A half_erfc(A x) { return erfc(x * -(A)ROOT_HALF) * (A)0.5; }
D A density(A x) { return exp(x * x * (A)-0.5) * (A)(SLOPE / 2); }
D A tanh_sigmoid(A y) { return sigmoid((y * y * y * (A)CUBIC + y) * (A)(2 * SLOPE)); }
D A tanh_inner(A y) { return (y * y * (A)(3 * CUBIC) + 1) * (A)(2 * SLOPE); }
D A silu_slope(A x, A s) { return s * (bounded(x) * (1 - s) + 1); }
D A gelu_tanh_slope(A x, A s) { return s + bounded(x) * s * (1 - s) * tanh_inner(clipped(x)); }
D A mish_slope(A x, A t) { return t + bounded(x) * sigmoid(x) * (1 - t * t); }
"""

# Of the operation `<name>`, and of `<name>_adjoint_x`.
OF_X = {
    "sigmoid": "sigmoid(x)",
    "softplus": "softplus(x)",
    "silu": "bounded_below(x) * sigmoid(x)",
    "gelu": "bounded_below(x) * half_erfc(x)",
    "gelu_tanh": "bounded_below(x) * tanh_sigmoid(clipped(x))",
    "mish": "bounded_below(x) * tanh(softplus(x))",
}
OF_G_AND_X = {
    "silu": "g * silu_slope(x, sigmoid(x))",
    "gelu": "g * (half_erfc(x) + bounded(x) * density(x))",
    "gelu_tanh": "g * gelu_tanh_slope(x, tanh_sigmoid(clipped(x)))",
    "mish": "g * mish_slope(x, tanh(softplus(x)))",
}

_OF_X = """
KERNEL {name}(const T* xs, T* out, I n) {{
    I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    A x = wide(xs[i]);
    out[i] = narrow({expression});
}}
"""
_OF_G_AND_X = """
KERNEL {name}_adjoint_x(const T* gs, const T* xs, T* out, I n) {{
    I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    A g = wide(gs[i]), x = wide(xs[i]);
    out[i] = narrow({expression});
}}
"""


def _of_x(name: str) -> Row:
    def call(gpu: Launcher, F: Kernels, x: Array) -> Array:
        if not x.size:
            return forward(name, F, x)
        x = gpu.dense(x)
        out = gpu.like(x)
        gpu.over_all(FAMILY, name, x, x.size, x, out, x.size)
        return out

    return Row(name, call, REALS, (name,))


def _of_g_and_x(of: str) -> Row:
    name = f"{of}_adjoint_x"

    def call(gpu: Launcher, F: Kernels, g: Array, x: Array) -> Array:
        x = gpu.dense(x)
        beside = gpu.beside(g, x)
        if not x.size or beside is None:
            return forward(name, F, g, x)
        out = gpu.like(x)
        gpu.over_all(FAMILY, name, x, x.size, beside, x, out, x.size)
        return out

    return Row(name, call, REALS, (name,))


def _text() -> str:
    made: list[Any] = [FUNCTIONS]
    made += [_OF_X.format(name=name, expression=text) for name, text in OF_X.items()]
    made += [_OF_G_AND_X.format(name=name, expression=text) for name, text in OF_G_AND_X.items()]
    return "".join(made)


FAMILY = Family(
    "elementwise", _text(), (*map(_of_x, OF_X), *map(_of_g_and_x, OF_G_AND_X))
)
