"""The transformer: encoders and decoders made of layers, and both together."""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar

from polygrad.errors import ShapeError
from polygrad.nn import init
from polygrad.nn.container import ModuleList
from polygrad.nn.module import Module
from polygrad.nn.normalization import LayerNorm
from polygrad.nn.transformer_layers import (
    Activation,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)
from polygrad.ops.filling import full, triu
from polygrad.tensor import Tensor

__all__ = ["Transformer", "TransformerDecoder", "TransformerEncoder"]

def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList(copy.deepcopy(layer) for _ in range(count))


class TransformerEncoder(Module):
    """Copies of a layer, one after the other.

    Parameters
    ----------
    encoder_layer
        A TransformerEncoderLayer; the copies begin with its parameters.
    num_layers
        How many.
    norm
        A module for the result, or None.
    enable_nested_tensor, mask_check
        Accepted for programs that pass them to PyTorch: there are no nested tensors here.

    >>> import polygrad as pg
    >>> layer = pg.nn.TransformerEncoderLayer(4, 2)
    >>> pg.nn.TransformerEncoder(layer, 3)(pg.ones((5, 2, 4))).shape
    (5, 2, 4)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        del enable_nested_tensor, mask_check
        self.layers, self.num_layers = _copies(encoder_layer, num_layers), num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Any = None,
        src_key_padding_mask: Any = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Run all layers; the masks are those of `MultiheadAttention`."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Copies of a layer, one after the other, each of which looks at the same memory.

    Parameters
    ----------
    decoder_layer
        A TransformerDecoderLayer; the copies begin with its parameters.
    num_layers, norm
        As of `TransformerEncoder`.

    >>> import polygrad as pg
    >>> layer = pg.nn.TransformerDecoderLayer(4, 2)
    >>> pg.nn.TransformerDecoder(layer, 3)(pg.ones((5, 2, 4)), pg.ones((3, 2, 4))).shape
    (5, 2, 4)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers = _copies(decoder_layer, num_layers), num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Run all layers; the masks are those of `MultiheadAttention`."""
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
                bool(tgt_is_causal), memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder, and a decoder that looks at what it made.

    Parameters
    ----------
    d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first
        As of `TransformerEncoderLayer`.
    num_encoder_layers, num_decoder_layers
        How many layers each has.
    custom_encoder, custom_decoder
        Modules to take in their place.
    bias, device, dtype
        As of `TransformerEncoderLayer`.

    Raises
    ------
    InvalidArgumentError
        As of `TransformerEncoderLayer`.

    >>> import polygrad as pg
    >>> model = pg.nn.Transformer(4, 2, 1, 1, dim_feedforward=8)
    >>> model(pg.ones((5, 2, 4)), pg.ones((3, 2, 4))).shape
    (3, 2, 4)
    """

    examples: ClassVar = [
        ((4, 2, 2, 2, 3), {"dropout": 0.0}, ((3, 2, 4), (2, 2, 4))),
        ((4, 2, 1, 1, 3),
         {"dropout": 0.0, "activation": "gelu", "norm_first": True, "batch_first": True,
          "bias": False}, ((1, 3, 4), (1, 2, 4))),
    ]  # fmt: skip

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        place = {"device": device, "dtype": dtype}
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, **place)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*options, **place), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*options, **place), num_decoder_layers, norm()
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Xavier's uniform distribution for all matrices."""
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encode `src`, decode `tgt`; the masks are those of `MultiheadAttention`.

        Raises
        ------
        ShapeError
            The shapes do not fit.
        """
        batch = 0 if self.batch_first else 1
        fits = src.ndim == tgt.ndim and src.ndim in (2, 3)
        if fits and src.ndim == 3:
            fits = src.shape[batch] == tgt.shape[batch]
        if not fits or not src.shape[-1] == tgt.shape[-1] == self.d_model:
            axes = "batch, time" if self.batch_first else "time, batch"
            raise ShapeError(
                f"src of shape {src.shape}, tgt of shape {tgt.shape}", "Transformer",
                f"they are ({axes}, {self.d_model}) of one batch, or (time, {self.d_model})",
            )  # fmt: skip
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        found: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip
        return found

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """-inf above the diagonal of a matrix of `sz` rows, 0 elsewhere: nobody sees what is later.

        >>> import polygrad as pg
        >>> pg.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[  0., -inf],
                [  0.,   0.]], dtype=float32)
        """
        return triu(full((sz, sz), -math.inf, device=device, dtype=dtype), k=1)
