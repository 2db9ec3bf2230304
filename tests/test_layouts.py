"""Every operation on arrays whose memory is not in C order: flipped, transposed, both."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import UnsupportedOperationError
from polygrad.families import OPERATIONS
from polygrad.ops import load_all
from polygrad.testing import assert_close, samples_of, take_apart

load_all()
SAMPLED = sorted(
    name for name, o in OPERATIONS.items()
    if (o.samples is not None or o.domain) and not o.name.startswith("empty")
)  # fmt: skip
DTYPES = {"f": pg.float64, "c": pg.complex128}


def flipped(a, device):
    """Negative strides along every axis."""
    back = (slice(None, None, -1),) * a.ndim
    return pg.tensor(a[back].copy(), device=device)[back] if a.ndim else pg.tensor(a, device=device)


def transposed(a, device):
    """The axes in memory the other way round, the first one backwards."""
    if not a.ndim:
        return pg.tensor(a, device=device)
    t = pg.tensor(a[::-1].T.copy(), device=device)
    return pg.permute_dims(t, tuple(range(a.ndim))[::-1])[::-1]


def results(name, build, tensors, device):
    args, kwargs = build(tensors, device)
    pg.manual_seed(0)
    with pg.device(device):
        made = OPERATIONS[name].function(*args, **kwargs)
    found = [made] if isinstance(made, pg.Tensor) else list(made)
    return [t for t in found if isinstance(t, pg.Tensor)]


@pytest.mark.parametrize("device", ["cpu", "sycl:cpu:0"], indirect=True)
@pytest.mark.parametrize("name", SAMPLED)
def test_the_order_in_memory_changes_nothing(name, device):
    for kind in set(OPERATIONS[name].kinds) & set("fc"):
        samples = samples_of(OPERATIONS[name], DTYPES[kind])
        for number, (args, kwargs) in enumerate(samples[: None if device == "cpu" else 2]):
            flat, build = take_apart(args, kwargs)
            if not flat:
                continue
            want = results(name, build, [pg.tensor(a) for a in flat], "cpu")
            for layout in (flipped, transposed):
                try:
                    got = results(name, build, [layout(a, device) for a in flat], device)
                except UnsupportedOperationError:
                    assert OPERATIONS[name].space == "special", name
                    return  # which library has which special functions: test_special.py
                for a, b in zip(got, want, strict=True):
                    assert_close(a, b, what=f"{name}, sample {number}, {layout.__name__}")


def test_the_test_sees_strides():
    from polygrad.tensor import raw

    a = np.arange(6.0).reshape(2, 3)
    for layout, strides in ((flipped, (-24, -8)), (transposed, (-8, 16))):
        t = layout(a, "cpu")
        assert raw(t).strides == strides
        np.testing.assert_array_equal(t.numpy(), a)
