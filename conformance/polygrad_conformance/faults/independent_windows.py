"""Independent faults of convolutions, pooling and resampling."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_linalg import in_tf32
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    function,
    kernel,
)

__all__ = ["FAULTS"]
_F = pg.nn.functional
_INF = float("inf")
_NAN = float("nan")
_PICTURE = np.arange(36.0).reshape(1, 1, 6, 6) % 7
_WEIGHT = np.arange(1.0, 5.0).reshape(1, 1, 2, 2)
_ROW = np.arange(1.0, 6.0).reshape(1, 1, 5)


def _first_of(keyword: str) -> Any:
    """The geometry of the first axis for all."""

    def wrong(right: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs[keyword] = kwargs[keyword][:1] * len(kwargs[keyword])
        return right(*args, **kwargs)

    return wrong


def _other_side(right: Any, *args: Any, **kwargs: Any) -> Any:
    kwargs["padding"] = tuple(
        (hi, lo) if 0 <= lo == hi - 1 else (lo, hi) for lo, hi in kwargs["padding"]
    )
    return right(*args, **kwargs)


def _groups_interleaved(right: Any, *args: Any, **kwargs: Any) -> Any:
    out, g = np.asarray(right(*args, **kwargs)), kwargs["groups"]
    if g == 1:
        return out
    n, c, *rest = out.shape
    return np.swapaxes(out.reshape(n, g, c // g, *rest), 1, 2).reshape(out.shape)


def _conv_tf32(right: Any, x: Any, w: Any, *args: Any, **kwargs: Any) -> Any:
    return right(in_tf32(x), in_tf32(w), *args, **kwargs)


def _unwritten_border(right: Any, x: Any, w: Any, *args: Any, **kwargs: Any) -> Any:
    out = right(x, w, *args, **kwargs)
    more = kwargs.get("output_padding", 0)
    more = more if isinstance(more, int) else more[0]
    return pg.concat((out[..., :-more], pg.zeros_like(out[..., -more:])), -1) if more else out


def _zero_padded(right: Any, x: Any, k: Any, stride: Any = None, padding: Any = 0, **o: Any) -> Any:
    if not isinstance(padding, int) or padding == 0 or o.get("return_indices"):
        return right(x, k, stride, padding, **o)
    axes = 2
    return right(_F.pad(x, (padding,) * 2 * axes), k, stride, 0, **o)


def _overhang_counts(
    right: Any, x: Any, k: int, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    **options: Any,
) -> Any:  # fmt: skip
    out = right(x, k, stride, padding, ceil_mode, **options)
    if not ceil_mode or padding != 0:
        return out
    more = (out.shape[-1] - 1) * (stride or k) + k - x.shape[-1]
    return right(_F.pad(x, (0, max(more, 0))), k, stride)


def _equal_windows(right: Any, x: Any, output_size: Any) -> Any:
    n, m = x.shape[-1], output_size if isinstance(output_size, int) else output_size[0]
    if m is None or n < m:
        return right(x, output_size)
    return _F.avg_pool1d(x, n - (m - 1) * (n // m), n // m)


def _depth_to_space(right: Any, x: Any, r: int) -> Any:
    *lead, c, _, _ = x.shape
    order = np.arange(c).reshape(r * r, c // (r * r)).T.reshape(-1)
    return right(pg.take(x, pg.tensor(order, device=x.device), axis=len(lead)), r)


def _places_first(right: Any, x: Any, kernel_size: Any, *args: Any, **kwargs: Any) -> Any:
    out, c = right(x, kernel_size, *args, **kwargs), x.shape[-3]
    k = out.shape[-2] // c
    order = np.arange(c * k).reshape(c, k).T.reshape(-1)
    return pg.take(out, pg.tensor(order, device=x.device), axis=-2)


def _first_axis_first(right: Any, x: Any, pad: Any, *args: Any, **kwargs: Any) -> Any:
    pairs = [tuple(pad[i : i + 2]) for i in range(0, len(pad), 2)]
    return right(x, tuple(n for pair in reversed(pairs) for n in pair), *args, **kwargs)


def _conv(at: Place, **options: Any) -> Any:
    return at.run("nn.functional.conv2d", at(_PICTURE), at(_WEIGHT), **options)


def _f(
    chapter: str, op: str, name: str, precedent: str, wrong: Any, shown: Any
) -> IndependentFault:
    return function(chapter, f"nn.functional.{op}", name, precedent, wrong, shown)


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "convolution-dilation-of-the-first-axis": kernel(
        "convolution", "convolution", "the dilation of the first axis is used for all",
        "https://github.com/intel/webml-polyfill/issues/568", _first_of("dilation"),
        lambda at: _conv(at, dilation=(1, 2)),
    ),
    "convolution-stride-of-the-first-axis": kernel(
        "convolution", "convolution", "the stride of the first axis is used for all",
        "https://github.com/pytorch/pytorch/issues/83180", _first_of("stride"),
        lambda at: _conv(at, stride=(1, 2)),
    ),
    "convolution-same-on-the-other-side": kernel(
        "convolution", "convolution", "an even kernel with padding='same' is padded before",
        "MATLAB and TensorFlow disagree", _other_side, lambda at: _conv(at, padding="same"),
    ),
    "convolution-groups-interleaved": kernel(
        "convolution", "convolution", "the channels of groups come out interleaved",
        "https://github.com/pytorch/pytorch/issues/188335", _groups_interleaved,
        lambda at: at.run("nn.functional.conv1d", at(np.ones((1, 2, 3))),
                          at(np.arange(4.0).reshape(4, 1, 1)), groups=2),
    ),
    "convolution-in-tf32": kernel(
        "convolution", "convolution", "float32 is convolved in TF32", "cuDNN's default in PyTorch",
        _conv_tf32, lambda at: at.run("nn.functional.conv1d", at([[[1024.5, 1.0]]]), at([[[1.0]]])),
    ),
    "transposed-convolution-output-padding": _f(
        "convolution", "conv_transpose1d", "what output_padding adds is 0, though bias reaches it",
        "buffers filled with zeros", _unwritten_border, lambda at: at.run(
            "nn.functional.conv_transpose1d", at([[[1.0, 2.0]]]), at([[[1.0, 1.0]]]), at([5.0]),
            stride=2, output_padding=1),
    ),
    "unfold-places-first": _f(
        "folding", "unfold", "rows are ordered by place and then by channel", "im2col of NHWC",
        _places_first, lambda at: at.run("nn.functional.unfold",
                                         at(np.arange(8.0).reshape(1, 2, 2, 2)), 2),
    ),
    "max-pool-pads-with-zeros": _f(
        "pooling", "max_pool2d", "padding counts as zeros, which beat negative numbers",
        "TensorFlow's explicit padding", _zero_padded,
        lambda at: at.run("nn.functional.max_pool2d", at(-1 - _PICTURE), 2, padding=1),
    ),
    "max-pool-drops-nan": kernel(
        "pooling", "max_pool", "max pooling skips NaN", "fmax of GPUs",
        lambda right, x, geometry: right(np.where(np.isnan(x), x.dtype.type(-_INF), x),
                                         geometry=geometry),
        lambda at: at.run("nn.functional.max_pool1d", at([[[1.0, _NAN]]]), 2),
    ),
    "avg-pool-counts-padding": _f(
        "pooling", "avg_pool2d", "count_include_pad=False is ignored",
        "https://github.com/apache/tvm/issues/1144",
        lambda right, *a, count_include_pad=True, **k: right(*a, **k),
        lambda at: at.run("nn.functional.avg_pool2d", at(_PICTURE), 2, padding=1,
                          count_include_pad=False),
    ),
    "avg-pool-counts-overhang": _f(
        "pooling", "avg_pool1d", "what ceil_mode adds past the end counts in the divisor",
        "https://github.com/apple/coremltools/pull/2844", _overhang_counts,
        lambda at: at.run("nn.functional.avg_pool1d", at(_ROW), 2, ceil_mode=True),
    ),
    "adaptive-pool-of-equal-windows": _f(
        "pooling", "adaptive_avg_pool1d", "all windows but the last have one length",
        "ONNX exporters", _equal_windows,
        lambda at: at.run("nn.functional.adaptive_avg_pool1d", at(_ROW), 3),
    ),
    "interpolate-ignores-align-corners": _f(
        "resampling", "interpolate", "align_corners is ignored for bicubic", "two code paths",
        lambda right, *a, mode="nearest", align_corners=None, **k: right(
            *a, mode=mode, align_corners=None if mode == "bicubic" else align_corners, **k),
        lambda at: at.run("nn.functional.interpolate", at(_PICTURE), 9, mode="bicubic",
                          align_corners=True),
    ),
    "interpolate-nearest-is-exact": _f(
        "resampling", "interpolate", "nearest rounds, as nearest-exact does",
        "https://github.com/pytorch/pytorch/issues/34808",
        lambda right, *a, mode="nearest", **k: right(
            *a, mode="nearest-exact" if mode == "nearest" else mode, **k),
        lambda at: at.run("nn.functional.interpolate", at(_ROW), 3),
    ),
    "grid-sample-border": _f(
        "grid sampling", "grid_sample", "padding_mode='border' is taken as 'zeros'",
        "backends with one mode", lambda right, x, grid, mode="bilinear", padding_mode="zeros", **k:
        right(x, grid, mode, "zeros" if padding_mode == "border" else padding_mode, **k),
        lambda at: at.run("nn.functional.grid_sample", at(_PICTURE), at([[[[3.0, 0.0]]]]),
                          padding_mode="border", align_corners=False),
    ),
    "pixel-shuffle-of-tensorflow": _f(
        "shuffling", "pixel_shuffle", "channels are taken in the order of depth_to_space",
        "TensorFlow's depth_to_space", _depth_to_space, lambda at: at.run(
            "nn.functional.pixel_shuffle", at(np.arange(8.0).reshape(1, 8, 1, 1)), 2),
    ),
    "channel-shuffle-inverse": _f(
        "shuffling", "channel_shuffle", "the shuffle is the inverse one", "transposed reshapes",
        lambda right, x, groups: right(x, x.shape[1] // groups), lambda at: at.run(
            "nn.functional.channel_shuffle", at(np.arange(6.0).reshape(1, 6, 1, 1)), 2),
    ),
    "pad-first-axis-first": _f(
        "bordering", "pad", "the first pair belongs to the first padded axis, not to the last",
        "numpy.pad's order", _first_axis_first,
        lambda at: at.run("nn.functional.pad", at([[1.0, 2.0], [3.0, 4.0]]), (1, 0, 0, 0)),
    ),
}
# fmt: on
