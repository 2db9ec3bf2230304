"""Embeddings: rows of a table by integer."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from polygrad.config import no_grad
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.nn import functional, init
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops.filling import empty
from polygrad.tensor import Tensor

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """A learned table, one row of which may be that of the padding."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None, max_norm: Any,
        norm_type: float, scale_grad_by_freq: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise InvalidArgumentError(
                    f"padding_idx is {padding_idx}", f"{type(self).__name__}, argument padding_idx",
                    f"it must be one of the {num_embeddings} rows",
                )  # fmt: skip
            padding_idx %= num_embeddings
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx, self.max_norm, self.norm_type = padding_idx, max_norm, norm_type
        self.scale_grad_by_freq = scale_grad_by_freq

    def _draw(self, device: Any, dtype: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Normal numbers; zeros in the row of the padding."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0

    @classmethod
    def _around(cls, embeddings: Tensor, freeze: bool, *options: Any) -> Self:
        """A layer with a table that is there, made without drawing one."""
        if embeddings.ndim != 2:
            raise ShapeError(
                f"a table has rows and columns, not shape {embeddings.shape}",
                f"{cls.__name__}.from_pretrained, argument embeddings",
                "pass a tensor with two axes",
            )  # fmt: skip
        made = cls.__new__(cls)
        rows, width = embeddings.shape
        _Table.__init__(made, rows, width, *options)
        made.weight = Parameter(embeddings.detach(), requires_grad=not freeze)
        return made

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name in ("padding_idx", "max_norm"):
            if getattr(self, name) is not None:
                text += f", {name}={getattr(self, name)}"
        return text


class Embedding(_Table):
    """Looks up rows of a learned table.

    Parameters
    ----------
    num_embeddings, embedding_dim
        Rows and their length.
    padding_idx
        A row that begins as zeros and gets no gradient; from the end if negative.
    max_norm, norm_type
        Rows that are looked up are first scaled down to this norm, in the table itself.
    scale_grad_by_freq
        Divide the gradient of a row by how often it occurs in the input.
    device, dtype
        Of the table.

    Raises
    ------
    InvalidArgumentError
        padding_idx is no row.

    >>> import polygrad as pg
    >>> pg.nn.Embedding(10, 3)(pg.tensor([[1, 2], [3, 4]])).shape
    (2, 2, 3)
    """

    # Inputs of dtype "index" are drawn below the first argument.
    examples: ClassVar = [
        ((5, 3), {}, (("index", (2, 4)),)), ((5, 3), {"padding_idx": 1}, (("index", (6,)),)),
        ((5, 3), {"max_norm": 1.0, "scale_grad_by_freq": True}, (("index", (6,)),)),
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq
        )
        self._draw(device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
    ) -> Self:
        """A layer around a table that is there; it is learned only if not `freeze`."""
        return cls._around(
            embeddings, freeze, padding_idx, max_norm, norm_type, scale_grad_by_freq
        )

    def forward(self, input: Tensor) -> Tensor:
        """Integers of any shape to rows, along a new last axis."""
        return functional.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq,
        )  # fmt: skip


class EmbeddingBag(_Table):
    """Sums, means or maxima of rows of a learned table, bag by bag.

    Parameters
    ----------
    num_embeddings, embedding_dim
        Rows and their length.
    max_norm, norm_type
        Rows that are looked up are first scaled down to this norm, in the table itself.
    scale_grad_by_freq
        Divide the gradient of a row by how often it occurs in the input; not with "max".
    mode
        "mean", "sum" or "max".
    include_last_offset
        Whether the last of the offsets is the end of the last bag.
    padding_idx
        A row that begins as zeros and does not count; from the end if negative.
    device, dtype
        Of the table.

    Raises
    ------
    InvalidArgumentError
        padding_idx is no row.

    >>> import polygrad as pg
    >>> bags = pg.nn.EmbeddingBag(10, 3)
    >>> bags(pg.tensor([[1, 2], [3, 4]])).shape, bags(pg.tensor([1, 2, 4]), [0, 2]).shape
    ((2, 3), (2, 3))
    """

    examples: ClassVar = [
        ((5, 3), {}, (("index", (2, 4)),)), ((5, 3), {"mode": "max"}, (("index", (2, 4)),)),
        ((5, 3), {"mode": "sum", "padding_idx": 1}, (("index", (2, 4)),)),
        ((5, 3), {"max_norm": 1.0, "scale_grad_by_freq": True}, (("index", (2, 4)),)),
    ]  # fmt: skip

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq
        )
        self.mode, self.include_last_offset = mode, include_last_offset
        self._draw(device, dtype)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """A layer around a table that is there; it is learned only if not `freeze`."""
        made = cls._around(
            embeddings, freeze, padding_idx, max_norm, norm_type, scale_grad_by_freq
        )
        made.mode, made.include_last_offset = mode, include_last_offset
        return made

    def forward(
        self, input: Tensor, offsets: Any = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Integers (bags, length), or one axis and `offsets`, where each bag begins."""
        return functional.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """The sizes, the mode, and what is not the default."""
        return f"{super().extra_repr()}, mode={self.mode!r}"
