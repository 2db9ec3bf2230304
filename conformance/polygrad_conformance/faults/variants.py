"""Legal variants: what another library may do differently. The suite must not alarm at any of them.

Each changes kernels of the faulty device, all of those that it concerns at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from polygrad.kernels import FORWARDS
from polygrad_conformance.declarations import load_data
from polygrad_conformance.faults.device import in_kernel, install, with_capabilities
from polygrad_conformance.tolerance import budget

__all__ = ["VARIANTS", "variant"]

Host = np.ndarray[Any, Any]
Kernel = Callable[..., Any]
Changes = dict[str, Callable[[Kernel], Kernel]]


def _plain(a: Any) -> Host:
    return np.asarray(a).view(np.ndarray)


def _each_result(change: Callable[[Host], Any]) -> Callable[[Kernel], Kernel]:
    """A kernel whose arrays go through `change`."""

    def of(out: Any) -> Any:
        if isinstance(out, (tuple, list)):
            return type(out)(map(of, out)) if type(out) in (tuple, list) else out
        return change(_plain(out)) if isinstance(out, (np.ndarray, np.generic)) else out

    def damage(kernel: Kernel) -> Kernel:
        return lambda *args, **kwargs: of(kernel(*args, **kwargs))

    return damage


_ODD = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: it spreads neighbours


# ---- rounding -----------------------------------------------------------------------------------
def _off_by(entry: Any) -> Callable[[Kernel], Kernel]:
    """Off by up to 0.9 of the budget, each element by its own amount; what is exact stays exact."""

    def change(a: Host) -> Host:
        if a.dtype.kind not in "fc" or a.dtype.name == "bfloat16" or not a.size:
            return a
        steps = max(0, int(0.9 * budget(entry, a.dtype) - 1))  # NumPy's own error is up to one
        if a.dtype.kind == "c":
            steps //= 2  # of each part: together less than the budget of the absolute value
        parts = a.view(a.real.dtype) if a.ndim and a.flags.c_contiguous else None
        if a.dtype.kind == "c" and parts is None:
            return a
        real = np.array(parts if parts is not None else a)
        # By the number alone, so that a call gives the same bits wherever its operands lie.
        bits = real.view(f"u{real.itemsize}").astype(np.uint64) * np.uint64(_ODD)
        amount = ((bits >> np.uint64(40)) % np.uint64(2 * steps + 1)).astype(np.int64) - steps
        # Of the power of two below, if the reference may lie there.
        size = np.abs(np.where(np.isfinite(real), real, 1))
        unit = np.spacing(size * real.dtype.type(1 - 64 * np.finfo(real.dtype).eps))
        with np.errstate(all="ignore"):
            moved = real + (amount * unit).astype(real.dtype)
        free = np.isfinite(real) & (real != np.round(real)) & np.isfinite(moved)
        free &= np.frexp(moved)[1] == np.frexp(real)[1]  # across a power of 2 units change
        real = np.where(free, moved, real).astype(real.dtype)
        return real.view(a.dtype) if a.dtype.kind == "c" else real

    return _each_result(change)


def _last_places() -> Changes:
    table = load_data("budgets")["ulp"]
    return {name: _off_by(entry) for name, entry in table.items() if name in FORWARDS}


def _reversed_sums() -> Changes:
    """Sums from the last term to the first."""

    def whole(kernel: Kernel) -> Kernel:
        def reverse(a: Any, *args: Any, **kwargs: Any) -> Any:
            return np.flip(_plain(kernel(np.flip(_plain(a)), *args, **kwargs)))

        return reverse

    def product(kernel: Kernel) -> Kernel:
        def reverse(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
            a, b = _plain(a), _plain(b)
            return kernel(np.flip(a, -1), np.flip(b, max(-2, -b.ndim)), *args, **kwargs)

        return reverse

    return {**dict.fromkeys(("sum", "mean", "prod", "var", "std", "logsumexp"), whole),
            "matmul": product}  # fmt: skip


def _one_rounding() -> Changes:
    """Products of matrices summed in a wider format, as fused multiply-add comes near to."""
    wide = {"float16": np.float32, "float32": np.float64, "float64": np.longdouble,
            "complex64": np.complex128, "complex128": np.clongdouble}  # fmt: skip

    def product(kernel: Kernel) -> Kernel:
        def wider(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
            a, b = _plain(a), _plain(b)
            if a.dtype.name not in wide:
                return kernel(a, b, *args, **kwargs)
            to = wide[a.dtype.name]
            with np.errstate(all="ignore"):
                return np.matmul(a.astype(to), b.astype(to)).astype(a.dtype)

        return wider

    return {"matmul": product}


# ---- freedoms of a definition -----------------------------------------------------------------
def _other_signs() -> Changes:
    """Eigenvectors and singular vectors are defined up to a sign, and the columns of Q too."""

    def signs(n: int) -> Host:
        return np.where(np.arange(n) % 2, 1.0, -1.0)

    def eigh(kernel: Kernel) -> Kernel:
        def turned(*args: Any, **kwargs: Any) -> Any:
            w, v = kernel(*args, **kwargs)
            v = _plain(v)
            return w, (v * signs(v.shape[-1])).astype(v.dtype)

        return turned

    def qr(kernel: Kernel) -> Kernel:
        def turned(*args: Any, **kwargs: Any) -> Any:
            q, r = map(_plain, kernel(*args, **kwargs))
            s = signs(q.shape[-1])
            return (q * s).astype(q.dtype), (r * s[: r.shape[-2], None]).astype(r.dtype)

        return turned

    def svd(kernel: Kernel) -> Kernel:
        def turned(*args: Any, **kwargs: Any) -> Any:
            u, s, vh = kernel(*args, **kwargs)
            u, vh = _plain(u), _plain(vh)
            many = signs(max(u.shape[-1], vh.shape[-2]))
            return (
                (u * many[: u.shape[-1]]).astype(u.dtype), s,
                (vh * many[: vh.shape[-2], None]).astype(vh.dtype),
            )  # fmt: skip

        return turned

    return {"eigh": eigh, "qr": qr, "svd": svd}


def _other_ties() -> Changes:
    """Equal elements in the reverse order, where the sort need not be stable."""

    def argsort(kernel: Kernel) -> Kernel:
        def turned(a: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs.get("stable", True):
                return kernel(a, *args, **kwargs)
            axis = kwargs.get("axis", -1)
            order = _plain(kernel(np.flip(_plain(a), axis), *args, **{**kwargs, "stable": True}))
            return a.shape[axis] - 1 - order if a.ndim else order

        return turned

    return {"argsort": argsort}


# ---- representation ---------------------------------------------------------------------------
def _nan(a: Host) -> Host:
    """Every NaN has its sign bit set and a payload."""
    if a.dtype.kind not in "fc" or a.dtype.name == "bfloat16" or not np.isnan(a).any():
        return a
    kind = a.real.dtype
    bits = {2: 0xFE2A, 4: 0xFFC0002A, 8: 0xFFF800000000002A}.get(kind.itemsize)
    if bits is None:
        return a
    other = np.array([bits], f"u{kind.itemsize}").view(kind)[0]
    if a.dtype.kind == "f":
        return np.where(np.isnan(a), other, a)
    made = np.array(a)
    made.real[np.isnan(a.real)] = other
    made.imag[np.isnan(a.imag)] = other
    return made


def _scattered(a: Host) -> Host:
    """Results in every second place of a larger array, axes in reverse order."""
    if not a.ndim:
        return a
    room = np.empty((*a.shape[::-1], 2), a.dtype)
    room[..., 0] = a.T
    return room[..., 0].T


# What moves numbers without computing any keeps their bits.
_MOVES = """
    adjoint astype broadcast_to clone concat conj diagonal expand_dims flip getitem identity imag
    matrix_transpose negative pad permute_along_axis permute_dims positive put real repeat reshape
    resize roll sliding_window_view squeeze stack take take_along_axis tile tril triu unstack where
