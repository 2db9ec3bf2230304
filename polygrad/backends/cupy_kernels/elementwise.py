"""Activation functions and their slopes: an expression of `x` for each.

Infinities give their limits: `bounded` keeps them out of products with zero, and `exp` sees
negative numbers only.
"""

from __future__ import annotations

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.text import REALS
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY", "OF_X"]

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
D A slope_of_silu(A x, A s) { return s * (bounded(x) * (1 - s) + 1); }
D A slope_of_gelu_tanh(A x, A s) { return s + bounded(x) * s * (1 - s) * tanh_inner(clipped(x)); }
"""

OF_X = {
    "sigmoid": "sigmoid(x)",
    "softplus": "softplus(x)",
    "silu": "bounded_below(x) * sigmoid(x)",
    "gelu": "bounded_below(x) * half_erfc(x)",
    "gelu_tanh": "bounded_below(x) * tanh_sigmoid(clipped(x))",
    "mish": "bounded_below(x) * tanh(softplus(x))",
    "silu_slope": "slope_of_silu(x, sigmoid(x))",
    "gelu_slope": "half_erfc(x) + bounded(x) * density(x)",
    "gelu_tanh_slope": "slope_of_gelu_tanh(x, tanh_sigmoid(clipped(x)))",
}

_OF_X = """
KERNEL {name}(const T* xs, T* out, I n) {{
    I i = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    A x = wide(xs[i]);
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


FAMILY = Family(
    "elementwise",
    FUNCTIONS + "".join(_OF_X.format(name=name, expression=text) for name, text in OF_X.items()),
    tuple(map(_of_x, OF_X)),
)
