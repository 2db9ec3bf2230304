"""Where the two differ on purpose, or PyTorch is wrong: counted apart, with the reason."""

from __future__ import annotations

import math
import re

__all__ = ["DIFFERENCES", "ORDERS", "difference"]

_OF_AXES = (
    r"all|any|a(max|min)|(nan)?(mean|sum)|prod|std|var|logsumexp|cum(sum|prod|max|min)|"
    r"logcumsumexp|sort|topk|kthvalue|linalg\.vector_norm|quantile|flip|index_select|gather|"
    r"take_along_dim|diff"
)
_PROMOTED = "dtypes that differ are promoted"
# (subject, arguments), both regular expressions that must match: why the two differ, and, where
# they differ by rounding, by how much at most.
DIFFERENCES = [
    (r"RNN|GRU|LSTM", r"dtype=torch\.float64.*float32\[", _PROMOTED),
    (r"conv\dd", r"int64.*float64\[\d\]|complex128\[\d\]\)$", _PROMOTED),
    (r"NLLLoss", r"weight=float16", _PROMOTED),
    (r"BatchNorm\dd", r"eps=0\.0", "an eps of 0 is allowed in training: the values are right"),
    (r"max_pool\dd", r"float32\[0, ", "no channels: the result is empty too"),
    (r"batch_norm", r"^\(float\d\d\[0\]", "one axis cannot be both batch and channels"),
    (r"avg_pool\dd", r", \(\), ", "a stride of no entries; leave it out, or pass None"),
    (r".*", r"sparse=True", "there are no sparse gradients"),
    (r".*", r"reduce=False|size_average=False", "deprecated arguments"),
    (r"Hardsigmoid|hardsigmoid", r"float64\[",
     "PyTorch's slope is 1/6 in single precision: off by 5e-9", 1e-8),
    (r"layer_norm", r"^\(float32\[1\], \(1\)",
     "one element is standardised to a constant: its gradient is 0, PyTorch's is 6e-5", 1e-4),
    (_OF_AXES, r"^\((float64|float32|complex128)\[\]",
     "a 0-d tensor has no axis, and no order: as the standard has it"),
    (r"special\.bessel_j[01]", r"float64",
     "PyTorch's is off by 1e-8 in double precision (mpmath)", 1e-6),
    (r"logaddexp|logsumexp|sinc|logcumsumexp", r"complex", "of real numbers only"),
    (r"softsign", r"complex", "of real numbers only"),
    (r"linalg\.eigvalsh", r"UPLO='U'", "of another matrix the symmetric part counts"),
    (r"cov", r"aweights=float32",
     "PyTorch multiplies the two kinds of weights in single precision", 1e-4),
    (r"tensordot", r"\[1, 1, 1\]", "lengths of 1 do not broadcast: as the standard has it"),
    (r"gather", r"uint8\[2, 0\]", "indices of another rank, of no elements"),
    (r"cat", r"^\(\(float\d\d\[0\], float|^\(\(complex128\[0\]",
     "a tensor of no elements has a shape, which must fit"),
    (r"linalg\.solve", r"^\((\w+)\[(.+), (\d+), \3\], \1\[\2, \3\]\)",
     "a right-hand side is one vector or matrices: as the standard has it"),
    (r"logcumsumexp", r"float32$",
     "single precision: PyTorch's gradient goes through logarithms of itself", 1e-2),
    (r"KLDivLoss", r"float64",
     "the loss of a negative target is NaN, and its second derivative no number to agree on", 0.9),
    (r"CTCLoss|ctc_loss", r"float32$",
     "single precision: both are 3e-5 off the gradient in double precision", 1e-4),
    (r"EmbeddingBag", r"scale_grad_by_freq=True",
     "PyTorch's CPU kernel divides by the frequency of another index"),
    (r"CosineSimilarity", r"eps=1\.0", "PyTorch's gradient ignores the bound eps of the norms"),
    (r"BCELoss|binary_cross_entropy", r"float64",
     "PyTorch adds 1e-12 to x (1 - x) in the second derivative", 1e-8),
    (r"LPPool\dd|lp_pool\dd", r"\(1\.5",
     "the root of a negative sum is NaN; its gradient outside of all windows is 0, not NaN"),
]  # fmt: skip


# Only the first derivatives are compared: with options, PyTorch's second ones are zeros.
ORDERS = {"LinearCrossEntropyLoss": 1, "linear_cross_entropy": 1}


def difference(subject: str, arguments: str) -> tuple[str, float] | None:
    """Why a combination differs on purpose, and by how much at most; None if it must agree."""
    for name, given, reason, *bound in DIFFERENCES:
        if re.fullmatch(name, subject) and re.search(given, arguments):
            return reason, bound[0] if bound else math.inf
    return None