"""


def _everywhere(change: Callable[[Host], Host]) -> Callable[[], Changes]:
    return lambda: dict.fromkeys(FORWARDS, _each_result(change))


def _computed(change: Callable[[Host], Host]) -> Callable[[], Changes]:
    computing = sorted(set(FORWARDS).difference(_MOVES.split()))
    return lambda: dict.fromkeys(computing, _each_result(change))


def _flushed(a: Host) -> Host:
    """Results below the least normal number are zeros of their sign."""
    if a.dtype.kind != "f" or a.dtype.name == "bfloat16":
        return a
    return np.where(np.abs(a) < np.finfo(a.dtype).smallest_normal, np.copysign(0, a), a).astype(
        a.dtype
    )


VARIANTS: dict[str, Callable[[], Changes]] = {
    "off by up to 0.9 of the budget": _last_places,
    "sums in reverse order": _reversed_sums,
    "matrix products rounded once": _one_rounding,
    "other signs of vectors": _other_signs,
    "another order of ties": _other_ties,
    "other NaN payloads": _computed(_nan),
    "results not contiguous": _everywhere(_scattered),
    "results copied": _everywhere(np.array),
    "subnormals flushed": _computed(_flushed),
}


@contextmanager
def variant(name: str) -> Iterator[None]:
    """While it is open, the faulty device does what `VARIANTS[name]` says, and is right."""
    install()
    with ExitStack() as stack:
        if name == "subnormals flushed":
            stack.enter_context(with_capabilities(subnormals=False))
        for kernel, change in VARIANTS[name]().items():
            stack.enter_context(in_kernel(kernel, change))
        yield
