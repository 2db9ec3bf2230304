"""What tests of polygrad and of its backends share: samples, tolerances, comparisons."""

from __future__ import annotations

from polygrad.testing.calls import floating, take_apart
from polygrad.testing.compare import TOLERANCES, assert_close, tolerance
from polygrad.testing.sampling import Sampler, samples_of

__all__ = [
    "TOLERANCES", "Sampler", "assert_close", "floating", "samples_of", "take_apart", "tolerance",
]  # fmt: skip
