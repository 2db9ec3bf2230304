"""Hard samples of products, linear algebra, covariances, Fourier transforms, special functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]


def _matmuls(h: Hard) -> Calls:
    """Stacks that broadcast, each matrix of them different; vectors on either side."""
    a, b = h.block, h(np.arange(40).reshape(2, 4, 5) * 3 % 7 - 3)
    return [
        ((a, b), {}),
        ((a[:1], b), {}),
        ((a, b[1:]), {}),
        ((a[0], b), {}),
        ((a, b[1]), {}),
        ((a, b[0, :, 0]), {}),
        ((a[1, 0], b), {}),
        ((a[:, None], b[None]), {}),
        ((a[0, 0], b[1, :, 2]), {}),
        ((a[:, :0], b), {}),
        ((a[..., :0], b[:, :0]), {}),
        ((np.swapaxes(a, 1, 2), a), {}),
    ]


def _contracted(h: Hard) -> Calls:
    a, b, square = h.block, h(np.arange(24).reshape(4, 3, 2) % 5), h(np.arange(9).reshape(3, 3))
    cube = h(np.arange(27).reshape(3, 3, 3) % 7)
    made = [
        ("ii", square),
        ("ii->i", square),
        ("ij->ji", square),
        ("iij->j", cube),
        ("iji->j", cube),
        ("iii", cube),
        ("ij->", square),
        ("ijk->ki", a),
        ("...i->...", a),
        ("i...->...", a),
        ("ijk,kjl->il", a, b),
        ("ijk,kji", a, b),
        ("ii,ij->j", square, square),
        ("ijk,kl,lj->il", a, h(np.arange(8).reshape(4, 2)), h(np.arange(6).reshape(2, 3))),
    ]
    return [(call, {}) for call in made]


def _tensordots(h: Hard) -> Calls:
    a, b = h.block, h(np.arange(24).reshape(4, 3, 2) % 5)
    return [
        ((a, b), {"axes": axes})
        for axes in (0, 1, ((2,), (0,)), ((1, 2), (1, 0)), ((0, 2), (2, 0)), ((-1, 1), (0, -2)))
    ]


def _vecdots(h: Hard) -> Calls:
    a, b = h.block, h(np.arange(12).reshape(3, 4) % 5)
    return [
        ((a, b), {}),
        ((a, b), {"axis": -1}),
        ((a[1], b), {"axis": -2}),
        ((a, a[:1]), {"axis": -2}),
    ]


def _pairs(h: Hard) -> Calls:
    a, b = h([1, 0, 2, 3]), h([2, 1, 3])
    return [((a, b), {}), ((b, a), {})]


def _inners(h: Hard) -> Calls:
    return [((h.block, h.block[0]), {}), ((h.block[0], h.block[1, 0]), {}), ((h.block, h(2)), {})]


def _krons(h: Hard) -> Calls:
    a, b = h.block[0], h([[1, 0, 2], [0, 3, 1]])
    return [((a, b), {}), ((b, a), {}), ((h.block, b), {}), ((b, h.block), {}), ((b[0], a), {})]


def _powers(h: Hard) -> Calls:
    x = h([0, 1, 2, -1])
    return [((x,), {"N": n, "increasing": up}) for n in (None, 1, 0, 3, 6) for up in (False, True)]


def _crossed(h: Hard) -> Calls:
    x, y = h([[1, 2, 3], [0, 1, 4]]), h([[2, 0, 1], [5, 3, 1]])
    t = x.T.copy(), y.T.copy()
    return [((x, y), {}), ((x[:1], y), {}), (t, {"axis": 0}), (t, {"axis": -2})]


def _long(h: Hard) -> Any:
    """Vectors whose squares overflow, and others whose squares vanish."""
    top = float(h.largest) / 64
    return h(np.array([[3, 4, 0], [-3, 0, 4], [4, 3, 0]]) * (top / 8))


_SHORT = {
    "float32": 2.0**-100,
    "float64": 2.0**-700,
    "complex64": 2.0**-100,
    "complex128": 2.0**-700,
}


def _vector_norms(h: Hard) -> Calls:
    x = h.block
    made = [((_long(h),), {"axis": 1}), ((_long(h)[:1],), {})]
    if h.dtype.name in _SHORT:
        made.append(((h(np.array([[3.0, 4], [4, 3]]) * _SHORT[h.dtype.name]),), {"axis": 1}))
    orders = (0, 1, 2, 3, np.inf, -np.inf, -1, 0.5)
    full = x + h(3)
    made += [((full,), {"ord": o, "axis": a}) for o in orders for a in (1, (0, 2))]
    return [*made, ((x,), {"keepdims": True, "axis": (0, -1)}), ((x,), {"keepdims": True})]


def _matrix_norms(h: Hard) -> Calls:
    x = h.block
    orders = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    return [((x,), {"ord": o, "keepdims": k}) for o in orders for k in (False, True)]


def _norms(h: Hard) -> Calls:
    x = h.block
    made = [((x,), {}), ((x,), {"axis": 1}), ((x,), {"axis": -1, "keepdims": True})]
    made += [((x,), {"ord": o, "axis": 0}) for o in (1, np.inf, -np.inf, 3)]
    return [*made, *(((x,), {"ord": o, "axis": (2, 0)}) for o in (1, -np.inf, "fro", "nuc"))]


def _ranks(h: Hard) -> Calls:
    """Of lower rank, but for rounding errors."""
    x = h(np.arange(1, 17).reshape(4, 4) / 7)
    stack = np.stack([x, h(np.eye(4)), h(np.zeros((4, 4)))])
    return [
        ((x,), {}),
        ((stack,), {}),
        ((x[:3],), {}),
        ((h(np.diag([1, 0.5, 0.01])),), {"rtol": 0.1}),
    ]


def _solved(h: Hard) -> Calls:
    """A zero where the first pivot is; stacks that broadcast."""
    x = h(np.array([[[0, 2, 1], [1, 0, 3], [2, 1, 0]], [[0, 1, 0], [0, 0, 2], [3, 0, 0]]]))
    right = h(np.arange(12).reshape(2, 3, 2) - 5)
    return [
        ((x, right), {}),
        ((x[:1], right), {}),
        ((x[0], right), {}),
        ((x, right[1]), {}),
        ((x, right[0, :, 0]), {}),
    ]


def _pivoted(h: Hard) -> Calls:
    x = np.array([[[0, 2, 1], [1, 0, 3], [2, 1, 0]], [[0, 1, 0], [0, 0, 2], [3, 0, 0]]])
    odd = [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    return [((h(x),), {}), ((h(odd),), {})]


def _determinants(h: Hard) -> Calls:
    return [
        *_pivoted(h),
        ((h(np.zeros((2, 2))),), {}),
        ((h(np.zeros((0, 0))),), {}),
        ((h(-2 * np.eye(3)),), {}),
    ]


def _matrix_powers(h: Hard) -> Calls:
    x = h([[0, 2, 1], [1, 0, 3], [2, 1, 0]])
    return [((x, n), {}) for n in (0, 1, 2, 3, 7, -1, -2)]


def _inverses(h: Hard) -> Calls:
    return [
        ((h([[1, 2, 3], [2, 4, 7]]),), {}),
        ((h([[2, 0], [0, 0]]),), {}),
        ((h.block + h(1),), {}),
    ]


def _averages(h: Hard) -> Calls:
    x = h.block
    weights = np.array([1, 0, 3]).astype(x.real.dtype)
    return [
        ((x,), {"axis": 1, "weights": weights}),
        ((x,), {"axis": (0, 2)}),
        ((x,), {"axis": -2, "weights": weights, "keepdims": True}),
        ((x,), {"weights": np.abs(x).astype(x.real.dtype), "returned": True}),
        ((x,), {"axis": 0, "returned": True}),
    ]


def _covariances(h: Hard) -> Calls:
    x = h([[1, 2, 4, 0], [3, 1, 0, 2], [0, 5, 1, 1]])
    counts, some = np.array([1, 2, 0, 3]), h([0.5, 1, 2, 0.25])
    return [((x,), {"ddof": d, "bias": b}) for d in (None, 0, 1, 2) for b in (False, True)] + [
        ((x,), {"rowvar": False}),
        ((x, x[:1]), {}),
        ((x,), {"fweights": counts}),
        ((x,), {"aweights": some}),
        ((x,), {"fweights": counts, "aweights": some, "ddof": 0}),
        ((x[0],), {}),
        ((x + h(100),), {}),
    ]


def _correlations(h: Hard) -> Calls:
    x = h([[1, 2, 4, 0], [3, 1, 0, 2], [0, 5, 1, 1]])
    return [((x,), {}), ((x,), {"rowvar": False}), ((x, x[::-1].copy()), {}), ((x + h(100),), {})]


def _interpolated(h: Hard) -> Calls:
    xp, fp = h([0, 1, 3, 4]), h([2, 1, 5, -1])
    x = h([[-1, 0, 0.5], [3, 4, 9]])
    return [
        ((x, xp, fp), {}),
        ((x, xp, fp), {"left": -7.0}),
        ((x, xp, fp), {"right": 9.0}),
        ((x, xp, fp), {"left": 1.5, "right": 2.5}),
        ((x, xp, fp), {"period": 5.0}),
    ]


def _integrals(h: Hard) -> Calls:
    x = h.block
    return [
        ((x,), {"axis": 1, "dx": 0.5}),
        ((x, h([0, 1, 3])), {"axis": -2}),
        ((x, h([0, 1, 3, 7])), {}),
        ((x,), {"axis": 0, "dx": 2.0}),
    ]


def _transforms(h: Hard) -> Calls:
    x = h(np.arange(24).reshape(2, 3, 4) * 5 % 7 - 3)
    made = [
        ((x,), {"axis": a, "norm": m}) for a in (0, 1, -1) for m in ("backward", "ortho", "forward")
    ]
    return [
        *made,
        *(((x,), {"n": n, "axis": a}) for n, a in ((2, 1), (5, 1), (7, -1), (3, 2), (4, 0))),
    ]


def _many_transforms(h: Hard) -> Calls:
    x = h(np.arange(24).reshape(2, 3, 4) * 5 % 7 - 3)
    made = [
        ((x,), {"axes": a, "norm": m})
        for a in ((0,), (1,), (0, 1), (2, 0), (-1, -2), None)
        for m in ("backward", "ortho", "forward")
    ]
    return [*made, ((x,), {"s": (4, 3), "axes": (1, 0)}), ((x,), {"s": (2, 5), "axes": (0, 2)})]


def _shifted(h: Hard) -> Calls:
    return [((h.block,), {"axes": axes}) for axes in (None, 0, 1, (0, 1), (-1, 1), (2,))]


def _points(*values: float) -> Make:
    return lambda h: [((h(values),), {})]


def _logs_of(*values: float) -> Make:
    return lambda h: [(h.pairs(h(values)), {})]


_WIDE = (-1000.0, -100.0, -20.0, -1e-3, -0.0, 0.0, 1e-3, 20.0, 100.0, 1000.0)
TABLE: dict[str, Make] = {
    **dict.fromkeys(("matmul", "linalg.matmul"), _matmuls), "einsum": _contracted,
    **dict.fromkeys(("tensordot", "linalg.tensordot"), _tensordots),
    **dict.fromkeys(("vecdot", "linalg.vecdot"), _vecdots),
    **dict.fromkeys(("outer", "linalg.outer"), _pairs), "inner": _inners, "kron": _krons,
    "vander": _powers, "linalg.cross": _crossed, "linalg.vector_norm": _vector_norms,
    "linalg.matrix_norm": _matrix_norms, **dict.fromkeys(("norm", "linalg.norm"), _norms),
    "linalg.matrix_rank": _ranks, "linalg.solve": _solved, "linalg.inv": _pivoted,
    **dict.fromkeys(("linalg.det", "linalg.slogdet"), _determinants), "linalg.lu": _pivoted,
    "linalg.matrix_power": _matrix_powers, "linalg.pinv": _inverses, "average": _averages,
    "cov": _covariances, "corrcoef": _correlations, "interp": _interpolated,
    **dict.fromkeys(("trapezoid", "cumulative_trapezoid"), _integrals),
    **dict.fromkeys(("fft.fft", "fft.ifft", "fft.rfft", "fft.hfft", "fft.ihfft"), _transforms),
    **dict.fromkeys(("fft.fftn", "fft.ifftn", "fft.rfftn"), _many_transforms),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), _shifted),
    **dict.fromkeys(("special.expit", "special.log_expit", "special.softplus"), _points(*_WIDE)),
    "special.logit": _points(-1.0, -0.1, 0.0, 0.25, 0.5, 1.0, 1.1, 2.0),
    "special.xlogy": _logs_of(0.0, 0.5, 1.0, 2.0), "special.xlog1py": _logs_of(0.0, 0.5, 2.0),
    **dict.fromkeys(("special.rel_entr", "special.kl_div"), _logs_of(0.0, 0.5, 1.0, 2.0, -1.0)),
    "special.entr": _points(-1.0, 0.0, 0.5, 1.0, 2.0),
    "special.sinc": _points(-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0),
    "special.exprel": _points(-20.0, -1e-3, 0.0, 1e-3, 2.0),
}  # fmt: skip
