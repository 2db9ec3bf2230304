"""What layer, batch, group and instance norm are made of, and root mean square norm; adjoints.

The mean is taken off before squaring. Of 16-bit floats, statistics are float32.
"""

from __future__ import annotations

from typing import Any

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.layout import rows_of
from polygrad.backends.cupy_kernels.text import REALS, wide_name
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY"]

TEXT = r"""
KERNEL standardize(const T* x, T* h, A* means, A* vars, double eps, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A total = 0;
    EACH(j) total += wide(x[place(r, j)]);
    A mean = together(r, total, shared, Sum()) / (A)n;
    total = 0;
    EACH(j) {
        A d = wide(x[place(r, j)]) - mean;
        total += d * d;
    }
    A var = together(r, total, shared, Sum()) / (A)n;
    A scale = 1 / sqrt(var + (A)eps);
    EACH(j) h[place(r, j)] = narrow((wide(x[place(r, j)]) - mean) * scale);
    if (r.first) means[r.group] = mean, vars[r.group] = var;
}

KERNEL standardize_adjoint(const T* g, const A* g_means, const A* g_vars, const T* h,
                             const A* vars, T* out, double eps, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A level = 0, slope = 0;
    EACH(j) {
        A gj = wide(g[place(r, j)]);
        level += gj;
        slope += gj * wide(h[place(r, j)]);
    }
    level = together(r, level, shared, Sum());
    slope = together(r, slope, shared, Sum());
    if (!r.n) return;
    A scale = 1 / sqrt(vars[r.group] + (A)eps);
    slope = (scale * slope - 2 * g_vars[r.group] / scale) / (A)n;
    level = (scale * level - g_means[r.group]) / (A)n;
    EACH(j) {
        I i = place(r, j);
        out[i] = narrow(wide(g[i]) * scale - wide(h[i]) * slope - level);
    }
}

KERNEL root_mean_standardize(const T* x, T* h, A* means, double eps, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A total = 0;
    EACH(j) {
        A xj = wide(x[place(r, j)]);
        total += xj * xj;
    }
    A mean = together(r, total, shared, Sum()) / (A)n;
    A scale = 1 / sqrt(mean + (A)eps);
    EACH(j) h[place(r, j)] = narrow(wide(x[place(r, j)]) * scale);
    if (r.first) means[r.group] = mean;
}

KERNEL root_mean_adjoint(const T* g, const A* g_means, const T* h, const A* means,
                                       T* out, double eps, ROWS) {
    __shared__ A shared[BLOCK];
    Row r = row(ROW);
    A slope = 0;
    EACH(j) slope += wide(g[place(r, j)]) * wide(h[place(r, j)]);
    slope = together(r, slope, shared, Sum());
    if (!r.n) return;
    A scale = 1 / sqrt(means[r.group] + (A)eps);
    slope = (scale * slope - 2 * g_means[r.group] / scale) / (A)n;
    EACH(j) {
        I i = place(r, j);
        out[i] = narrow(scale * wide(g[i]) - wide(h[i]) * slope);
    }
}
"""


def _forward(name: str, statistics: int) -> Any:
    """An operation from x to h and statistics along the axes."""

    def call(gpu: Launcher, F: Kernels, x: Array, axis: Any, eps: float) -> tuple[Array, ...]:
        x = gpu.dense(x)
        if (rows := rows_of(x, axis)) is None:
            found: tuple[Array, ...] = forward(name, F, x, axis=axis, eps=eps)
            return found
        wide = wide_name(x.dtype.name)
        made = [gpu.per_row(rows, x, axis, wide) for _ in range(statistics)]
        h = gpu.like(x)
        gpu.over_rows(FAMILY, name, x, rows, x, h, *made, float(eps))
        return h, *made

    return call


def _adjoint(name: str, statistics: int) -> Any:
    """From the cotangents of h and of the statistics, from h and the last of the statistics."""

    def call(
        gpu: Launcher, F: Kernels, g: Array, *more: Array, axis: Any, eps: float
    ) -> Array:
        h = gpu.dense(more[statistics])
        rows, beside = rows_of(h, axis), gpu.beside(g, h)
        if rows is None or beside is None:
            return forward(name, F, g, *more, axis=axis, eps=eps)
        wide = wide_name(h.dtype.name)
        *of_statistics, last = (
            gpu.row_order(rows, a, wide) for a in (*more[:statistics], more[-1])
        )
        out = gpu.like(h)
        gpu.over_rows(FAMILY, name, h, rows, beside, *of_statistics, h, last, out, float(eps))
        return out

    return call


FAMILY = Family(
    "norms",
    TEXT,
    (
        Row("standardize", _forward("standardize", 2), REALS, ("standardize",)),
        Row("standardize_adjoint", _adjoint("standardize_adjoint", 2), REALS,
            ("standardize_adjoint",)),
        Row("root_mean_standardize", _forward("root_mean_standardize", 1), REALS,
            ("root_mean_standardize",)),
        Row("root_mean_adjoint", _adjoint("root_mean_adjoint", 1), REALS,
            ("root_mean_adjoint",)),
    ),
)  # fmt: skip
