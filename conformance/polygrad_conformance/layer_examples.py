"""Examples of layers beside those that each layer declares: every option and every mask.

`audit` holds that no option of a layer, and no keyword of its call, is left at its default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn

__all__ = ["MORE", "Example", "examples_of"]


@dataclass(frozen=True)
class Example:
    """A layer and a call of it; NumPy arrays anywhere become tensors.

    Attributes
    ----------
    args, kwargs
        Of the constructor.
    inputs
        Shapes, and what `Module.examples` may have in their place; or arrays.
    call
        Keywords of the call.
    """

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    inputs: tuple[Any, ...] = ()
    call: dict[str, Any] = field(default_factory=dict)


def examples_of(name: str) -> dict[str, Example]:
    """The examples of a layer by name: `0` and on are its own, `more-0` and on the suite's."""
    own = getattr(nn, name).examples
    found = {str(i): Example(*example) for i, example in enumerate(own)}
    return {**found, **{f"more-{i}": e for i, e in enumerate(MORE.get(name, ()))}}


def _with(shape: Any, *args: Any, **kwargs: Any) -> list[Example]:
    return [Example(args, kwargs, (shape,))]


_ROWS, _LINE, _IMAGE, _VOLUME = (3, 4), (2, 3, 10), (2, 3, 6, 7), (1, 2, 4, 4, 5)
_SOME = np.array([0.5, 1.0, 2.0], np.float32)
_LABELS = ("index", (4,), 3)


def _weighted(reduction: str = "sum", **more: Any) -> list[Example]:
    options = {"weight": _SOME, "reduction": reduction, **more}
    return [Example((), options, ((4, 3), _LABELS))]


# ---- attention: what is True in a mask of layers is not seen -------------------------------------
_HIDDEN = np.array([[False, False, True], [True, False, False]])
_PAIRS = np.array([[False, True, True], [False, False, True], [True, False, False]])
_ADDED = np.array([[0, -1, 0.5], [1, 0, -0.5], [0, 2, -2]], np.float32)
_LATER = np.triu(np.ones((3, 3), bool), 1)
_BATCHES = ((2, 3, 4),) * 3

_ATTENTION = [
    Example((4, 2), {"batch_first": True}, _BATCHES, call)
    for call in (
        {"key_padding_mask": _HIDDEN},
        {"attn_mask": _PAIRS, "average_attn_weights": False},
        {"attn_mask": _ADDED, "key_padding_mask": _HIDDEN, "need_weights": False},
        {"attn_mask": _LATER, "is_causal": True, "need_weights": False},
    )
]
_ATTENTION.append(Example((4, 2), {"dropout": 0.5, "batch_first": True}, _BATCHES))

_ENCODER = [
    Example((4, 2, 3), {"dropout": 0.5, "batch_first": True}, ((2, 3, 4),), call)
    for call in (
        {"src_mask": _PAIRS},
        {"src_key_padding_mask": _HIDDEN},
        {"src_mask": _LATER, "is_causal": True},
    )
]
_MEMORY = np.array([[True, False], [False, False], [False, True]])
_DECODER = [
    Example((4, 2, 3), {"dropout": 0.0, "batch_first": True}, ((2, 3, 4), (2, 2, 4)), call)
    for call in (
        {"tgt_mask": _PAIRS, "memory_mask": _MEMORY},
        {"tgt_key_padding_mask": _HIDDEN, "memory_key_padding_mask": _MEMORY[:2]},
        {"tgt_mask": _LATER, "tgt_is_causal": True},
        {"memory_mask": np.triu(np.ones((3, 2), bool), 1), "memory_is_causal": True},
    )
]
_TRANSFORMER = [
    Example((4, 2, 1, 1, 3), {"dropout": 0.0, "batch_first": True, "layer_norm_eps": 1e-2},
            ((2, 2, 4), (2, 3, 4)), call)
    for call in (
        {"src_mask": _PAIRS[:2, :2], "tgt_mask": _LATER, "memory_mask": _MEMORY},
        {"src_key_padding_mask": _MEMORY[:2], "tgt_key_padding_mask": _HIDDEN,
         "memory_key_padding_mask": _MEMORY[1:]},
        {"src_mask": _LATER[:2, :2], "src_is_causal": True, "tgt_mask": _LATER,
         "tgt_is_causal": True},
        {"memory_mask": np.triu(np.ones((3, 2), bool), 1), "memory_is_causal": True},
    )
]  # fmt: skip


# ---- recurrent layers ---------------------------------------------------------------------------
def _state(*shape: int, shift: float = 0.0) -> Any:
    return np.sin(np.arange(np.prod(shape)) + shift).reshape(shape).astype(np.float32)


