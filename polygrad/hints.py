"""Names that hands know from PyTorch and NumPy, and what they are called here."""

from __future__ import annotations

__all__ = ["hint"]

_CALLED = {
    "absolute": "abs", "amax": "max", "amin": "min", "arange_like": "arange", "arccos": "acos",
    "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "array": "tensor", "as_tensor": "asarray", "bmm": "matmul",
    "bucketize": "digitize", "cat": "concat", "clamp": "clip", "concatenate": "concat",
    "cross": "linalg.cross", "cumprod": "cumulative_prod", "cumsum": "cumulative_sum",
    "div": "divide", "eq": "equal", "fliplr": "flip", "flipud": "flip",
    "fold": "nn.functional.fold", "from_numpy": "asarray", "ge": "greater_equal",
    "gt": "greater", "index_select": "take", "invert": "bitwise_invert",
    "le": "less_equal", "logcumsumexp": "cumulative_logsumexp", "lt": "less", "mm": "matmul",
    "movedim": "moveaxis", "mul": "multiply", "ne": "not_equal", "neg": "negative",
    "permute": "permute_dims", "power": "pow", "rand": "random.uniform",
    "randint": "random.integers", "randn": "random.normal", "randperm": "random.permutation",
    "relu": "nn.functional.relu", "sigmoid": "nn.functional.sigmoid", "sub": "subtract",
    "swapaxes": "moveaxis", "take_along_dim": "take_along_axis", "transpose": "permute_dims",
    "true_divide": "divide", "unfold": "nn.functional.unfold", "unique": "unique_values",
    "unsqueeze": "expand_dims",
    "bernoulli": "random.bernoulli", "multinomial": "random.multinomial",
    "poisson": "random.poisson",
    "digamma": "special.digamma", "erfinv": "special.erfinv", "lgamma": "special.gammaln",
    "mvlgamma": "special.multigammaln", "polygamma": "special.polygamma",
    "sinc": "special.sinc", "xlogy": "special.xlogy",
}  # fmt: skip


def hint(name: str) -> str:
    """What to say about a name that polygrad does not have; empty where there is nothing to say.

    >>> hint("cat")
    'it is called pg.concat here, with axis= for dim='
    """
    if name in _CALLED:
        return f"it is called pg.{_CALLED[name]} here, with axis= for dim="
    return ""
