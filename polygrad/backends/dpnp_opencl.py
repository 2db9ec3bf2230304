"""Kernels in OpenCL C, for devices that SYCL reaches through OpenCL: the fused and the scattered.

Note [Programs]
---------------
What takes the library a dozen passes over memory, as an optimiser's step, is one pass here: a step
of Adam on 800,000 float32 takes 0.3 ms instead of 60. A program is compiled for each dtype when it
is first needed, which takes a tenth of a second. It is queued behind everything that was queued
before, as the library's own work is. Other drivers (Level Zero) take no source: there the
library's functions serve.

Note [Scattered sums]
---------------------
Equal places must be summed in one order, or results differ from run to run. So the work is divided
by columns: one work item adds all rows to its column, in the order of the indices. It needs no
atomic operations, and serves every dtype.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import dpctl
import dpctl.program
import dpctl.utils
import dpnp
import numpy as np

from polygrad.adam_scale import adam_scale
from polygrad.backend import Array, Backend, Kernel, Kernels
from polygrad.backends.dpnp_memory import room_for
from polygrad.indexing import fitted, on_host, one_axis, positions, size_of
from polygrad.kernels import FORWARDS, bind

__all__ = ["C_NAMES", "add_at", "adds", "forward_of", "kernel_of", "launch", "register"]

C_NAMES = {
    "bool": "uchar", "int8": "char", "int16": "short", "int32": "int", "int64": "long",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong",
    "float32": "float", "float64": "double",
}  # fmt: skip
_NUMBER = {"float": ctypes.c_float, "double": ctypes.c_double}

# Each array comes as its memory and the place of its first element.
_FLOATING = r"""
#pragma OPENCL FP_CONTRACT OFF
#define IN(x) global const real *x##_memory, long x##_start
#define OUT(x) global real *x##_memory, long x##_start
#define AT(x) x##_memory[x##_start + i]

kernel void relu(IN(x), OUT(out)) {
    size_t i = get_global_id(0);
    real x = AT(x);
    AT(out) = x > 0 || x != x ? x : 0;
}
kernel void keep(IN(x), global const uchar *mask_memory, long mask_start, OUT(out)) {
    size_t i = get_global_id(0);
    AT(out) = AT(mask) ? AT(x) : 0;
}
kernel void sgd(IN(p), IN(g), OUT(out), real sign, real decay, real lr) {
    size_t i = get_global_id(0);
    real p = AT(p), g = sign * AT(g);
    if (decay != 0) g = g + decay * p;
    AT(out) = p - lr * g;
}
kernel void sgd_momentum(
    IN(p), IN(g), OUT(buffer), OUT(out), real sign, real decay, real lr, real momentum, real fresh,
    real first, real nesterov
) {
    size_t i = get_global_id(0);
    real p = AT(p), g = sign * AT(g);
    if (decay != 0) g = g + decay * p;
    real buffer = first != 0 ? g : momentum * AT(buffer) + fresh * g;
    AT(buffer) = buffer;
    AT(out) = p - lr * (nesterov != 0 ? g + momentum * buffer : buffer);
}
#define ADAM(LARGEST, SEEN) \
    size_t i = get_global_id(0); \
    real p = AT(p), g = sign * AT(g); \
    if (shrink != 1) p = p * shrink; \
    if (decay != 0) g = g + decay * p; \
    real m = AT(m), v = AT(v); \
    m = m + (g - m) * new1; \
    v = beta2 * v + new2 * (g * g); \
    AT(m) = m; \
    AT(v) = v; \
    real seen = SEEN; \
    LARGEST \
    AT(out) = p - scale * m / (sqrt(seen) + eps);
#define ADAM_NUMBERS real sign, real shrink, real decay, real new1, real beta2, real new2, \
    real scale, real eps
