"""Sliding windows over up to three axes: as columns of a matrix and back, and pooling.

What a place adds to is gathered, one thread for each element of the result, over the places in the
kernel in C order: the order in which NumPy's forward adds, so that sums have the same bits.
"""

from __future__ import annotations

import math
from typing import Any

from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.layout import SMALL
from polygrad.backends.cupy_kernels.text import COMPLEX, NUMBERS, REALS
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY", "POOLING"]

AXES = 3
Shape = tuple[int, ...]

HELPERS = r"""
#define WINDOWS I n0, I n1, I n2, I w0, I w1, I w2, I k0, I k1, I k2, I t0, I t1, I t2, \
                I p0, I p1, I p2, I d0, I d1, I d2
#define GIVEN {{(int)n0, (int)n1, (int)n2}, {(int)w0, (int)w1, (int)w2}, \
               {(int)k0, (int)k1, (int)k2}, {(int)t0, (int)t1, (int)t2}, \
               {(int)p0, (int)p1, (int)p2}, {(int)d0, (int)d1, (int)d2}}

// Of each axis: its length, how many windows, the kernel, stride, padding before, dilation.
struct Windows { int size[3], windows[3], kernel[3], stride[3], padding[3], dilation[3]; };

D int count(const int* lengths) { return lengths[0] * lengths[1] * lengths[2]; }

// Where place `place` of window `window` is in the axes; -1 in the padding.
D int element_of(const Windows& v, int window, int place) {
    int found = 0, step = 1;
    for (int a = 2; a >= 0; a--) {
        int w = window % v.windows[a], i = place % v.kernel[a];
        int at = w * v.stride[a] - v.padding[a] + i * v.dilation[a];
        if (at < 0 || at >= v.size[a]) return -1;
        found += at * step, step *= v.size[a];
        window /= v.windows[a], place /= v.kernel[a];
    }
    return found;
}

// The window that has element `element` at place `place`; -1 if none has.
D int window_of(const Windows& v, int element, int place) {
    int found = 0, step = 1;
    for (int a = 2; a >= 0; a--) {
        int i = place % v.kernel[a];
        int from = element % v.size[a] + v.padding[a] - i * v.dilation[a], w = from / v.stride[a];
        if (from < 0 || from % v.stride[a] || w >= v.windows[a]) return -1;
        found += w * step, step *= v.windows[a];
        element /= v.size[a], place /= v.kernel[a];
    }
    return found;
}
"""

COLUMNS = r"""
// x (channels, batch, size), of any strides along the first two; out (channels, places, batch,
// windows).
KERNEL window_columns(const T* x, T* out, I n, I batch, I by_channel, I by_sample, WINDOWS) {
    Windows v = GIVEN;
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int windows = count(v.windows), places = count(v.kernel);
    int window = t % windows, sample = t / windows % batch, place = t / windows / batch % places;
    I channel = t / windows / batch / places;
    int at = element_of(v, window, place);
    T zero = {};
    out[t] = at < 0 ? zero : x[channel * by_channel + sample * by_sample + at];
}

// Its adjoint; out (channels, batch, size).
KERNEL window_columns_adjoint(const T* x, T* out, I n, I batch, WINDOWS) {
    Windows v = GIVEN;
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int size = count(v.size), windows = count(v.windows), places = count(v.kernel);
    int element = t % size, sample = t / size % batch;
    I channel = t / size / batch;
    A total = {};
    for (int place = 0; place < places; place++) {
        int window = window_of(v, element, place);
        I from = ((channel * places + place) * batch + sample) * windows;
        if (window >= 0) total = total + wide(x[from + window]);
    }
    out[t] = narrow(total);
}
"""

