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
    made += [((h([[0, 0], [3, 4], [0, 5]]),), {"axis": 1}), ((h([0, 0, 0]),), {})]
    full = x + h(3)
    made += [((full,), {"ord": o, "axis": a}) for o in orders for a in (1, (0, 2))]
    return [*made, ((x,), {"keepdims": True, "axis": (0, -1)}), ((x,), {"keepdims": True})]


def _matrix_norms(h: Hard) -> Calls:
    x = h.block
    orders = ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    made: Calls = [((x,), {"ord": o, "keepdims": k}) for o in orders for k in (False, True)]
    return [*made, ((h(np.zeros((2, 2))),), {})]


def _norms(h: Hard) -> Calls:
    x = h.block
    made = [((x,), {}), ((x,), {"axis": 1}), ((x,), {"axis": -1, "keepdims": True})]
    made += [((h(np.zeros((2, 3))),), {"axis": a}) for a in (None, 0)]
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


def _spectra(h: Hard) -> Calls:
    """Equal values, in stacks beside others; of rank one; nothing."""
    x = np.stack([np.eye(3), np.diag([2.0, -1, 2]), np.diag([3.0, 1, 2]), np.ones((3, 3))])
    x = x + (1j * np.triu(np.ones((3, 3)), 1) if h.kind == "c" else 0)
    x = (x + np.conj(np.swapaxes(x, -1, -2))) / 2
    return [((h(x),), {}), ((h(np.eye(2)),), {}), ((h(np.zeros((0, 0))),), {})]


def _single_values(h: Hard) -> Calls:
    x = np.array([[1, 2, 0], [0, 3, 1]])
    return [((h(x),), {}), ((h(np.stack([np.eye(2), np.diag([2, -2])])),), {})]


def _factors(h: Hard) -> Calls:
    """Wide, high, stacked, without rows or columns."""
    x = h.block + h(np.arange(24).reshape(2, 3, 4) % 7)
    return [((x,), {}), ((np.swapaxes(x, 1, 2).copy(),), {}), ((x[0, :, :1],), {}),
            ((x[0, :1],), {})]  # fmt: skip


def _roots(h: Hard) -> Calls:
    x = h([[4, 2, 0], [2, 5, -1], [0, -1, 3]])
    return [((a,), {"upper": u}) for u in (False, True) for a in (x, np.stack([x, 9 * x]))]


def _triangles(h: Hard) -> Calls:
    """What lies on the other side of the diagonal is not looked at, nor a diagonal of ones."""
    x = h([[2, 7, -1], [1, 4, 9], [3, -2, 0.5]])
    right = h(np.arange(6).reshape(3, 2) - 2)
    return [
        ((x, b), {"upper": u, "unit_diagonal": d})
        for b in (right, right[:, 0])
        for u in (False, True)
        for d in (False, True)
    ]


def _trigonometric(*more: dict[str, Any]) -> Make:
    """Every type with every norm, along each axis, cut and filled up."""

    def make(h: Hard) -> Calls:
        x = h(np.arange(24).reshape(2, 3, 4) * 5 % 7 - 3)
        made: Calls = [((x,), {"type": t, "norm": m}) for t in (1, 2, 3, 4) for m in
                       ("backward", "ortho", "forward")]  # fmt: skip
        return made + [((x,), {"type": t, **k}) for t in (2, 3) for k in more]

    return make


_ALONG = _trigonometric({"axis": 1}, {"n": 2, "axis": 1}, {"n": 6, "axis": 1}, {"axis": -3})
_ALONG_MANY = _trigonometric(
    {"axes": (1,)}, {"axes": (2, 1)}, {"s": (4, 2), "axes": (1, 2)}, {"axes": (-1, 0)}
)


def _frequencies(h: Hard) -> Calls:
    return [((n,), {"d": d, "dtype": h.dtype}) for n in (1, 2, 5, 8) for d in (1.0, 0.25)]


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
    "linalg.eigh": _spectra, "linalg.eigvalsh": _spectra, "linalg.svdvals": _single_values,
    "linalg.svd": _single_values, "linalg.qr": _factors, "linalg.cholesky": _roots,
    "linalg.triangular_solve": _triangles,
    **dict.fromkeys((f"fft.{i}{name}" for i in ("", "i") for name in ("dct", "dst")), _ALONG),
    **dict.fromkeys((f"fft.{i}{name}n" for i in ("", "i") for name in ("dct", "dst")), _ALONG_MANY),
    **dict.fromkeys(("fft.fftfreq", "fft.rfftfreq"), _frequencies),
    "linalg.matrix_power": _matrix_powers, "linalg.pinv": _inverses, "average": _averages,
    "cov": _covariances, "corrcoef": _correlations, "interp": _interpolated,
    **dict.fromkeys(("trapezoid", "cumulative_trapezoid"), _integrals),
    **dict.fromkeys(("fft.fft", "fft.ifft", "fft.rfft", "fft.hfft", "fft.ihfft", "fft.irfft"),
                    _transforms),
    **dict.fromkeys(("fft.fftn", "fft.ifftn", "fft.rfftn", "fft.irfftn"), _many_transforms),
    **dict.fromkeys(("fft.fftshift", "fft.ifftshift"), _shifted),
    **dict.fromkeys(("special.expit", "special.log_expit", "special.softplus"), _points(*_WIDE)),
    "special.logit": _points(-1.0, -0.1, 0.0, 0.25, 0.5, 1.0, 1.1, 2.0),
    "special.xlogy": _logs_of(0.0, 0.5, 1.0, 2.0), "special.xlog1py": _logs_of(0.0, 0.5, 2.0),
    **dict.fromkeys(("special.rel_entr", "special.kl_div"), _logs_of(0.0, 0.5, 1.0, 2.0, -1.0)),
    "special.entr": _points(-1.0, 0.0, 0.5, 1.0, 2.0),
    "special.sinc": _points(-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0),
    "special.exprel": _points(-20.0, -1e-3, 0.0, 1e-3, 2.0),
}  # fmt: skip
