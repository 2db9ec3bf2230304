"""Layers and losses that PyTorch's databases leave out, and more of their arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

__all__ = ["layers", "losses"]

Row = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]


def _real(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).requires_grad_()


def _index(high: int, *shape: int) -> torch.Tensor:
    return torch.randint(0, high, shape)


def _combinations(**choices: tuple[Any, ...]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def layers() -> Iterator[Row]:
    """Layers with what they are called with, in double precision."""
    for part in (
        _reshaping, _dropout, _resampling, _unpooling, _embedding, _convolution, _pooling,
        _normalisation, _softmax, _containers,
    ):  # fmt: skip
        torch.manual_seed(0)
        yield from ((module.double(), args, kwargs) for module, args, kwargs in part())


def _reshaping() -> Iterator[Row]:
    yield nn.Identity(3, a=4), (_real(2, 3),), {}
    for start, end in itertools.product((0, 1, -2), (-1, 2)):
        yield nn.Flatten(start, end), (_real(2, 3, 4, 2),), {}
    for dim, shape in ((1, (2, 3)), (-1, (2, -1)), (0, torch.Size([4]))):
        yield nn.Unflatten(dim, shape), (_real(4, 6, 6),), {}
    yield nn.ChannelShuffle(3), (_real(2, 6, 4, 4),), {}
    yield nn.ChannelShuffle(2), (_real(6, 4, 5),), {}
    for shape in ((8, 2, 3), (2, 8, 2, 3), (1, 2, 8, 2, 3)):
        yield nn.PixelShuffle(2), (_real(*shape),), {}
        yield nn.PixelUnshuffle(2), (_real(*shape[:-2], 4, 6),), {}
    for given in _combinations(dilation=(1, (1, 2)), padding=(0, (1, 2)), stride=(1, (2, 1))):
        unfold = nn.Unfold((2, 3), **given)
        x = _real(2, 3, 6, 7)
        yield unfold, (x,), {}
        yield nn.Fold((6, 7), (2, 3), **given), (_real(*unfold(x).shape),), {}
    for given in _combinations(dim=(0, 1, -1), eps=(1e-8, 1.0)):
        yield nn.CosineSimilarity(**given), (_real(4, 3, 2), _real(4, 3, 2)), {}
    for given in _combinations(p=(1.0, 2.0, 3.0, float("inf")), eps=(1e-6, 0.5),
                               keepdim=(False, True)):  # fmt: skip
        yield nn.PairwiseDistance(**given), (_real(4, 3), _real(4, 3)), {}
    for given in _combinations(bias=(True, False)):
        yield nn.Bilinear(3, 4, 2, **given), (_real(2, 5, 3), _real(2, 5, 4)), {}


def _dropout() -> Iterator[Row]:
    for name, shape in (
        ("Dropout", (3, 4)), ("Dropout1d", (2, 3, 4)), ("Dropout2d", (2, 3, 4, 4)),
        ("Dropout3d", (2, 3, 2, 2, 2)), ("AlphaDropout", (3, 4)),
        ("FeatureAlphaDropout", (2, 3, 4)),
    ):  # fmt: skip
        for p in (0.0, 1.0):
            yield getattr(nn, name)(p), (_real(*shape),), {}
        yield getattr(nn, name)(0.5).eval(), (_real(*shape),), {}


def _resampling() -> Iterator[Row]:
    shapes = {"linear": (2, 3, 5), "bilinear": (2, 3, 4, 5), "trilinear": (1, 2, 3, 4, 3),
              "bicubic": (2, 3, 4, 5), "nearest": (2, 3, 5), "nearest-exact": (2, 3, 4, 5),
              "area": (2, 3, 4, 5)}  # fmt: skip
    for mode, shape in shapes.items():
        aligned = (None, False, True) if "linear" in mode or mode == "bicubic" else (None,)
        for given in _combinations(align_corners=aligned, recompute_scale_factor=(None, True)):
            for factor in (2, 0.6, 1.7):
                yield nn.Upsample(scale_factor=factor, mode=mode, **given), (_real(*shape),), {}
            if given["recompute_scale_factor"] is None:
                yield nn.Upsample(size=7, mode=mode, **given), (_real(*shape),), {}
    yield nn.UpsamplingBilinear2d(scale_factor=2), (_real(1, 2, 3, 4),), {}
    yield nn.UpsamplingBilinear2d((5, 3)), (_real(1, 2, 3, 4),), {}
    yield nn.UpsamplingNearest2d(scale_factor=3), (_real(1, 2, 3, 4),), {}
    yield nn.UpsamplingNearest2d(5), (_real(1, 2, 3, 4),), {}


def _unpooling() -> Iterator[Row]:
    for axes, shape in ((1, (2, 3, 8)), (2, (2, 3, 6, 8)), (3, (1, 2, 4, 4, 6))):
        for given in ((2,), (2, 2, 0)):
            pooled, places = getattr(nn, f"MaxPool{axes}d")(*given, return_indices=True)(
                _real(*shape)
            )
            pooled = pooled.detach().requires_grad_()
            unpool = getattr(nn, f"MaxUnpool{axes}d")
            yield unpool(*given), (pooled, places), {}
            yield unpool(*given), (pooled, places), {"output_size": shape}


def _embedding() -> Iterator[Row]:
    for given in _combinations(padding_idx=(None, 1, -1), max_norm=(None, 1.0),
                               norm_type=(2.0, 1.0), scale_grad_by_freq=(False, True)):  # fmt: skip
        yield nn.Embedding(5, 3, **given), (_index(5, 2, 4),), {}
    for given in _combinations(
        mode=("mean", "sum", "max"), max_norm=(None, 1.0), padding_idx=(None, 1, -2),
        scale_grad_by_freq=(False, True),
    ):  # fmt: skip
        if given["mode"] == "max" and given["scale_grad_by_freq"]:
            continue
        yield nn.EmbeddingBag(5, 3, **given), (_index(5, 2, 4),), {}
        yield nn.EmbeddingBag(5, 3, **given), (_index(5, 7), torch.tensor([0, 2, 2, 6])), {}
        last = nn.EmbeddingBag(5, 3, include_last_offset=True, **given)
        yield last, (_index(5, 7), torch.tensor([0, 3, 7])), {}
        if given["mode"] == "sum":
            weights = {"per_sample_weights": _real(7)}
            yield nn.EmbeddingBag(5, 3, **given), (_index(5, 7), torch.tensor([0, 3])), weights


def _convolution() -> Iterator[Row]:
    modes = ("zeros", "reflect", "replicate", "circular")
    for given in _combinations(padding_mode=modes, stride=(1, 2), dilation=(1, 2),
                               groups=(1, 2), bias=(True, False)):  # fmt: skip
        yield nn.Conv1d(4, 6, 3, padding=2, **given), (_real(2, 4, 9),), {}
        yield nn.Conv2d(4, 2, (3, 2), padding=(2, 1), **given), (_real(1, 4, 6, 7),), {}
    for given in _combinations(padding=("valid", "same"), padding_mode=modes, dilation=(1, 2)):
        yield nn.Conv2d(2, 3, (3, 2), **given), (_real(2, 2, 6, 7),), {}
        yield nn.Conv3d(1, 2, 2, **given), (_real(1, 1, 4, 3, 5),), {}
    for given in _combinations(stride=(1, 2, 3), padding=(0, 1), output_padding=(0, 1),
                               groups=(1, 2), dilation=(1, 2)):  # fmt: skip
        if given["output_padding"] >= max(given["stride"], given["dilation"]):
            continue
        yield nn.ConvTranspose1d(4, 2, 3, **given), (_real(2, 4, 5),), {}
        yield nn.ConvTranspose2d(4, 2, (3, 2), **given), (_real(1, 4, 3, 4),), {}
    yield nn.ConvTranspose2d(2, 3, 3, 2, 1), (_real(1, 2, 4, 4),), {"output_size": (8, 7)}
    yield nn.ConvTranspose3d(2, 1, 2, 2), (_real(1, 2, 2, 3, 2),), {"output_size": (4, 6, 5)}


def _pooling() -> Iterator[Row]:
    for axes, shape in ((1, (2, 9)), (2, (2, 8, 9)), (3, (1, 5, 6, 7))):
        x = _real(*shape)
        for given in _combinations(stride=(None, 1, 2), padding=(0, 1), ceil_mode=(False, True)):
            for dilation, indices in itertools.product((1, 2), (False, True)):
                yield (
                    getattr(nn, f"MaxPool{axes}d")(
                        3, dilation=dilation, return_indices=indices, **given
                    ), (x,), {},
                )  # fmt: skip
            for include in (True, False):
                average = getattr(nn, f"AvgPool{axes}d")
                yield average(3, count_include_pad=include, **given), (x,), {}
                if axes > 1:
                    given_divisor = {**given, "divisor_override": 5}
                    yield average(3, count_include_pad=include, **given_divisor), (x,), {}
        for p, ceil in itertools.product((1, 2, 3.0), (False, True)):
            layer = getattr(nn, f"LPPool{axes}d")(p, 2, ceil_mode=ceil)
            yield layer, (x.detach().abs().requires_grad_(),), {}
        for size in (1, 3, 5):
            yield getattr(nn, f"AdaptiveAvgPool{axes}d")(size), (x,), {}
            for indices in (False, True):
                yield getattr(nn, f"AdaptiveMaxPool{axes}d")(size, indices), (x,), {}


def _normalisation() -> Iterator[Row]:
    for given in _combinations(affine=(True, False), track_running_stats=(True, False),
                               momentum=(0.1, None, 0.0), bias=(True, False)):  # fmt: skip
        yield nn.BatchNorm1d(3, **given), (_real(4, 3),), {}
        yield nn.BatchNorm2d(3, **given), (_real(2, 3, 2, 4),), {}
        if given["momentum"] is not None:
            yield nn.InstanceNorm1d(3, **given), (_real(2, 3, 4),), {}
            yield nn.InstanceNorm2d(3, **given), (_real(3, 2, 4),), {}
    for given in _combinations(eps=(1e-5, 0.1), affine=(True, False), bias=(True, False)):
        for groups in (1, 2, 4):
            yield nn.GroupNorm(groups, 4, **given), (_real(2, 4, 3),), {}
    for given in _combinations(eps=(1e-5, 0.1), elementwise_affine=(True, False),
                               bias=(True, False)):  # fmt: skip
        yield nn.LayerNorm((3, 4), **given), (_real(2, 3, 4),), {}
    for given in _combinations(eps=(None, 0.1), elementwise_affine=(True, False)):
        yield nn.RMSNorm((3, 4), **given), (_real(2, 3, 4),), {}
    for size in (1, 2, 3, 5):
        yield nn.LocalResponseNorm(size, 0.5, 0.6, 2.0), (_real(2, 4, 3),), {}


def _softmax() -> Iterator[Row]:
    for given in _combinations(div_value=(4.0, 2.0, 1.5), head_bias=(False, True)):
        for cutoffs in ([3], [2, 5], [1, 2, 10]):
            layer = nn.AdaptiveLogSoftmaxWithLoss(16, 12, cutoffs, **given)
            yield layer, (_real(6, 16), _index(12, 6)), {}
            yield layer, (_real(16), _index(12)), {}


def _containers() -> Iterator[Row]:
    yield nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), (_real(5, 3),), {}
    decoder = nn.TransformerDecoderLayer(8, 2, 16, 0.0)
    for norm in (None, nn.LayerNorm(8)):
        args = (_real(3, 2, 8), _real(4, 2, 8))
        yield nn.TransformerDecoder(decoder, 2, norm), args, {}


def losses() -> Iterator[Row]:
    """Losses with what they are called with, in double precision."""
    torch.manual_seed(0)
    reductions = ("mean", "sum", "none")
    for given in _combinations(reduction=reductions, label_smoothing=(0.0, 0.2),
                               ignore_index=(-100, 1)):  # fmt: skip
        for weight in (None, torch.rand(4, dtype=torch.float64)):
            loss = nn.CrossEntropyLoss(weight=weight, **given)
            yield loss, (_real(5, 4), torch.tensor([0, 1, 2, 3, 1])), {}
            yield loss, (_real(2, 4, 3), _index(4, 2, 3)), {}
    for given in _combinations(reduction=reductions, p=(1, 2), margin=(1.0, 0.3)):
        yield nn.MultiMarginLoss(**given), (_real(5, 4), _index(4, 5)), {}
    for given in _combinations(reduction=reductions, margin=(0.0, 0.5)):
        sign = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
        yield nn.CosineEmbeddingLoss(**given), (_real(4, 3), _real(4, 3), sign), {}
        yield nn.HingeEmbeddingLoss(**given), (_real(4), sign), {}
        yield nn.MarginRankingLoss(**given), (_real(4), _real(4), sign), {}
    triplet = (_real(4, 3), _real(4, 3), _real(4, 3))
    for given in _combinations(reduction=reductions, swap=(False, True), margin=(1.0, 0.3)):
        for p in (1.0, 2.0, 3.0):
            yield nn.TripletMarginLoss(p=p, **given), triplet, {}
        yield nn.TripletMarginWithDistanceLoss(**given), triplet, {}
        distance = torch.nn.functional.pairwise_distance
        yield nn.TripletMarginWithDistanceLoss(distance_function=distance, **given), triplet, {}
    for given in _combinations(reduction=reductions, log_input=(True, False), full=(True, False)):
        x, t = _real(4).detach().abs().requires_grad_(), torch.rand(4, dtype=torch.float64) * 4
        yield nn.PoissonNLLLoss(**given), (x, t), {}
    for given in _combinations(reduction=reductions, beta=(0.0, 0.5, 1.0)):
        yield nn.SmoothL1Loss(**given), (_real(5, 3), _real(5, 3)), {}
    for given in _combinations(reduction=reductions, delta=(0.5, 1.0)):
        yield nn.HuberLoss(**given), (_real(5, 3), _real(5, 3)), {}
    for given in _combinations(reduction=reductions, full=(True, False)):
        args = (_real(5, 3), _real(5, 3), torch.rand(5, 3, dtype=torch.float64).requires_grad_())
        yield nn.GaussianNLLLoss(**given), args, {}
    for given in _combinations(reduction=reductions, zero_infinity=(False, True), blank=(0, 3)):
        targets = torch.tensor([[1, 2], [2, 2]])
        args = (_real(5, 2, 4), targets, torch.tensor([5, 4]), torch.tensor([2, 2]))
        yield nn.CTCLoss(**given), args, {}
