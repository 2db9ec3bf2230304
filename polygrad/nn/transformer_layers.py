"""Layers of transformers: attention, linear maps, and residual sums around them.

Source: Vaswani et al., "Attention is all you need" (2017); with the normalisation first: Xiong et
al., "On layer normalization in the transformer architecture" (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from polygrad.errors import InvalidArgumentError
from polygrad.nn import functional
from polygrad.nn.attention import MultiheadAttention
from polygrad.nn.dropout import Dropout
from polygrad.nn.linear import Linear
from polygrad.nn.module import Module
from polygrad.nn.normalization import LayerNorm
from polygrad.tensor import Tensor

__all__ = ["Activation", "TransformerDecoderLayer", "TransformerEncoderLayer"]

Activation = str | Callable[[Tensor], Tensor]


def _activation(given: Activation, where: str) -> Callable[[Tensor], Tensor]:
    """A function, or that of a name."""
    if callable(given):
        return given
    if given not in ("relu", "gelu"):
        raise InvalidArgumentError(
            f"the activation is {given!r}", f"{where}, argument activation",
            "pass 'relu', 'gelu' or a function",
        )  # fmt: skip
    found: Callable[[Tensor], Tensor] = getattr(functional, given)
    return found


class _Layer(Module):
    """What layers of encoders and decoders have in common: two linear maps, and residual sums."""

    self_attn: MultiheadAttention
    multihead_attn: MultiheadAttention

    def __init__(
        self, attentions: tuple[str, ...], d_model: int, nhead: int, dim_feedforward: int,
        dropout: float, activation: Activation, layer_norm_eps: float, batch_first: bool,
        norm_first: bool, bias: bool, device: Any, dtype: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        for name in attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **place
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **place)
        self.norm_first = norm_first
        parts = range(1, len(attentions) + 2)
        for k in parts:
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, **place))
        for k in parts:
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation, type(self).__name__)

    def _residual(self, k: int, x: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        """x plus what a part of the layer makes of it, normalised before or after."""
        norm, drop = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        if self.norm_first:
            return x + drop(part(norm(x)))  # type: ignore[no-any-return]
        return norm(x + drop(part(x)))  # type: ignore[no-any-return]

    def _feed_forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return found


_LAYER = """{summary}

Parameters
----------
d_model
    The features of input and output.
nhead
    How many heads each attention has.
dim_feedforward
    The features between the two linear maps.
dropout
    The probability of a zero, in training, behind each part and in the weights of attention.
activation
    Between the linear maps: "relu", "gelu" or a function.
layer_norm_eps
    The `eps` of each LayerNorm.
batch_first
    Whether tensors are (batch, time, features) instead of (time, batch, features).
norm_first
    Whether each part normalises its input, and not the sum of input and output.
bias
    Whether linear maps and LayerNorms have biases.
device, dtype
    Of the parameters.

Raises
------
InvalidArgumentError
    d_model is no multiple of nhead; dropout is no probability; the activation is none of these.

>>> import polygrad as pg
>>> {example}.shape
(5, 2, 4)
"""


class TransformerEncoderLayer(_Layer):  # noqa: D101  __doc__ is below
    __doc__ = _LAYER.format(
        summary="Self-attention and two linear maps, each with a residual sum and a LayerNorm.",
        example="pg.nn.TransformerEncoderLayer(4, 2)(pg.ones((5, 2, 4)))",
    )

    examples: ClassVar = [
        ((4, 2, 3), {"dropout": 0.0}, ((3, 2, 4),)),
        ((4, 1, 3),
         {"dropout": 0.0, "activation": "gelu", "norm_first": True, "bias": False,
          "batch_first": True, "layer_norm_eps": 1e-3}, ((2, 3, 4),)),
    ]  # fmt: skip

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            ("self_attn",), d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
            batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Run the layer; masks and `is_causal` are those of `MultiheadAttention`."""

        def attend(x: Tensor) -> Tensor:
            return _attended(self.self_attn, x, x, src_mask, src_key_padding_mask, is_causal)

        return self._residual(2, self._residual(1, src, attend), self._feed_forward)


class TransformerDecoderLayer(_Layer):  # noqa: D101  __doc__ is below
    __doc__ = _LAYER.format(
        summary="Self-attention, attention to what an encoder made, and two linear maps.",
        example="pg.nn.TransformerDecoderLayer(4, 2)(pg.ones((5, 2, 4)), pg.ones((3, 2, 4)))",
    )

    examples: ClassVar = [
        ((4, 2, 3), {"dropout": 0.0}, ((3, 2, 4), (2, 2, 4))),
        ((4, 1, 3),
         {"dropout": 0.0, "activation": "gelu", "norm_first": True, "bias": False,
          "batch_first": True, "layer_norm_eps": 1e-3}, ((2, 3, 4), (2, 2, 4))),
    ]  # fmt: skip

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            ("self_attn", "multihead_attn"), d_model, nhead, dim_feedforward, dropout, activation,
            layer_norm_eps, batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Run the layer; masks and hints are those of `MultiheadAttention`."""

        def attend(x: Tensor) -> Tensor:
            return _attended(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def look(x: Tensor) -> Tensor:
            return _attended(
                self.multihead_attn, x, memory, memory_mask, memory_key_padding_mask,
                memory_is_causal,
            )  # fmt: skip

        x = self._residual(2, self._residual(1, tgt, attend), look)
        return self._residual(3, x, self._feed_forward)


def _attended(
    attention: Any, x: Tensor, memory: Tensor, mask: Any, padding: Any, causal: bool
) -> Tensor:
    """What attention finds, without its weights."""
    found: Tensor = attention(
        x, memory, memory, attn_mask=mask, key_padding_mask=padding, need_weights=False,
        is_causal=causal,
    )[0]  # fmt: skip
    return found
