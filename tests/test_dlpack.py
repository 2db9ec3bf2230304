"""DLPack: memory shared with other libraries in both directions, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import CopyNeededError, GradientError
from polygrad.testing.compare import host


def test_every_device_hands_its_memory_out_and_takes_it_back(device):
    t = pg.tensor([1.0, 2.0, 3.0], device=device)
    kind, index = t.__dlpack_device__()
    assert isinstance(int(kind), int)
    assert isinstance(index, int)
    for keywords in ({}, {"copy": True}, {"max_version": (1, 0)}, {"stream": None, "copy": None}):
        assert "dltensor" in repr(t.__dlpack__(**keywords))
    xp = pg.namespace(device)
    for made in (pg.from_dlpack(t), pg.from_dlpack(t.native()), xp.from_dlpack(t)):
        assert made.device == device
        assert host(made).tolist() == [1, 2, 3]
    assert pg.from_dlpack(t, copy=False).native() is t.native()


def test_numpy_shares_the_memory_in_both_directions():
    t = pg.tensor([1.0, 2.0])
    view = np.from_dlpack(t)
    view[0] = 7
    assert t.tolist() == [7, 2]
    assert np.shares_memory(view, t.native())
    assert np.shares_memory(pg.from_dlpack(view).native(), view)
    assert not np.shares_memory(pg.from_dlpack(view, copy=True).native(), view)
    row = pg.tensor([[1.0, 2.0], [3.0, 4.0]])[1]
    assert np.from_dlpack(row).tolist() == [3, 4]
    t += 1  # an array that somebody else sees is not overwritten
    assert (t.tolist(), view.tolist()) == ([8, 3], [7, 2])


def test_what_must_not_be_written_is_copied_for_old_importers():
    t = pg.broadcast_to(pg.tensor(1.0), (2,))
    assert "dltensor" in repr(t.__dlpack__())
    with pytest.raises(BufferError):
        t.__dlpack__(copy=False)


def test_a_tensor_that_requires_grad_is_not_handed_out(device):
    t = pg.tensor([1.0], device=device, requires_grad=True)
    for hand_out in (t.__dlpack__, lambda: pg.from_dlpack(t), lambda: pg.from_dlpack(t * 2)):
        with pytest.raises(GradientError, match=r"detach\(\)"):
            hand_out()
    assert pg.from_dlpack(t.detach()).tolist() == [1]


def test_no_copy_where_one_is_needed():
    data = np.arange(3.0)
    for refused in (
        lambda: pg.from_dlpack(data, device="strict:cpu", copy=False),
        lambda: pg.asarray(data, dtype=pg.float32, copy=False),
        lambda: pg.asarray(data, device="strict:cpu", copy=False),
        lambda: pg.asarray([1.0], copy=False),
        lambda: pg.asarray([pg.ones(1)], copy=False),
    ):
        with pytest.raises(CopyNeededError, match=r"copy is needed.*argument copy=False") as caught:
            refused()
        assert isinstance(caught.value, ValueError)
        assert isinstance(caught.value, BufferError)
    assert pg.asarray(data, device="cpu", copy=False).native() is data
    assert pg.from_dlpack(data, device="strict:cpu").device == "strict:cpu"
