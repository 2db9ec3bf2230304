"""Attention of several heads."""

from __future__ import annotations

from typing import Any, ClassVar

from polygrad.calls import describe
from polygrad.dtypes import BOOL
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.nn import functional, init
from polygrad.nn.linear import Linear
from polygrad.nn.module import Module
from polygrad.nn.parameter import Parameter
from polygrad.ops.attention import attend, split_mask
from polygrad.ops.comparison import logical_not
from polygrad.ops.dropout import dropout_primitive
from polygrad.ops.filling import empty
from polygrad.ops.manipulation import broadcast_to, expand_dims, permute_dims, reshape, squeeze
from polygrad.ops.padding import pad
from polygrad.ops.rearrangement import concat, unstack
from polygrad.ops.statistical import mean
from polygrad.tensor import Tensor, new_tensor

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention between linear images of queries, keys and values, in several heads side by side.

    Parameters
    ----------
    embed_dim
        The features of queries and of the result.
    num_heads
        How many heads these are divided among.
    dropout
        In training, the probability with which a weight becomes zero.
    bias
        Whether the linear maps have biases.
    add_bias_kv
        Whether one more key and value is learned that all queries see.
    add_zero_attn
        Whether all queries see one more key and value of zeros.
    kdim, vdim
        The features of keys and of values; embed_dim if not given.
    batch_first
        Whether tensors are (batch, time, features) instead of (time, batch, features).
    device, dtype
        Of the parameters.

    Attributes
    ----------
    in_proj_weight
        The maps of queries, keys and values below each other, (3 embed_dim, embed_dim); or, if kdim
        or vdim is another, q_proj_weight, k_proj_weight and v_proj_weight.
    in_proj_bias
        (3 embed_dim,).
    bias_k, bias_v
        (1, 1, embed_dim), or None.
    out_proj
        The Linear behind the heads.

    Raises
    ------
    InvalidArgumentError
        embed_dim is no multiple of num_heads; dropout is no probability.

    Source: Vaswani et al., "Attention is all you need" (2017).

    >>> import polygrad as pg
    >>> x = pg.ones((5, 2, 4))
    >>> output, weights = pg.nn.MultiheadAttention(4, num_heads=2)(x, x, x)
    >>> output.shape, weights.shape
    ((5, 2, 4), (2, 5, 5))
    """

    examples: ClassVar = [
        ((4, 2), {}, ((3, 2, 4), (2, 2, 4), (2, 2, 4))),
        ((4, 2), {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True},
         ((2, 3, 4), (2, 2, 4), (2, 2, 4))),
        ((4, 1), {"kdim": 3, "vdim": 2, "bias": False}, ((3, 4), (2, 3), (2, 2))),
    ]  # fmt: skip

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim < 1 or num_heads < 1 or embed_dim % num_heads:
            raise InvalidArgumentError(
                f"embed_dim is {embed_dim}, num_heads {num_heads}", "MultiheadAttention",
                "embed_dim must be a multiple of num_heads, both positive",
            )  # fmt: skip
        if not 0 <= dropout <= 1:
            raise InvalidArgumentError(
                f"dropout is {dropout}", "MultiheadAttention, argument dropout",
                "a probability lies in [0, 1]",
            )  # fmt: skip
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim, self.batch_first = embed_dim // num_heads, batch_first
        self.add_zero_attn = add_zero_attn
        place = {"device": device, "dtype": dtype}
        same = self.kdim == self.vdim == embed_dim
        for name, shape in {
            "q_proj_weight": None if same else (embed_dim, embed_dim),
            "k_proj_weight": None if same else (embed_dim, self.kdim),
            "v_proj_weight": None if same else (embed_dim, self.vdim),
            "in_proj_weight": (3 * embed_dim, embed_dim) if same else None,
            "in_proj_bias": (3 * embed_dim,) if bias else None,
            "bias_k": (1, 1, embed_dim) if add_bias_kv else None,
            "bias_v": (1, 1, embed_dim) if add_bias_kv else None,
        }.items():
            value = None if shape is None else Parameter(empty(shape, **place))
            self.register_parameter(name, value)
        self.out_proj = Linear(embed_dim, embed_dim, bias=bias, **place)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier's distributions; biases of linear maps are zeros."""
        for weight in (
            self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
        ):  # fmt: skip
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    # ---- shapes ---------------------------------------------------------------------------------
    def _check(self, tensors: list[Tensor]) -> None:
        """Refuse queries, keys and values that do not fit."""
        query, key, value = tensors
        batch = 0 if self.batch_first else 1
        fits = query.ndim in (2, 3) and key.ndim == value.ndim == query.ndim
        if fits and query.ndim == 3:
            fits = query.shape[batch] == key.shape[batch]
        if not fits or key.shape[:-1] != value.shape[:-1]:
            axes = "(batch, time, features)" if self.batch_first else "(time, batch, features)"
            raise ShapeError(
                f"shapes {query.shape}, {key.shape} and {value.shape} of query, key and value",
                f"MultiheadAttention{describe(tensors)}",
                f"they are {axes} of one batch, or (time, features); keys are as many as values",
            )  # fmt: skip
        widths = (self.embed_dim, self.kdim, self.vdim)
        if tuple(t.shape[-1] for t in tensors) != widths:
            raise ShapeError(
                f"shapes {query.shape}, {key.shape} and {value.shape} of query, key and value",
                f"MultiheadAttention{describe(tensors)}",
                f"their last axes must have {widths} elements",
            )  # fmt: skip

    def _split(self, x: Tensor, parts: int) -> list[Tensor]:
        """(batch, heads, time, features) of each part of the last axis."""
        x = reshape(x, (*x.shape[:2], parts, self.num_heads, self.head_dim))
        x = permute_dims(x, (2, 0, 3, 1, 4) if self.batch_first else (2, 1, 3, 0, 4))
        return list(unstack(x)) if parts > 1 else [x[0]]

    def _project(self, tensors: list[Tensor]) -> list[Tensor]:
        """Queries, keys and values in heads; of one tensor in one product."""
        query, key, value = tensors
        n, bias = self.embed_dim, self.in_proj_bias
        if self.in_proj_weight is not None and query is key is value:
            return self._split(functional.linear(query, self.in_proj_weight, bias), 3)
        if self.in_proj_weight is not None:
            weights: list[Any] = [self.in_proj_weight[k * n : (k + 1) * n] for k in range(3)]
        else:
            weights = [self.q_proj_weight, self.k_proj_weight, self.v_proj_weight]
        found = []
        for k, (x, weight) in enumerate(zip(tensors, weights, strict=True)):
            part = None if bias is None else bias[k * n : (k + 1) * n]
            found += self._split(functional.linear(x, weight, part), 1)
        return found

    def _extended(self, x: Tensor, extra: Parameter | None) -> Tensor:
        """Keys or values, and those that all queries see."""
        more = (*x.shape[:2], 1, self.head_dim)
        parts = [x]
        if extra is not None:
            parts.append(broadcast_to(reshape(extra, (1, self.num_heads, 1, self.head_dim)), more))
        if self.add_zero_attn:
            parts.append(new_tensor(x.kernels.zeros(more), x.kernels))
        return concat(parts, axis=2) if len(parts) > 1 else x

    # ---- masks ----------------------------------------------------------------------------------
    def _mask(self, given: Any, name: str, shapes: dict[Any, Any], extra: int) -> Any:
        """A mask as (bias, hidden), of one of the shapes, brought to that which it maps to."""
        where = f"MultiheadAttention, argument {name}"
        bias, hidden = split_mask(given, where)
        mask = bias if hidden is None else hidden
        if mask is None:
            return None, None
        if mask.shape not in shapes:
            raise ShapeError(
                f"a mask of shape {mask.shape}", where,
                "for these tensors it is " + " or ".join(str(s) for s in shapes),
            )  # fmt: skip
        mask = reshape(mask, shapes[mask.shape])
        if extra:
            mask = pad(mask, ((0, 0),) * (mask.ndim - 1) + ((0, extra),))
        return (None, mask) if mask.kernels.kind == BOOL else (mask, None)

    def _masks(self, padding: Any, attn: Any, sizes: tuple[int, ...], batched: bool) -> Any:
        """What is added to the scores, and which keys are seen; None for nothing and for all."""
        batch, queries, keys = sizes
        extra = (self.bias_k is not None) + self.add_zero_attn
        every = (batch * self.num_heads, queries, keys)
        goals = {(queries, keys): (queries, keys), every: (batch, self.num_heads, queries, keys)}
        shape = (batch, keys) if batched else (keys,)
        found = [
            self._mask(attn, "attn_mask", goals, extra),
            self._mask(padding, "key_padding_mask", {shape: (batch, 1, 1, keys)}, extra),
        ]
        biases = [bias for bias, _ in found if bias is not None]
        hidden = [mask for _, mask in found if mask is not None]
        bias = None if not biases else biases[0] if len(biases) == 1 else biases[0] + biases[1]
        mask = None if not hidden else hidden[0] if len(hidden) == 1 else hidden[0] | hidden[1]
        return bias, None if mask is None else logical_not(mask)

    # ---- forward --------------------------------------------------------------------------------
    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Any = None,
        need_weights: bool = True,
        attn_mask: Any = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend.

        Parameters
        ----------
        query, key, value
            (time, batch, features), or as `batch_first` says, or all of them (time, features).
        key_padding_mask
            (batch, keys): boolean, True where a key is padding and is not seen; or real numbers,
            added to the scores.
        need_weights
            Whether to return the weights too.
        attn_mask
            (queries, keys) or (batch heads, queries, keys): boolean, True where a query must not
            see a key; or real numbers, added to the scores.
        average_attn_weights
            Whether those weights are the mean over the heads.
        is_causal
            Says that attn_mask, which must be given, hides what comes later. Nothing follows from
            it here.

        Returns
        -------
        tuple of Tensor
            The result, of the shape of `query`; weights, (batch, queries, keys), with a second axis
            of heads if they are not averaged, or None. A query that sees no key gets weights of 0.

        Raises
        ------
        ShapeError, DtypeError, InvalidArgumentError
            Shapes do not fit; a mask is neither boolean nor real; is_causal without attn_mask.
        """
        if is_causal and attn_mask is None:
            raise InvalidArgumentError(
                "there is no attn_mask", "MultiheadAttention, argument is_causal",
                "pass the mask that it speaks of: nn.Transformer.generate_square_subsequent_mask",
            )  # fmt: skip
        tensors = [query, key, value]
        self._check(tensors)
        batched = query.ndim == 3
        if not batched:
            one = {id(t): expand_dims(t, axis=0 if self.batch_first else 1) for t in tensors}
            tensors = [one[id(t)] for t in tensors]
        q, k, v = self._project(tensors)
        bias, mask = self._masks(
            key_padding_mask, attn_mask, (q.shape[0], q.shape[2], k.shape[2]), batched
        )
        k, v = self._extended(k, self.bias_k), self._extended(v, self.bias_v)
        dropout = self.dropout if self.training else 0.0
        out, weights, kept = attend(q, k, v, bias=bias, mask=mask, dropout_p=dropout)
        out = permute_dims(out, (0, 2, 1, 3) if self.batch_first else (2, 0, 1, 3))
        out = self.out_proj(reshape(out, (*out.shape[:2], self.embed_dim)))
        if not batched:
            out = squeeze(out, axis=0 if self.batch_first else 1)
        if not need_weights:
            return out, None
        if kept is not None:
            scale = 1 / (1 - dropout) if dropout < 1 else 0.0
            weights = dropout_primitive.call(weights, kept, scale=scale)
        if average_attn_weights:
            weights = mean(weights, axis=1)
        return out, weights if batched else squeeze(weights, axis=0)

    def extra_repr(self) -> str:
        """The sizes, and what is not the default."""
        text = f"{self.embed_dim}, {self.num_heads}"
        for name, default in (
            ("dropout", 0.0), ("kdim", self.embed_dim), ("vdim", self.embed_dim),
            ("add_zero_attn", False), ("batch_first", False),
        ):  # fmt: skip
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text
