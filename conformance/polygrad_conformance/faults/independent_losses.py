"""Independent faults of losses and of layers."""

from __future__ import annotations

from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    function,
    kernel,
    method,
)

__all__ = ["FAULTS"]

_F, _nn = pg.nn.functional, pg.nn
_INF = float("inf")
_LOGITS = [[1.0, 2.0, 0.5], [0.1, 0.2, 3.0]]


def _loss(op: str, name: str, precedent: str, wrong: Any, shown: Any) -> IndependentFault:
    return function("losses", f"nn.functional.{op}", name, precedent, wrong, shown)


def _layer(
    layer: str, owner: Any, name: str, precedent: str, wrong: Any, shown: Any,
    attribute: str = "forward",
) -> IndependentFault:  # fmt: skip
    return method("layers", f"nn.{layer}", owner, attribute, name, precedent, wrong, shown)


def _of_count(right: Any, x: Any, target: Any, weight: Any = None, *a: Any, **k: Any) -> Any:
    if weight is None or k.get("reduction", "mean") != "mean" or a or target.dtype.kind == "f":
        return right(x, target, weight, *a, **k)
    return right(x, target, weight, **{**k, "reduction": "sum"}) / target.size


def _ignored_counted(right: Any, x: Any, target: Any, *a: Any, **k: Any) -> Any:
    if k.get("reduction", "mean") != "mean" or a or target.dtype.kind == "f":
        return right(x, target, *a, **k)
    if k.get("weight") is not None:
        return right(x, target, *a, **k)
    return right(x, target, **{**k, "reduction": "sum"}) / target.size


def _unsmoothed(right: Any, x: Any, target: Any, weight: Any = None, *a: Any, **k: Any) -> Any:
    if weight is not None:
        k.pop("label_smoothing", None)
    return right(x, target, weight, *a, **k)


def _spread_over_others(right: Any, x: Any, target: Any, *a: Any, **k: Any) -> Any:
    """Smoothing over K - 1 classes in the place of K."""
    s, n = k.get("label_smoothing", 0.0), x.shape[1 if x.ndim > 1 else 0]
    if s and n > 1:
        k["label_smoothing"] = min(s * n / (n - 1), 1.0)
    return right(x, target, *a, **k)


