"""scipy.fft and scipy.linalg."""

from __future__ import annotations

from scipy import fft, linalg

from citizens.calls import Draw, Table, complex_normal, like, normal, positive

TABLE = Table("scipy")
row = TABLE.row

# ---- fft ----------------------------------------------------------------------------------------
for _name in ("fft", "ifft"):
    row(f"fft.{_name}", getattr(fft, _name), complex_normal(2, 4))
for _name in ("rfft", "ihfft"):
    row(f"fft.{_name}", getattr(fft, _name), normal(2, 5))
for _name in ("irfft", "hfft"):
    row(f"fft.{_name}", getattr(fft, _name), complex_normal(2, 3))
for _name in ("fft2", "ifft2", "fftn", "ifftn"):
    row(f"fft.{_name}", getattr(fft, _name), complex_normal(2, 3))
for _name in ("rfft2", "rfftn", "ihfft2", "ihfftn"):
    row(f"fft.{_name}", getattr(fft, _name), normal(3, 4))
for _name in ("irfft2", "irfftn", "hfft2", "hfftn"):
    row(f"fft.{_name}", getattr(fft, _name), complex_normal(3, 3))
row("fft.fft(n=9,ortho)", lambda x: fft.fft(x, n=9, norm="ortho"), normal(6))
row("fft.fftshift", fft.fftshift, normal(5))
row("fft.ifftshift", fft.ifftshift, normal(5))
for _name in ("dct", "idct", "dst", "idst"):
    row(f"fft.{_name}", getattr(fft, _name), normal(2, 5))
for _name in ("dctn", "idctn"):
    row(f"fft.{_name}", getattr(fft, _name), normal(2, 3), norm="ortho")
row("fft.fht", lambda x: fft.fht(x, 0.1, 0.5), normal(6))
row("fft.ifht", lambda x: fft.ifht(x, 0.1, 0.5), normal(6))

# ---- linalg -------------------------------------------------------------------------------------
NONE = " (no array-API support in SciPy)"
row("linalg.block_diag", linalg.block_diag, normal(2, 2), normal(1, 3))
row("linalg.fiedler", linalg.fiedler, normal(4))
row("linalg.orthogonal_procrustes", lambda a, b: linalg.orthogonal_procrustes(a, b), normal(4, 2),
    normal(4, 2))  # fmt: skip

_square = Draw(lambda g: g.normal(size=(3, 3)) + 3 * _eye())


def _eye() -> object:
    import numpy as np

    return np.eye(3)


def _positive(a: object) -> object:
    return a @ a.T + 2 * like(a, _eye())


row("linalg.inv" + NONE, linalg.inv, _square)
row("linalg.det" + NONE, linalg.det, _square)
row("linalg.solve" + NONE, linalg.solve, _square, normal(3))
row("linalg.cholesky" + NONE, lambda a: linalg.cholesky(_positive(a)), normal(3, 3))
row("linalg.expm" + NONE, linalg.expm, normal(3, 3))
row("linalg.eigh" + NONE, lambda a: linalg.eigh(_positive(a))[0], normal(3, 3))
row("linalg.svdvals" + NONE, linalg.svdvals, normal(3, 2))
row("linalg.lstsq" + NONE, lambda a, b: linalg.lstsq(a, b)[0], normal(4, 2), normal(4))
row("linalg.solve_triangular" + NONE, linalg.solve_triangular, _square, normal(3))
row("linalg.norm" + NONE, linalg.norm, normal(3, 2))
row("linalg.pinv" + NONE, linalg.pinv, normal(4, 2))
row("linalg.logm" + NONE, lambda a: linalg.logm(_positive(a)), normal(3, 3))
row("linalg.toeplitz" + NONE, linalg.toeplitz, normal(3), positive(3))
