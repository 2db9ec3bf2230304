"""Orthogonal matrices as parametrizations: three maps from matrices to orthogonal ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygrad import dtypes, random
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.nn.module import Module
from polygrad.nn.utils.parametrize import register_parametrization
from polygrad.ops.creation import tensor, to_place
from polygrad.ops.data_type import finfo
from polygrad.ops.diagonals import diagonal
from polygrad.ops.elementwise import conj
from polygrad.ops.filling import eye, tril, triu, zeros, zeros_like
from polygrad.ops.linalg_factorizations import qr
from polygrad.ops.linalg_functions import expm
from polygrad.ops.linalg_solvers import solve, triangular_solve
from polygrad.ops.linear_algebra import matrix_transpose
from polygrad.ops.rearrangement import concat
from polygrad.ops.searching import where
from polygrad.tensor import Tensor

__all__ = ["adjoint", "normal", "orthogonal", "tensor_of"]


def tensor_of(module: Module, name: str, where: str) -> Tensor:
    """The tensor that is to be parametrized."""
    found = getattr(module, name, None)
    if not isinstance(found, Tensor):
        held = [n for n, kind in module.registry.items() if kind != "module"]
        raise InvalidArgumentError(
            f"there is no parameter or buffer {name!r}", f"{where} of {type(module).__name__}",
            f"it has {', '.join(held) or 'none'}",
        )  # fmt: skip
    return found


def adjoint(x: Tensor) -> Tensor:
    """The conjugate transposes of matrices."""
    return conj(matrix_transpose(x)) if x.kernels.is_complex else matrix_transpose(x)


def normal(shape: tuple[int, ...], like: Tensor) -> Tensor:
    """Normal numbers, complex ones too."""
    real = dtypes.real_of(like.dtype)
    made = random.normal(shape, dtype=real, device=like.device)
    if not like.kernels.is_complex:
        return made
    return made + random.normal(shape, dtype=real, device=like.device) * 1j


class _Orthogonal(Module):
    """Maps from matrices to matrices with orthonormal columns, or rows if those are fewer."""

    base: Tensor | None

    def __init__(self, weight: Tensor, orthogonal_map: str, *, use_trivialization: bool) -> None:
        super().__init__()
        if weight.kernels.is_complex and orthogonal_map == "householder":
            raise DtypeError(
                f"the Householder map is for real matrices, this one is {weight.dtype}",
                "orthogonal, argument orthogonal_map", "pass 'matrix_exp' or 'cayley'",
            )  # fmt: skip
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def _trivializes(self) -> bool:
        return "base" in self.registry

    def forward(self, x: Tensor) -> Tensor:
        """The orthogonal matrix."""
        wide = x.shape[-2] < x.shape[-1]
        tall = matrix_transpose(x) if wide else x
        made = _MAPS[self.orthogonal_map](tall)
        if self._trivializes() and self.base is not None:
            made = self.base @ made
        return matrix_transpose(made) if wide else made

    def right_inverse(self, value: Tensor) -> Tensor:
        """What makes `value`, or, if that is not orthogonal, the orthogonal factor of its QR."""
        if value.shape != self.shape:
            raise ShapeError(
                f"a matrix of shape {value.shape} for one of {self.shape}",
                "assigning to an orthogonal matrix", "pass one of that shape",
            )  # fmt: skip
        wide = value.shape[-2] < value.shape[-1]
        tall = (matrix_transpose(value) if wide else value).detach()
        if not self._trivializes():
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    f"the {self.orthogonal_map} map has no inverse without use_trivialization"
                )
            made = _reflectors(tall)
            return matrix_transpose(made) if wide else made
        self.base = _completed(tall)
        # Reflections by zero vectors change signs: minus the identity makes all maps give it.
        return zeros_like(value) - eye(*value.shape[-2:], dtype=value.dtype, device=value.device)

    def extra_repr(self) -> str:
        """The map."""
        return self.orthogonal_map


def _skew(x: Tensor) -> Tensor:
    """The skew-Hermitian square matrix of the lower triangle of a tall one."""
    rows, columns = x.shape[-2:]
    low = tril(x)
    if rows != columns:
        fill = zeros((*x.shape[:-2], rows, rows - columns), dtype=x.dtype, device=x.device)
        low = concat([low, fill], axis=-1)
    return low - adjoint(low)


def _by_exponential(x: Tensor) -> Tensor:
    return expm(_skew(x))[..., : x.shape[-1]]


def _by_cayley(x: Tensor) -> Tensor:
    """(I - A/2)^-1 (I + A/2) of a skew A."""
    half = _skew(x) * 0.5
    one = eye(x.shape[-2], dtype=x.dtype, device=x.device)
    return solve(one - half, one + half)[..., : x.shape[-1]]


def _by_reflections(x: Tensor) -> Tensor:
    """H_1 ... H_k of the columns v_i below the diagonal, with the signs of the diagonal.

    All at once: H_1 ... H_k = I - V T^-1 V^T, where T is the upper triangle of V^T V with half of
    its diagonal (Joffrain, Low, Quintana-Orti, van de Geijn, Van Zee, "Accumulating Householder
    transformations, revisited", 2006). The diagonal says signs: it has no gradient, and its size,
    which weight decay may change, does not matter.
    """
    rows, columns = x.shape[-2:]
    place: dict[str, Any] = {"dtype": x.dtype, "device": x.device}
    one = eye(rows, columns, **place)
    v = tril(x, k=-1) + one
    products = matrix_transpose(v) @ v
    triangle = triu(products) * (1 - 0.5 * eye(columns, **place))
    top = matrix_transpose(v[..., :columns, :])
    made = one - v @ triangular_solve(triangle, top, upper=True)
    signs = diagonal(x.detach(), axis1=-2, axis2=-1)
    return made * to_place(where(signs < 0, -1.0, 1.0), x.dtype)[..., None, :]


_MAPS = {
    "matrix_exp": _by_exponential, "cayley": _by_cayley, "householder": _by_reflections,
}  # fmt: skip


def _reflectors(q: Tensor) -> Tensor:
    """The x of which `_by_reflections` makes the orthogonal factor of a real tall matrix."""
    raw_form, scales = np.linalg.qr(np.asarray(q.numpy(), np.float64), mode="raw")
    packed = np.swapaxes(raw_form, -1, -2)  # LAPACK's: reflectors below the diagonal of R
    columns = packed.shape[-1]
    i = np.arange(columns)
    # LAPACK leaves out reflections by zero vectors, which change the sign here.
    signs = np.where(packed[..., i, i] < 0, -1.0, 1.0) * np.where(scales == 0, -1.0, 1.0)
    made = np.tril(packed, -1)
    made[..., i, i] = signs
    return tensor(made, dtype=q.dtype, device=q.device)


def _completed(q: Tensor) -> Tensor:
    """A square orthogonal matrix whose first columns are `q`, made orthogonal if it is not."""
    rows, columns = q.shape[-2:]
    if rows != columns:
        others = normal((*q.shape[:-2], rows, rows - columns), q)
        return qr(concat([q, others], axis=-1)).Q
    off = adjoint(q) @ q - eye(columns, dtype=q.dtype, device=q.device)
    bound = 10.0 * rows * finfo(q.dtype).eps
    orthogonal_already = off.size == 0 or float(abs(off).max()) <= bound
    return tensor(q) if orthogonal_already else qr(q).Q


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix, or a stack of matrices, orthogonal, or unitary if complex.

    The columns of an (m, n) matrix are orthonormal if m >= n, the rows otherwise. It starts as the
    present matrix, or as the orthogonal factor of its QR factorization; and so does what is
    assigned to it.

    Parameters
    ----------
    module, name
        The module, and which of its parameters.
    orthogonal_map
        "matrix_exp": the exponential of a skew matrix. "cayley": (I - A/2)^-1 (I + A/2) of one.
        "householder": a product of reflections, for real matrices, cheap for thin ones. If not
        given, "matrix_exp" for square and complex matrices, "householder" for others.
    use_trivialization
        Multiply the map by a fixed matrix, `parametrizations.<name>.0.base`, so that learning
        starts where the map is simplest. Without it, the two maps of skew matrices have no inverse:
        they start at the map of the present matrix, and cannot be assigned to.

    Raises
    ------
    InvalidArgumentError
        There is no such parameter or map.
    ShapeError
        It has fewer than two axes.
    DtypeError
        Reflections of complex matrices.

    Source: Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds" (2019).

    >>> import polygrad as pg
    >>> q = orthogonal(pg.nn.Linear(3, 5)).weight
    >>> bool(pg.max(abs(q.T @ q - pg.eye(3))) < 1e-5)
    True
    """
    weight = tensor_of(module, name, "orthogonal")
    if weight.ndim < 2:
        raise ShapeError(
            f"a tensor of shape {weight.shape} is no matrix", f"orthogonal, {name!r}",
            "pass one of two axes or more",
        )  # fmt: skip
    if orthogonal_map is None:
        square = weight.shape[-1] == weight.shape[-2]
        orthogonal_map = "matrix_exp" if square or weight.kernels.is_complex else "householder"
    if orthogonal_map not in _MAPS:
        raise InvalidArgumentError(
            f"orthogonal_map is {orthogonal_map!r}", "orthogonal",
            "pass one of " + ", ".join(_MAPS),
        )  # fmt: skip
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