_WINNERS = r"""
// The largest of each window, and its place: the first of equal ones, the first NaN, no padding.
KERNEL max_pool_PLACES(const T* x, T* out, PLACE* places, I n, WINDOWS) {
    Windows v = GIVEN;
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int windows = count(v.windows), all = count(v.kernel), chosen = all - 1;
    I from = t / windows * count(v.size);
    A best = LOWEST;
    bool found = false;
    for (int place = 0; place < all; place++) {
        int at = element_of(v, t % windows, place);
        if (at < 0) continue;
        A a = wide(x[from + at]);
        if (!found || a > best || (a != a && best == best)) best = a, chosen = place, found = true;
    }
    out[t] = narrow(best);
    places[t] = chosen;
}

KERNEL place_in_windows_PLACES(const T* x, const PLACE* places, T* out, I n, WINDOWS) {
    Windows v = GIVEN;
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int size = count(v.size), all = count(v.kernel);
    I from = t / size * count(v.windows);
    A total = 0;
    for (int place = 0; place < all; place++) {
        int window = window_of(v, t % size, place);
        if (window >= 0 && places[from + window] == place) total = total + wide(x[from + window]);
    }
    out[t] = narrow(total);
}

KERNEL pick_from_windows_PLACES(const T* x, const PLACE* places, T* out, I n, WINDOWS) {
    Windows v = GIVEN;
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int windows = count(v.windows), at = element_of(v, t % windows, places[t]);
    T zero = {};
    out[t] = at < 0 ? zero : x[t / windows * count(v.size) + at];
}
"""
_SUMS = r"""
KERNEL window_sum(const T* x, T* out, I n, WINDOWS) {
    Windows v = GIVEN;
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int windows = count(v.windows), all = count(v.kernel);
    I from = t / windows * count(v.size);
    A total = 0;
    for (int place = 0; place < all; place++) {
        int at = element_of(v, t % windows, place);
        if (at >= 0) total = total + wide(x[from + at]);
    }
    out[t] = narrow(total);
}

KERNEL window_sum_adjoint(const T* x, T* out, I n, WINDOWS) {
    Windows v = GIVEN;
    I t = (I)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= n) return;
    int size = count(v.size), all = count(v.kernel);
    I from = t / size * count(v.windows);
    A total = 0;
    for (int place = 0; place < all; place++) {
        int window = window_of(v, t % size, place);
        if (window >= 0) total = total + wide(x[from + window]);
    }
    out[t] = narrow(total);
}
"""
PLACES = {"uint8": "unsigned char", "int32": "int"}


def _for_places(name: str, c: str) -> str:
    return _WINNERS.replace("PLACES", name).replace("PLACE", c)


def _windows(size: Shape, geometry: Any) -> tuple[Shape, tuple[int, ...]] | None:
    """How many windows there are along each axis, and WINDOWS; None of more axes than three."""
    kernel, stride, padding, dilation = geometry
    if len(kernel) > AXES:
        return None
    found = tuple(
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, (lo, hi), d in zip(size, kernel, stride, padding, dilation, strict=True)
    )
    before = tuple(lo for lo, _ in padding)
    more = AXES - len(kernel)
    numbers: list[int] = []
    for values, fill in (
        (size, 1), (found, 1), (kernel, 1), (stride, 1), (before, 0), (dilation, 1),
    ):  # fmt: skip
        numbers += [fill] * more + list(values)
    return found, tuple(numbers)


