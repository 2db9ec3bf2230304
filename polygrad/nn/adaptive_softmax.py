"""A softmax over very many classes, the rare ones in clusters of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from polygrad import dtypes
from polygrad.errors import DtypeError, InvalidArgumentError, OutOfRangeError, ShapeError
from polygrad.nn import functional
from polygrad.nn.container import ModuleList, Sequential
from polygrad.nn.linear import Linear
from polygrad.nn.module import Module
from polygrad.ops.indexing import index_add, index_tensor, take, take_along_axis
from polygrad.ops.manipulation import reshape
from polygrad.ops.rearrangement import concat
from polygrad.ops.searching import argmax
from polygrad.ops.statistical import mean
from polygrad.tensor import Tensor, on_host

__all__ = ["AdaptiveLogSoftmaxWithLoss", "LogProbabilities"]

_NAME = "AdaptiveLogSoftmaxWithLoss"


class LogProbabilities(NamedTuple):
    """The log-probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-probabilities of classes of which few are frequent, at less cost than a softmax.

    A head gives the probabilities of the frequent classes, and of each cluster of rare ones; the
    tail of a cluster, of smaller width, those of its classes. Classes are sorted, frequent first.

    Parameters
    ----------
    in_features, n_classes
        The length of the input's last axis, and how many classes there are.
    cutoffs
        The first class of each cluster, ascending.
    div_value
        Cluster i, counted from 1, is of width in_features / div_value**i, rounded down.
    head_bias
        Whether the head learns a bias.
    device, dtype
        Of the parameters.

    Raises
    ------
    InvalidArgumentError
        The cutoffs are not ascending integers from 1 to n_classes - 1; div_value is not positive.

    Source: Grave, Joulin, Cissé, Grangier, Jégou, "Efficient softmax approximation for GPUs"
    (2017).

    >>> import polygrad as pg
    >>> layer = pg.nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10])
    >>> output, loss = layer(pg.ones((3, 8)), pg.tensor([0, 5, 19]))
    >>> output.shape, loss.shape, layer.log_prob(pg.ones((3, 8))).shape
    ((3,), (), (3, 20))
    """

    examples: ClassVar = [
        ((4, 7, [2, 5]), {"div_value": 2.0}, ((6, 4), ("index", (6,), 7))),
        ((4, 5, [3]), {"head_bias": True}, ((4,), ("index", (), 5))),
    ]  # fmt: skip

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        ends = [*cutoffs, n_classes]
        integers = all(isinstance(c, Real) and float(c).is_integer() for c in ends)
        if len(ends) < 2 or not integers or any(b <= a for a, b in pairwise([0, *ends])):
            raise InvalidArgumentError(
                f"cutoffs of {list(cutoffs)} for {n_classes} classes", f"{_NAME}, argument cutoffs",
                "pass ascending integers from 1 to n_classes - 1",
            )  # fmt: skip
        given: Any = div_value
        if not isinstance(given, Real) or not 0 < float(given) < math.inf:
            raise InvalidArgumentError(
                f"div_value is {div_value!r}", f"{_NAME}, argument div_value",
                "pass a positive number",
            )  # fmt: skip
        self.in_features, self.n_classes = in_features, n_classes
        self.cutoffs = [int(c) for c in ends]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(ends) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for i, (start, end) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(
                Linear(in_features, width, bias=False, **place),
                Linear(width, end - start, bias=False, **place),
            ))  # fmt: skip

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        for layer in self.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input: Tensor, target: Tensor) -> LogProbabilities:
        """The log-probabilities of targets (batch,) of inputs (batch, in_features), and the loss.

        The batch may be left out of both. Only the clusters of which there are targets are
        computed.

        Raises
        ------
        ShapeError, DtypeError, OutOfRangeError
            The shapes do not fit; the targets are no integers; one is no class.
        """
        classes: Any = target
        if not isinstance(classes, Tensor) or classes.kernels.kind != dtypes.INTEGER:
            given = classes.dtype if isinstance(classes, Tensor) else type(classes).__name__
            raise DtypeError(
                f"targets are integers, not {given}", f"{_NAME}, argument target",
                "pass a Tensor of classes: target.to(pg.int64)",
            )  # fmt: skip
        if target.ndim > 1 or input.ndim != target.ndim + 1 or input.shape[:-1] != target.shape:
            raise ShapeError(
                f"an input of shape {input.shape} and targets of shape {target.shape}", _NAME,
                "pass (batch, in_features) and (batch,), or both without the batch",
            )  # fmt: skip
        if not target.ndim:
            output, loss = self.forward(reshape(input, (1, -1)), reshape(target, (1,)))
            return LogProbabilities(reshape(output, ()), loss)
        host = on_host(target)
        wrong = host[(host < 0) | (host >= self.n_classes)]
        if wrong.size:
            raise OutOfRangeError(
                f"the target {int(wrong[0])} is no class", f"{_NAME}, argument target",
                f"classes go from 0 to {self.n_classes - 1}",
            )  # fmt: skip
        cluster = np.searchsorted(self.cutoffs, host, side="right")
        chosen = np.where(cluster > 0, self.shortlist_size + cluster - 1, host)
        output = self._picked(functional.log_softmax(self.head(input), axis=1), chosen)
        for i in np.unique(cluster[cluster > 0]):
            rows = np.flatnonzero(cluster == i)
            places = index_tensor(rows, input)
            logs = functional.log_softmax(self.tail[i - 1](take(input, places, axis=0)), axis=1)
            inner = self._picked(logs, host[rows] - self.cutoffs[i - 1])
            output = index_add(output, places, inner, axis=0)
        return LogProbabilities(output, -mean(output))

    @staticmethod
    def _picked(logs: Tensor, chosen: np.ndarray[Any, Any]) -> Tensor:
        """One column for each row."""
        picked = take_along_axis(logs, index_tensor(chosen[:, None], logs), axis=1)
        return reshape(picked, (-1,))

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities (batch, n_classes) of all classes."""
        head = functional.log_softmax(self.head(input), axis=1)
        n = self.shortlist_size
        parts = [head[:, :n]]
        for i, tail in enumerate(self.tail):
            parts.append(functional.log_softmax(tail(input), axis=1) + head[:, n + i : n + i + 1])
        return concat(parts, axis=1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row, integers (batch,)."""
        return argmax(self.log_prob(input), axis=1)

    def extra_repr(self) -> str:
        """The sizes."""
        return f"{self.in_features}, {self.n_classes}, cutoffs={self.cutoffs[:-1]}"