_DROPPING = [Example((3, 2, 2), {"dropout": 0.5}, ((4, 2, 3),))]
_STATES = (_state(1, 2, 2), _state(1, 2, 2, shift=1.0))

# ---- embeddings, pooling ------------------------------------------------------------------------
_TOKENS, _STARTS = np.array([0, 3, 3, 1, 0, 2]), np.array([0, 2, 2, 5])
_PLACES = np.array([[[0.3, 0.6], [0.7, 0.2]]] * 2, np.float32)
_DEEP = np.array([[[0.3, 0.6, 0.1], [0.7, 0.2, 0.9]]], np.float32)

MORE: dict[str, list[Example]] = {
    **{f"AdaptiveMaxPool{d}d": _with(shape, 3, return_indices=True)
       for d, shape in ((1, _LINE), (2, _IMAGE), (3, _VOLUME))},
    "AvgPool1d": _with(_LINE, 3, 2, 1, ceil_mode=True, count_include_pad=False),
    "AvgPool3d": [
        *_with(_VOLUME, 3, 2, 1, ceil_mode=True, count_include_pad=False),
        *_with(_VOLUME, 2, divisor_override=3),
    ],
    "LPPool2d": _with(_IMAGE, 3, 2, ceil_mode=True),
    "LPPool3d": _with(_VOLUME, 2, 3, 2, ceil_mode=True),
    "MaxPool1d": _with(_LINE, 3, 2, ceil_mode=True, return_indices=True),
    "MaxPool2d": _with(_IMAGE, 2, 1, dilation=2, return_indices=True),
    "MaxPool3d": [
        *_with(_VOLUME, 3, 2, 1, ceil_mode=True, return_indices=True),
        *_with(_VOLUME, 2, 1, dilation=(2, 1, 2)),
    ],
    "FractionalMaxPool2d": [
        *_with((2, 2, 6, 7), 2, output_ratio=0.6, return_indices=True, _random_samples=_PLACES),
    ],
    "FractionalMaxPool3d": [
        *_with(_VOLUME, 2, output_ratio=0.6, return_indices=True, _random_samples=_DEEP),
    ],
    "MaxUnpool1d": [
        Example((3, 2, 1), {}, ((1, 2, 2), ("index", (1, 2, 2), 3)), {"output_size": (4,)}),
    ],
    "MaxUnpool2d": [
        Example((2,), {}, ((1, 2, 1, 1), ("index", (1, 2, 1, 1), 4)), {"output_size": (3, 2)}),
    ],
    "MaxUnpool3d": [
        Example((3, 2, 1), {}, ((1, 2, 2, 1, 1), ("index", (1, 2, 2, 1, 1), 3)),
                {"output_size": (4, 1, 1)}),
    ],
    "Conv2d": _with(_IMAGE, 3, 2, 2, bias=False),
    "Conv3d": [
        *_with(_VOLUME, 2, 4, (1, 2, 2), (2, 1, 1), groups=2, bias=False),
        *_with(_VOLUME, 2, 2, 2, dilation=(1, 2, 1), padding=1, padding_mode="circular"),
    ],
    "ConvTranspose1d": [
        *_with(_LINE, 3, 2, 3, 2, dilation=2, bias=False),
        Example((3, 2, 3, 2), {"output_padding": 1}, (_LINE,)),
        Example((3, 2, 3, 2), {}, (_LINE,), {"output_size": (22,)}),
    ],
    "ConvTranspose2d": [
        Example((4, 2, 2, 2), {"groups": 2}, ((1, 4, 2, 3),), {"output_size": (5, 6)}),
    ],
    "ConvTranspose3d": [
        *_with((1, 4, 2, 2, 3), 4, 2, 2, 2, 1, 1, groups=2, dilation=2),
        Example((2, 2, 2, 2), {"bias": False}, ((1, 2, 2, 2, 1),), {"output_size": (4, 5, 2)}),
    ],
    "Fold": _with((2, 8, 9), (5, 4), 2, dilation=(2, 1), padding=(1, 0), stride=(2, 1)),
    "Unfold": _with((2, 2, 5, 4), 2, dilation=2),
    "BatchNorm1d": _with((4, 3), 3, eps=0.5, track_running_stats=False),
    "BatchNorm2d": [
        *_with((2, 3, 4, 5), 3, eps=0.5, momentum=0.4, affine=False),
        *_with((2, 3, 4, 5), 3, bias=False),
    ],
    "BatchNorm3d": [
        *_with((2, 2, 2, 3, 2), 2, momentum=None, affine=False),
        *_with((2, 2, 2, 3, 2), 2, bias=False, track_running_stats=False),
    ],
    "InstanceNorm1d": [
        *_with((2, 3, 5), 3, eps=0.5, momentum=0.4, track_running_stats=True),
        *_with((2, 3, 5), 3, affine=True, bias=False),
    ],
    "InstanceNorm2d": [
        *_with((2, 3, 4, 5), 3, eps=0.5, momentum=0.4, track_running_stats=True),
        *_with((2, 3, 4, 5), 3, affine=True, bias=False),
    ],
    "InstanceNorm3d": [
        *_with((2, 2, 2, 3, 2), 2, eps=0.5, momentum=0.4, track_running_stats=True),
        *_with((2, 2, 2, 3, 2), 2, affine=True, bias=False),
    ],
    "GroupNorm": _with((3, 4, 5), 2, 4, eps=0.5),
    **{name: _with((2, 3, 4, *more), 0.5) for name, more in (
        ("Dropout", ()), ("Dropout1d", ()), ("Dropout2d", (2,)), ("Dropout3d", (2, 2)),
        ("AlphaDropout", ()), ("FeatureAlphaDropout", ()))},
    "Hardshrink": _with(_ROWS, 1.0), "Softshrink": _with(_ROWS, 1.0),
    "Softmin": _with(_ROWS, 0), "Softplus": _with(_ROWS, 2.0, threshold=1.0),
    "PReLU": [*_with((2, 3, 3), 3, init=1.5), *_with(_ROWS, init=-0.5)],
    "CosineSimilarity": [Example((), {"eps": 4.0}, (_ROWS, _ROWS))],
    "PairwiseDistance": [Example((), {"eps": 0.5}, (_ROWS, _ROWS))],
    "BCELoss": [Example((), {"weight": _SOME, "reduction": "sum"},
                        (("unit", (4, 3)), ("unit", (4, 3))))],
    "BCEWithLogitsLoss": [
        Example((), {"weight": _SOME, "pos_weight": 2 * _SOME, "reduction": "none"},
                ((4, 3), ("unit", (4, 3)))),
    ],
    "CrossEntropyLoss": [*_weighted("mean"), *_weighted(ignore_index=1)],
    "NLLLoss": [*_weighted("mean"), *_weighted("none", ignore_index=1)],
    "LinearCrossEntropyLoss": [
        Example((2, 3), {"weight": _SOME, "reduction": "sum", "ignore_index": 1},
                ((4, 2), _LABELS)),
    ],
    "MultiMarginLoss": _weighted("mean"),
    "MultiLabelSoftMarginLoss": [
        Example((), {"weight": _SOME}, ((4, 3), ("index", (4, 3), 2))),
    ],
    "GaussianNLLLoss": [
        Example((), {"eps": 0.5, "reduction": "none"}, ((2, 3), (2, 3), ("unit", (2, 3)))),
    ],
    "PoissonNLLLoss": [
        Example((), {"log_input": False, "eps": 0.25, "reduction": "sum"},
                (("unit", (2, 3)), ("unit", (2, 3)))),
    ],
    "HuberLoss": [Example((), {"reduction": "sum", "delta": 0.3}, (_ROWS, _ROWS))],
    "SmoothL1Loss": [Example((), {"reduction": "none", "beta": 0.3}, (_ROWS, _ROWS))],
    "TripletMarginWithDistanceLoss": [
        Example((), {"distance_function": lambda a, b: pg.sum((a - b) ** 2, axis=-1)},
                (_ROWS, _ROWS, _ROWS)),
    ],
    "Embedding": [
        Example((4, 3), {"max_norm": 1.0, "norm_type": 1.0}, (("index", (2, 3), 4),)),
    ],
    "EmbeddingBag": [
        Example((4, 3), {"mode": "sum"}, (_TOKENS,),
                {"offsets": _STARTS, "per_sample_weights": _state(6)}),
        Example((4, 3), {"mode": "max", "include_last_offset": True}, (_TOKENS,),
                {"offsets": np.array([0, 2, 2, 6])}),
        Example((4, 3), {"max_norm": 1.0, "norm_type": 1.0}, (_TOKENS,), {"offsets": _STARTS}),
    ],
    "RNN": _DROPPING, "GRU": _DROPPING,
    "LSTM": [*_DROPPING, Example((3, 2), {}, ((4, 2, 3),), {"hx": _STATES})],
    "LSTMCell": [
        Example((3, 2), {}, ((2, 3),), {"hx": (_state(2, 2), _state(2, 2, shift=1.0))}),
    ],
    "MultiheadAttention": _ATTENTION,
    "TransformerEncoderLayer": _ENCODER, "TransformerDecoderLayer": _DECODER,
    "Transformer": _TRANSFORMER,
}  # fmt: skip