# ---- columns -----------------------------------------------------------------------------------
def _columns(gpu: Launcher, F: Kernels, x: Array, geometry: Any) -> Array:
    size, places = x.shape[2:], math.prod(geometry[0])
    windows = _windows(size, geometry)
    trivial = places == 1 and not any(map(any, geometry[2]))  # then it is a view
    if windows is None or trivial or not x.size:
        return forward("window_columns", F, x, geometry=geometry)
    made, numbers = windows
    shape = (x.shape[0], places, x.shape[1], *made)
    if not 0 < math.prod(shape) < SMALL:
        return forward("window_columns", F, x, geometry=geometry)
    inner = x[0, 0]
    if inner.strides != gpu.strides_of(size, x.itemsize):
        x = gpu.contiguous(x)
    by = (x.strides[0] // x.itemsize, x.strides[1] // x.itemsize)
    out = gpu.empty(shape, x.dtype)
    n = out.size
    gpu.over_all(FAMILY, "window_columns", x, n, x, out, n, x.shape[1], *by, *numbers)
    return out


def _columns_adjoint(
    gpu: Launcher, F: Kernels, parts: Array, size: Shape, geometry: Any
) -> Array:
    windows, places = _windows(size, geometry), math.prod(geometry[0])
    trivial = places == 1 and not any(map(any, geometry[2]))
    n = parts.shape[0] * parts.shape[2] * math.prod(size)
    if windows is None or trivial or not parts.size or not 0 < n < SMALL > parts.size:
        return forward("window_columns_adjoint", F, parts, size=size, geometry=geometry)
    out = gpu.empty((parts.shape[0], parts.shape[2], *size), parts.dtype)
    gpu.over_all(
        FAMILY, "window_columns_adjoint", parts, n,
        gpu.contiguous(parts), out, n, parts.shape[2], *windows[1],
    )  # fmt: skip
    return out


# ---- pooling -----------------------------------------------------------------------------------
def _lead(x: Array, geometry: Any) -> tuple[Shape, Shape]:
    """The axes before the spatial ones, and these."""
    first = x.ndim - len(geometry[0])
    return x.shape[:first], x.shape[first:]


def _served(windows: Any, *arrays: Any) -> bool:
    return windows is not None and all(0 < n < SMALL for n in arrays)


def _max_pool(gpu: Launcher, F: Kernels, x: Array, geometry: Any) -> Any:
    lead, size = _lead(x, geometry)
    windows, name = _windows(size, geometry), "uint8"
    n = math.prod((*lead, *windows[0])) if windows else 0
    if not windows or not _served(windows, x.size, n):
        return forward("max_pool", F, x, geometry=geometry)
    if math.prod(geometry[0]) >= 256:
        name = "int32"
    shape = (*lead, *windows[0])
    out, places = gpu.empty(shape, x.dtype), gpu.empty(shape, name)
    given = (gpu.contiguous(x), out, places, n, *windows[1])
    gpu.over_all(POOLING, f"max_pool_{name}", x, n, *given)
    return out, places


def _place_in_windows(
    gpu: Launcher, F: Kernels, x: Array, places: Array, size: Shape, geometry: Any
) -> Array:
    windows, name = _windows(size, geometry), places.dtype.name
    lead, _ = _lead(x, geometry)
    n = math.prod((*lead, *size))
    if not windows or name not in PLACES or places.shape != x.shape or not _served(
        windows, x.size, n
    ):
        return forward("place_in_windows", F, x, places, size=size, geometry=geometry)
    out = gpu.empty((*lead, *size), x.dtype)
    given = (gpu.contiguous(x), gpu.contiguous(places), out, n, *windows[1])
    gpu.over_all(POOLING, f"place_in_windows_{name}", x, n, *given)
    return out


def _pick_from_windows(
    gpu: Launcher, F: Kernels, x: Array, places: Array, geometry: Any
) -> Array:
    lead, size = _lead(x, geometry)
    windows, name = _windows(size, geometry), places.dtype.name
    fits = windows is not None and places.shape == (*lead, *windows[0])
    if not fits or name not in PLACES or not _served(windows, x.size, places.size):
        return forward("pick_from_windows", F, x, places, geometry=geometry)
    out, n = gpu.empty(places.shape, x.dtype), places.size
    numbers = windows[1] if windows else ()
    given = (gpu.contiguous(x), gpu.contiguous(places), out, n, *numbers)
    gpu.over_all(POOLING, f"pick_from_windows_{name}", x, n, *given)
    return out


def _window_sum(gpu: Launcher, F: Kernels, x: Array, geometry: Any) -> Array:
    lead, size = _lead(x, geometry)
    windows = _windows(size, geometry)
    n = math.prod((*lead, *windows[0])) if windows else 0
    if not windows or not _served(windows, x.size, n):
        return forward("window_sum", F, x, geometry=geometry)
    out = gpu.empty((*lead, *windows[0]), x.dtype)
    gpu.over_all(POOLING, "window_sum", x, n, gpu.contiguous(x), out, n, *windows[1])
    return out


def _window_sum_adjoint(
    gpu: Launcher, F: Kernels, x: Array, size: Shape, geometry: Any
) -> Array:
    lead, _ = _lead(x, geometry)
    windows, n = _windows(size, geometry), math.prod((*lead, *size))
    if not windows or not _served(windows, x.size, n):
        return forward("window_sum_adjoint", F, x, size=size, geometry=geometry)
    out = gpu.empty((*lead, *size), x.dtype)
    gpu.over_all(POOLING, "window_sum_adjoint", x, n, gpu.contiguous(x), out, n, *windows[1])
    return out


FAMILY = Family(
    "windows",
    HELPERS + COLUMNS,
    (
        Row("window_columns", _columns, (*REALS, *COMPLEX), ("window_columns",)),
        Row("window_columns_adjoint", _columns_adjoint, (*REALS, *COMPLEX),
            ("window_columns_adjoint",)),
    ),
)  # fmt: skip
POOLING = Family(
    "pooling",
    HELPERS + "".join(_for_places(name, c) for name, c in PLACES.items()) + _SUMS,
    (
        *(
            Row(name, call, NUMBERS, tuple(f"{name}_{places}" for places in PLACES))
            for name, call in (
                ("max_pool", _max_pool), ("place_in_windows", _place_in_windows),
                ("pick_from_windows", _pick_from_windows),
            )
        ),
        Row("window_sum", _window_sum, NUMBERS, ("window_sum",)),
        Row("window_sum_adjoint", _window_sum_adjoint, NUMBERS, ("window_sum_adjoint",)),
    ),
)  # fmt: skip
