"""bfloat16 on NumPy: every operation on it gives it back, though NumPy promotes to float32."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.tensor import Tensor
from polygrad.testing import samples_of
from polygrad.tree import leaves, tree_map

pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-30: optional)")
load_all()
CONCERNED = sorted(
    name
    for name, o in OPERATIONS.items()
    if "f" in o.kinds and (o.samples or o.domain) and o.chapter not in ("creation", "histogram")
    and o.space not in ("special", "fft") and name not in ("astype", "real", "imag")
)  # fmt: skip


def _tensors(tree, dtype):
    def convert(a):
        if not isinstance(a, np.ndarray):
            return a
        return pg.tensor(a, dtype=dtype if a.dtype == np.float32 else None)

    return tree_map(convert, tree)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CONCERNED)
def test_results_are_bfloat16(name):
    compared = 0
    for args, kwargs in samples_of(OPERATIONS[name], np.float32):
        pg.manual_seed(0)
        wide = OPERATIONS[name].function(*_tensors(args, "float32"), **_tensors(kwargs, "float32"))
        pg.manual_seed(0)
        out = OPERATIONS[name].function(*_tensors(args, "bfloat16"), **_tensors(kwargs, "bfloat16"))
        for a, b in zip(leaves(wide), leaves(out), strict=True):
            if isinstance(a, Tensor):
                compared += 1
                assert b.dtype == (pg.bfloat16 if a.dtype == pg.float32 else a.dtype)
                assert b.shape == a.shape
    assert compared