def _unclamped(right: Any, x: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Any:
    if weight is not None:
        return right(x, target, weight, reduction)
    loss = -(target * pg.log(x) + (1 - target) * pg.log(1 - x))
    return {"mean": pg.mean, "sum": pg.sum, "none": lambda t: t}[reduction](loss)


def _weight_of_all(right: Any, x: Any, target: Any, weight: Any = None, *a: Any, **k: Any) -> Any:
    more = k.pop("pos_weight", None)
    if more is not None:
        weight = more if weight is None else weight * more
        weight = pg.broadcast_to(weight, x.shape)
    return right(x, target, weight, *a, **k)


def _unstable(right: Any, x: Any, target: Any, weight: Any = None, *a: Any, **k: Any) -> Any:
    if weight is not None or a or k:
        return right(x, target, weight, *a, **k)
    return (1 - target) * x + np.log(1 + np.exp(-x))


def _biased(right: Any, self: Any, x: Any) -> Any:
    before = None if self.running_var is None else self.running_var.detach().numpy().copy()
    out = right(self, x)
    if before is None or not self.training or self.momentum is None:
        return out
    n = x.size // x.shape[1]
    with pg.no_grad():
        after = self.running_var.numpy()
        batch = (after - (1 - self.momentum) * before) / self.momentum * (n - 1) / n
        new = (1 - self.momentum) * before + self.momentum * batch
        self.running_var[...] = pg.tensor(new.astype(after.dtype), device=x.device)
    return out


def _eval_by_batch(right: Any, self: Any, x: Any) -> Any:
    if self.training or self.running_mean is None or x.size // x.shape[1] < 2:
        return right(self, x)
    return _F.batch_norm(x, None, None, self.weight, self.bias, True, 0.0, self.eps)


def _bias_once(right: Any, self: Any, x: Any) -> Any:
    """The bias is added to the first row of a batch of matrices only."""
    if self.bias is None or x.ndim < 3 or x.shape[0] < 2:
        return right(self, x)
    rest = pg.matmul(x[1:], self.weight.T)
    return pg.concat((right(self, x[:1]), rest))


def _not_flat(right: Any, self: Any, x: Any) -> Any:
    out = right(self, x)
    return pg.reshape(out, (-1,)) if x.ndim and x.shape[0] == 1 and out.ndim == 2 else out


def _mask_inverted(right: Any, self: Any, *a: Any, **k: Any) -> Any:
    mask = k.get("key_padding_mask")
    if mask is not None and mask.dtype == bool:
        k["key_padding_mask"] = pg.logical_not(mask)
    return right(self, *a, **k)


def _first_head(right: Any, self: Any, *a: Any, **k: Any) -> Any:
    if k.get("average_attn_weights", True) and self.num_heads > 1:
        out, weights = right(self, *a, **{**k, "average_attn_weights": False})
        return out, None if weights is None else weights[..., 0, :, :]
    return right(self, *a, **k)


def _padded_row_learns(right: Any, self: Any, x: Any) -> Any:
    del right
    return _F.embedding(x, self.weight, None, self.max_norm, self.norm_type)


def _swapped_ends(right: Any, self: Any, x: Any, *a: Any, **k: Any) -> Any:
    out, last = right(self, x, *a, **k)
    if not self.bidirectional or isinstance(last, tuple):
        return out, last
    return out, pg.flip(last, axis=0)


def _first_unpadded(right: Any, self: Any, x: Any) -> Any:
    """An asymmetric padding is applied the other way round."""
    before = self.padding
    if isinstance(before, int) or len(before) != 2 or before[0] == before[1]:
        return right(self, x)
    object.__setattr__(self, "padding", (before[1], before[0]))
    try:
        return right(self, x)
    finally:
        object.__setattr__(self, "padding", before)


def _seeded(make: Any, at: Place) -> Any:
    pg.random.manual_seed(3)
    return make().to(at.device)


def _statistics(at: Place) -> Any:
    layer = _nn.BatchNorm1d(1).to(at.device)
    layer(at([[1.0], [3.0]]))
    return layer.running_var


def _evaluated(at: Place) -> Any:
    return _nn.BatchNorm1d(1).to(at.device).eval()(at([[1.0], [3.0]]))


def _evaluated_dropout(at: Place) -> Any:
    pg.random.manual_seed(1)
    return _nn.Dropout(0.5).eval()(at(np.ones(8)))


def _padding_gradient(at: Place) -> Any:
    layer = _seeded(lambda: _nn.Embedding(3, 2, padding_idx=1), at)
    pg.sum(layer(at([0, 1], "int64"))).backward()
    return layer.weight.grad


def _attended(at: Place, **options: Any) -> Any:
    layer = _seeded(lambda: _nn.MultiheadAttention(4, 2, batch_first=True), at)
    x = at(np.linspace(-1, 1, 12).reshape(1, 3, 4))
    if "mask" in options:
        options = {"key_padding_mask": at(options["mask"], "bool")}
    return layer(x, x, x, **options)


_PROBABILITIES, _TARGETS = [1.0, 0.25], [1.0, 0.0]

# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "cross-entropy-weights-not-normalised": _loss(
        "cross_entropy", "the weighted mean is divided by the count, not by the weights' sum",
        "https://github.com/pytorch/pytorch/issues/25571", _of_count,
        lambda at: at.run("nn.functional.cross_entropy", at(_LOGITS), at([0, 2], "int64"),
                          at([1.0, 2.0, 3.0])),
    ),
    "cross-entropy-counts-the-ignored": _loss(
        "cross_entropy", "ignored targets count in the mean", "mean of a masked loss",
        _ignored_counted, lambda at: at.run(
            "nn.functional.cross_entropy", at(_LOGITS), at([0, -100], "int64")),
    ),
    "cross-entropy-smoothing-and-weight": _loss(
        "cross_entropy", "label_smoothing is ignored if there are weights",
        "two code paths", _unsmoothed, lambda at: at.run(
            "nn.functional.cross_entropy", at(_LOGITS), at([0, 2], "int64"), at([1.0, 2.0, 3.0]),
            label_smoothing=0.2),
    ),
    "cross-entropy-smoothing-of-the-others": _loss(
        "cross_entropy", "smoothing is spread over the other K - 1 classes",
        "https://github.com/fastai/fastai/pull/1814", _spread_over_others, lambda at: at.run(
            "nn.functional.cross_entropy", at(_LOGITS), at([0, 2], "int64"), label_smoothing=0.2),
    ),
    "nll-loss-counts-the-ignored": _loss(
        "nll_loss", "ignored targets count in the mean", "mean of a masked loss", _ignored_counted,
        lambda at: at.run("nn.functional.nll_loss", at(_LOGITS), at([0, -100], "int64")),
    ),
    "binary-cross-entropy-unclamped": _loss(
        "binary_cross_entropy", "logarithms are not clamped: a certain answer gives NaN",
        "0 * log(0)", _unclamped, lambda at: at.run(
            "nn.functional.binary_cross_entropy", at(_PROBABILITIES), at(_TARGETS)),
    ),
    "pos-weight-of-all": _loss(
        "binary_cross_entropy_with_logits", "pos_weight multiplies negatives too",
        "weight and pos_weight mixed up", _weight_of_all, lambda at: at.run(
            "nn.functional.binary_cross_entropy_with_logits", at([0.5, 1.0]), at(_TARGETS),
            pos_weight=at([3.0, 3.0])),
    ),
    "logits-loss-overflows": kernel(
        "losses", "binary_cross_entropy_with_logits", "log(1 + exp(-x)) overflows",
        "textbook formulas", _unstable, lambda at: at.run(
            "nn.functional.binary_cross_entropy_with_logits", at([-1000.0]), at([0.0])),
    ),
    "kl-div-batchmean": _loss(
        "kl_div", "batchmean divides by all elements", "the difference PyTorch warns of",
        lambda right, *a, reduction="mean", **k: right(
            *a, reduction="mean" if reduction == "batchmean" else reduction, **k),
        lambda at: at.run("nn.functional.kl_div", at(_LOGITS), at([[0.2, 0.3, 0.5]] * 2),
                          reduction="batchmean"),
    ),
    "huber-is-smooth-l1": _loss(
        "huber_loss", "huber_loss is divided by delta", "smooth_l1_loss with another name",
        lambda right, *a, delta=1.0, **k: right(*a, delta=delta, **k) / delta,
        lambda at: at.run("nn.functional.huber_loss", at([3.0]), at([0.0]), delta=2.0),
    ),
    "smooth-l1-of-beta-zero": _loss(
        "smooth_l1_loss", "beta=0 gives NaN where input and target are equal", "0 / 0",
        lambda right, x, y, *a, beta=1.0, **k: right(x, y, *a, beta=beta, **k) *
        ((x - y) / (x - y) if beta == 0 and k.get("reduction") == "none" else 1),
        lambda at: at.run("nn.functional.smooth_l1_loss", at([1.0, 2.0]), at([1.0, 1.0]), beta=0.0,
                          reduction="none"),
    ),
    "ctc-infinity-stays": _loss(
        "ctc_loss", "zero_infinity is ignored", "arguments dropped",
        lambda right, *a, zero_infinity=False, **k: right(*a, **k),
        lambda at: at.run("nn.functional.ctc_loss", at(np.full((1, 1, 2), -0.7)),
                          at([[1, 1]], "int64"), at([1], "int64"), at([2], "int64"),
                          zero_infinity=True),
    ),
    "triplet-without-swap": _loss(
        "triplet_margin_loss", "swap is ignored", "arguments dropped",
        lambda right, *a, swap=False, **k: right(*a, **k),
        lambda at: at.run("nn.functional.triplet_margin_loss", at([[0.0, 0.0]]), at([[3.0, 0.0]]),
                          at([[3.5, 0.0]]), swap=True),
    ),
    "multi-margin-p": _loss(
        "multi_margin_loss", "p=2 is taken as 1", "arguments dropped",
        lambda right, x, y, p=1, *a, **k: right(x, y, 1, *a, **k),
        lambda at: at.run("nn.functional.multi_margin_loss", at(_LOGITS), at([0, 1], "int64"), 2),
    ),
    "poisson-loss-full": _loss(
        "poisson_nll_loss", "Stirling's term is left out with full=True", "arguments dropped",
        lambda right, *a, full=False, **k: right(*a, **k),
        lambda at: at.run("nn.functional.poisson_nll_loss", at([1.0]), at([5.0]), full=True),
    ),
    "gaussian-loss-of-small-variances": _loss(
        "gaussian_nll_loss", "eps is added to the variance, not its lower bound", "var + eps",
        lambda right, x, y, var, *a, eps=1e-6, **k: right(x, y, var + eps, *a, eps=eps, **k),
        lambda at: at.run("nn.functional.gaussian_nll_loss", at([1.0]), at([0.0]), at([0.5]),
                          eps=0.1),
    ),
    "running-variance-is-biased": _layer(
        "BatchNorm1d", _nn.BatchNorm1d, "the running variance divides by n, not by n - 1",
        "https://github.com/ml-explore/mlx/pull/3817", _biased, _statistics,
    ),
    "batch-norm-evaluates-by-batch": _layer(
        "BatchNorm1d", _nn.BatchNorm1d, "eval() still normalises by the batch",
        "a training flag that is not passed on", _eval_by_batch, _evaluated,
    ),
    "dropout-while-evaluating": _layer(
        "Dropout", _nn.Dropout, "eval() still drops", "a training flag that is not passed on",
        lambda right, self, x: _F.dropout(x, self.p, True), _evaluated_dropout,
    ),
    "linear-bias-of-the-first-row": _layer(
        "Linear", _nn.Linear, "of a stack only the first matrix gets the bias",
        "the epilogue of a fused product", _bias_once, lambda at: _seeded(
            lambda: _nn.Linear(2, 2), at)(at(np.ones((2, 2, 2)))),
    ),
    "flatten-of-a-batch-of-one": _layer(
        "Flatten", _nn.Flatten, "a batch of one loses its batch axis", "squeeze()", _not_flat,
        lambda at: _nn.Flatten()(at(np.ones((1, 2, 2)))).shape,
    ),
    "padding-mask-inverted": _layer(
        "MultiheadAttention", _nn.MultiheadAttention, "True in key_padding_mask means seen",
        "the opposite convention of scaled_dot_product_attention", _mask_inverted,
        lambda at: _attended(at, mask=[[True, False, False]]),
    ),
    "attention-weights-of-one-head": _layer(
        "MultiheadAttention", _nn.MultiheadAttention, "averaged weights are those of head 0",
        "fused kernels", _first_head, _attended,
    ),
    "embedding-padding-learns": _layer(
        "Embedding", _nn.Embedding, "the row of padding_idx gets a gradient",
        "https://github.com/pytorch/pytorch/issues/26302",
        _padded_row_learns, _padding_gradient,
    ),
    "gru-directions-swapped": _layer(
        "GRU", _nn.GRU, "the final states of the two directions are swapped", "cuDNN's order",
        _swapped_ends, lambda at: _seeded(
            lambda: _nn.GRU(2, 2, bidirectional=True), at)(at(np.ones((3, 1, 2)))),
    ),
    "zero-pad-swapped": _layer(
        "ZeroPad1d", _nn.ZeroPad1d, "left and right are swapped", "order of a pair",
        _first_unpadded, lambda at: _nn.ZeroPad1d((2, 0))(at([[[1.0]]])),
    ),
}
# fmt: on