kernel void adam(IN(p), IN(g), OUT(m), OUT(v), OUT(out), ADAM_NUMBERS) { ADAM(, v) }
kernel void amsgrad(IN(p), IN(g), OUT(m), OUT(v), OUT(largest), OUT(out), ADAM_NUMBERS) {
    ADAM(AT(largest) = seen;, AT(largest) > v || AT(largest) != AT(largest) ? AT(largest) : v)
}
"""

# Elements of `parts` numbers each: a complex number has two.
_SCATTERED = r"""
kernel void add_rows(
    global real *out, long out_start, global const real *x, long x_start,
    global const long *places, long places_start, long count, long width
) {
    long column = get_global_id(0);
    out += out_start + column;
    x += x_start + column;
    places += places_start;
    for (long row = 0; row < count; row++)
        out[places[row] * width] += x[row * width];
}
"""


@functools.cache
def _program(queue: Any, source: str, real: str) -> Any:
    options = f"-Dreal={real}"
    if real == "float":
        options += " -cl-fp32-correctly-rounded-divide-sqrt"
    return dpctl.program.create_program_from_source(queue, source, options)


@functools.cache
def kernel_of(queue: Any, source: str, real: str, name: str) -> Any:
    """A kernel of a program, whose `real` is a type of C: compiled when first asked for."""
    return _program(queue, source, real).get_sycl_kernel(name)


def launch(queue: Any, kernel: Any, arrays: list[Array], numbers: list[Any], items: int) -> None:
    """Queue a kernel behind all work so far; the arrays live until it is done."""
    held = [a.get_array() for a in arrays]
    arguments: list[Any] = []
    for usm in held:
        start = usm.__sycl_usm_array_interface__["offset"] * (2 if usm.dtype.kind == "c" else 1)
        arguments += [usm.usm_data, ctypes.c_int64(start)]
    order = dpctl.utils.SequentialOrderManager[queue]
    before = order.submitted_events
    done = queue.submit_async(kernel, [*arguments, *numbers], [items], None, before)
    order.add_event_pair(queue._submit_keep_args_alive(held, [done]), done)  # noqa: SLF001  see its docs


def _elementwise(F: Kernels, name: str, arrays: list[Array], *numbers: float) -> Array:
    """A new array from arrays of one shape, all C-ordered; those that the kernel writes are last.

    The first gives the shape.
    """
    shape, queue, real = arrays[0].shape, F.native_device, C_NAMES[F.dtype.name]
    out = room_for(shape, F.dtype, queue)
    if out is None:
        out = dpnp.empty(shape, dtype=F.dtype, sycl_queue=queue)
    if arrays[0].size:
        kernel = kernel_of(queue, _FLOATING, real, name)
        made = [_NUMBER[real](number) for number in numbers]
        launch(queue, kernel, [*arrays, out], made, arrays[0].size)
    return out


def _simple(shape: tuple[int, ...], *arrays: Array) -> bool:
    """Whether all arrays are of this shape and C-ordered."""
    return all(a.shape == shape and a.flags.c_contiguous for a in arrays)


def forward_of(name: str, F: Kernels) -> Kernel:
    """What serves `name` where no kernel is registered."""
    forward = FORWARDS[name]
    assert forward is not None  # noqa: S101  those below have forwards
    return bind(forward, F)


# ---- activations ---------------------------------------------------------------------------------
def _relu(F: Kernels) -> Kernel:
    plain = forward_of("relu", F)
    return lambda x: _elementwise(F, "relu", [x]) if x.flags.c_contiguous else plain(x)


def _keep(F: Kernels) -> Kernel:
    plain = forward_of("keep", F)

    def keep(x: Array, mask: Array) -> Array:
        if mask.dtype == np.bool_ and x.dtype == F.dtype and _simple(x.shape, x, mask):
            return _elementwise(F, "keep", [x, mask])
        return plain(x, mask)

    return keep


# ---- optimisers: see polygrad.optim.rules for the formulas ---------------------------------------
def _sgd(F: Kernels) -> Kernel:
    plain = forward_of("sgd_step", F)

    def sgd(p: Array, g: Array, *slots: Array, **keywords: Any) -> tuple[Array, ...]:
        if not _simple(p.shape, p, g, *slots):
            out: tuple[Array, ...] = plain(p, g, *slots, **keywords)
            return out
        k = keywords
        numbers = [-1.0 if k["maximize"] else 1.0, k["weight_decay"], k["lr"]]
        if not slots:
            return (_elementwise(F, "sgd", [p, g], *numbers),)
        numbers += [k["momentum"], 1 - k["dampening"], float(k["step"] == 1), float(k["nesterov"])]
        return (_elementwise(F, "sgd_momentum", [p, g, *slots], *numbers), *slots)

    return sgd


def _adam(F: Kernels) -> Kernel:
    plain = forward_of("adam_step", F)

    def adam(p: Array, g: Array, *slots: Array, **keywords: Any) -> tuple[Array, ...]:
        if not _simple(p.shape, p, g, *slots):
            out: tuple[Array, ...] = plain(p, g, *slots, **keywords)
            return out
        k, decay = keywords, keywords["weight_decay"]
        beta1, beta2 = k["betas"]
        decoupled = k["decoupled_weight_decay"]
        numbers = [
            -1.0 if k["maximize"] else 1.0, 1 - k["lr"] * decay if decoupled else 1.0,
            0.0 if decoupled else decay, 1 - beta1, beta2, 1 - beta2,
            *adam_scale(k["lr"], k["betas"], k["eps"], k["step"]),
        ]  # fmt: skip
        name = "amsgrad" if len(slots) > 2 else "adam"
        return (_elementwise(F, name, [p, g, *slots], *numbers), *slots)

    return adam


def register(backend: Backend, device: str) -> None:
    """Let the kernels serve a device, in single and double precision."""
    for dtype in ("float32", "float64"):
        for name, make in (
            ("relu", _relu), ("keep", _keep), ("sgd_step", _sgd), ("adam_step", _adam),
        ):  # fmt: skip
            backend.kernel(name, device=device, dtype=dtype)(make)


# ---- scatter -------------------------------------------------------------------------------------
def adds(dtype: Any) -> bool:
    """Whether `add_at` serves a dtype: all but truth values, which do not add."""
    return bool(dtype.name != "bool" and (dtype.kind in "fc" or dtype.name in C_NAMES))


def add_at(backend: Backend, array: Array, key: tuple[Any, ...], value: Any) -> Array:
    """A copy of `array` with `value` added at a key with index arrays: Note [Scattered sums].

    The positions are reckoned on the host, which also checks them. float16 is summed in float32.
    """
    if array.dtype == np.float16:
        wide = add_at(backend, dpnp.astype(array, np.float32), key, value)
        return dpnp.astype(wide, np.float16)
    shape, device = tuple(array.shape), backend.device_of(array)
    key = on_host(backend, key)
    if one_axis(key, len(shape)) == 0:  # whole rows
        (index,) = (entry for entry in key if isinstance(entry, np.ndarray))
        places = np.arange(shape[0])[index]
        target, width = (*places.shape, *shape[1:]), size_of(shape[1:])
    else:
        places, width = positions(shape, key), 1
        target = places.shape
    if not isinstance(value, backend.array_types):
        value = backend.from_numpy(np.asarray(value, dtype=array.dtype), device)
    value = fitted(backend.xp, backend.astype(value, array.dtype), target)
    out = dpnp.copy(array, order="C")
    uploaded = backend.from_numpy(places.reshape(-1).astype(np.int64, copy=False), device)
    _add_rows(out, uploaded, dpnp.ascontiguousarray(value), width)
    return out


def _add_rows(out: Array, places: Array, values: Array, width: int) -> None:
    """Add rows of `width` of the flat `values` to the rows of `out` at `places`, all C-ordered."""
    queue, parts, name = out.sycl_queue, 1, out.dtype.name
    if out.dtype.kind == "c":
        parts, name = 2, {"complex64": "float32", "complex128": "float64"}[name]
    if places.size and width:
        kernel = kernel_of(queue, _SCATTERED, C_NAMES[name], "add_rows")
        numbers = [ctypes.c_int64(places.size), ctypes.c_int64(width * parts)]
        launch(queue, kernel, [out, values, places], numbers, width * parts)
