"""The dtype policy of `pg.amp.autocast`: which operations compute in the low precision, as data.

The lists are those of PyTorch's autocast, by the names of primitives here. What is in neither
computes in the dtype that promotion gives: float16 beside float32 gives float32, so that PyTorch's
third list, of operations that take the widest dtype, is not needed. float64, complex numbers and
integers are never cast.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

from polygrad import dtypes

if TYPE_CHECKING:
    from polygrad.backend import Kernels

__all__ = ["ACTIVE", "FUNCTIONS", "POLICY", "Policy", "computing_dtype", "policy"]

LOW, FULL = "low", "float32"

# Products of matrices, where the hardware is quick in low precision and sums in a higher one.
_LOW = """
    attention convolution convolution_adjoint_w convolution_adjoint_x einsum gru_cell gru_run linear
    lstm_cell lstm_run matmul prelu rnn_relu_cell rnn_relu_run rnn_tanh_cell rnn_tanh_run
"""
# Functions that grow or lose digits quickly, long sums, and what is built of them.
_FULL = """
    acos asin binary_cross_entropy binary_cross_entropy_with_logits cosh cross_entropy ctc_loss
    cumulative_prod cumulative_sum exp expm1 huber log log10 log1p log2 log_softmax logsumexp pow
    prod reciprocal root_mean_standardize sinh softmax softplus special_erfinv standardize
    standardize_combined sum tan vector_norm
"""
POLICY = {**dict.fromkeys(_LOW.split(), LOW), **dict.fromkeys(_FULL.split(), FULL)}

# Functions of several primitives that compute in float32 as a whole, by their keys in the registry.
_FULL_FUNCTIONS = """
    batch_norm cosine_embedding_loss cosine_similarity gaussian_nll_loss group_norm
    hinge_embedding_loss huber_loss instance_norm kl_div l1_loss layer_norm margin_ranking_loss
    mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss
    pairwise_distance poisson_nll_loss rms_norm smooth_l1_loss soft_margin_loss triplet_margin_loss
    triplet_margin_with_distance_loss
"""
FUNCTIONS = frozenset(f"nn.functional.{name}" for name in _FULL_FUNCTIONS.split())


class Policy(NamedTuple):
    """What the innermost `autocast` of a thread asks for.

    Attributes
    ----------
    kind
        The kind of device it concerns; empty: every one.
    dtype
        The low precision.
    """

    kind: str
    dtype: dtypes.Dtype


policy: ContextVar[Policy | None] = ContextVar("polygrad.autocast", default=None)
# One entry for each autocast that is open, in whatever thread. The calls of the primitives above
# ask whether it is empty, for ten nanoseconds, before they ask for the policy.
ACTIVE: list[object] = []


def computing_dtype(name: str, dtype: dtypes.Dtype, k: Kernels) -> dtypes.Dtype:
    """The dtype that primitive `name` computes in, where promotion gives `dtype`."""
    now = policy.get()
    if now is None or (now.kind and now.kind != k.device.kind):
        return dtype
    narrow = dtype.itemsize <= 4 and dtypes.kind_of(dtype) == dtypes.REAL
    if not narrow or (rule := POLICY.get(name)) is None:
        return dtype
    if rule == FULL:
        return dtypes.float32
    return now.dtype

