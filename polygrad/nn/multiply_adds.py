"""How many multiplications with an addition a layer makes in one call: its matrix products.

Only what a layer computes itself counts, not the layers in it, and no elementwise work. `None`
means that nobody knows: the layer is no matrix product, or one that is not listed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from polygrad import tree
from polygrad.indexing import size_of
from polygrad.nn.attention import MultiheadAttention
from polygrad.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from polygrad.nn.embedding import Embedding
from polygrad.nn.linear import Bilinear, Linear
from polygrad.nn.module import Module
from polygrad.nn.recurrent import GRU, LSTM, RNN
from polygrad.nn.recurrent_cells import GRUCell, LSTMCell, RNNCell
from polygrad.tensor import Tensor

__all__ = ["multiply_adds"]

Call = tuple[tuple[Any, ...], dict[str, Any], Any]  # arguments, keywords, output


def _argument(module: Module, call: Call, name: str) -> Any:
    return inspect.signature(module.forward).bind(*call[0], **call[1]).arguments[name]


def _first(value: Any) -> Tensor:
    return next(leaf for leaf in tree.leaves(value) if isinstance(leaf, Tensor))


def _rows(t: Tensor) -> int:
    return size_of(t.shape[:-1])


def _linear(module: Any, call: Call) -> int:
    per_output: int = module.in_features
    return _first(call[2]).size * per_output


def _bilinear(module: Any, call: Call) -> int:
    """First x1 with the weight, then with x2."""
    per_output: int = (module.in1_features + 1) * module.in2_features
    return _first(call[2]).size * per_output


def _convolution(module: Any, call: Call) -> int:
    """Each output is a product with one row of the weight."""
    if module.transposed:  # each input, then
        one, channels = _first((*call[0], *call[1].values())), module.out_channels
    else:
        one, channels = _first(call[2]), module.in_channels
    each: int = channels // module.groups
    return one.size * each * size_of(module.kernel_size)


def _recurrent(module: Any, call: Call) -> int:
    """Each row of the input meets each matrix once."""
    weights: int = sum(p.size for p in module.parameters(recurse=False) if p.ndim == 2)
    return _rows(_first((*call[0], *call[1].values()))) * weights


def _attention(module: Any, call: Call) -> int:
    """The three projections, the scores, and the sums of values; the last projection is a layer."""
    query, key, value = (_argument(module, call, name) for name in ("query", "key", "value"))
    width = module.embed_dim
    projections = sum(t.size * width for t in (query, key, value))
    axis = 1 if module.batch_first and query.ndim == 3 else 0
    keys = key.shape[axis] + (module.bias_k is not None) + bool(module.add_zero_attn)
    return int(projections + 2 * _rows(query) * keys * width)


_COUNTS: dict[type[Module], Callable[[Any, Call], int]] = {
    Linear: _linear, Bilinear: _bilinear, MultiheadAttention: _attention, Embedding: lambda m, c: 0,
    **dict.fromkeys((Conv1d, Conv2d, Conv3d), _convolution),
    **dict.fromkeys((ConvTranspose1d, ConvTranspose2d, ConvTranspose3d), _convolution),
    **dict.fromkeys((RNN, LSTM, GRU, RNNCell, LSTMCell, GRUCell), _recurrent),
}  # fmt: skip


def multiply_adds(module: Module, call: Call) -> int | None:
    """The count of one call of a layer, or None; a forward of one's own is nobody's count."""
    for cls, count in _COUNTS.items():
        if isinstance(module, cls) and type(module).forward is cls.forward:
            return count(module, call)
    return None
