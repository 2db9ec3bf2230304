"""Values packed into shared memory and out again, within one process."""

from __future__ import annotations

import collections
import os
import sys
import traceback

import numpy as np
import pytest

import polygrad as pg
from polygrad.data.transport import Inbox, Outbox, Parcel
from polygrad.device import Device
from polygrad.errors import GradientError, OutOfMemoryError
from tests.data.leaks_script import segments

posix = pytest.mark.skipif(
    sys.platform != "linux", reason="2026-11-30: looks into /dev/shm"
)


@pytest.fixture
def boxes():
    outbox, inbox = Outbox("pgtest", inline=256), Inbox("pgtest", slots=2)
    yield outbox, inbox
    outbox.close()
    inbox.close()
    assert not {name for name in segments() if "pgtest" in name}


def through(boxes, value, slot=0, place=Device):
    parcel = boxes[0].pack(slot, value)
    boxes[1].accept(parcel)
    return parcel, boxes[1].unpack(parcel, place)


def test_one_array_twice_is_one_array():
    boxes = Outbox("pgtest", 1024), Inbox("pgtest", 1)
    x = np.arange(3)
    t = pg.tensor([1.0])
    _, (a, b, c, d) = through(boxes, [x, x, t, t])
    assert a is b
    assert c is d
    assert a.flags.owndata and a.flags.writeable


@posix
def test_a_segment_is_used_again_and_replaced_by_a_larger_one(boxes):
    first, _ = through(boxes, np.zeros(100))
    again, _ = through(boxes, np.zeros(102))
    assert first.segment == "pgtest_0_1"
    assert again.segment is None
    larger, value = through(boxes, np.arange(1000))
    assert larger.segment == "pgtest_0_2"
    np.testing.assert_array_equal(value, np.arange(1000))
    other, _ = through(boxes, np.arange(1000), slot=1)
    assert other.segment == "pgtest_1_1"
    assert not {name for name in segments() if "pgtest" in name}


def test_few_bytes_go_without_shared_memory(boxes):
    parcel, value = through(boxes, [np.arange(4), "a"])
    assert isinstance(parcel.memory, bytes) and isinstance(parcel.body, bytes)
    assert value[0].tolist() == [0, 1, 2, 3]


def test_a_large_pickle_goes_through_shared_memory_too(boxes):
    value = ["x" * i for i in range(300)]
    parcel, made = through(boxes, value)
    assert not isinstance(parcel.body, bytes) and parcel.memory is None
    assert made == value


def test_layouts_and_dtypes(boxes):
    base = np.arange(24.0).reshape(2, 3, 4)
    value = {
        "strided": base[:, ::-1, ::2].T, "0-d": np.float32(3)[()] + np.zeros(()),
        "empty": base[:0], "fortran": np.asfortranarray(base), "bool": base > 3,
        "record": np.zeros(3, [("a", "i2"), ("b", "f8")]), "text": np.array(["ab", "c"]),
        "when": np.array(["2020-01-01"], "datetime64[D]"), "big": np.arange(3, dtype=">i4"),
        "object": np.array([None, {1: 2}], object), "masked": np.ma.masked_array([1, 2], [0, 1]),
        "nested": collections.OrderedDict(a=(pg.tensor(1 + 2j), [pg.ones((2, 0))])),
    }  # fmt: skip
    _, made = through(boxes, value)
    assert list(made) == list(value)
    for name in list(value)[:-2]:
        assert made[name].dtype == value[name].dtype
        np.testing.assert_array_equal(made[name], value[name])
    assert made["masked"].mask.tolist() == [False, True]
    assert made["nested"]["a"][0].item() == 1 + 2j
    assert made["nested"]["a"][1][0].shape == (2, 0)


def test_a_history_stays_where_it_is(boxes):
    with pytest.raises(GradientError, match=r"history.*detach"):
        boxes[0].pack(0, [pg.tensor([1.0], requires_grad=True) * 2])


@posix
def test_a_name_that_was_told_to_nobody_is_removed():
    outbox, inbox = Outbox("pgtest", 0), Inbox("pgtest", 2)
    through((outbox, inbox), np.zeros(10))
    outbox.pack(0, np.zeros(100))
    outbox.pack(0, np.zeros(1000))
    outbox.pack(1, np.zeros(10))
    assert len([name for name in segments() if "pgtest" in name]) == 3
    outbox.close()
    inbox.close()
    assert not [name for name in segments() if "pgtest" in name]


@posix
def test_without_space_there_is_an_error_and_no_crash(boxes, monkeypatch):
    full = collections.namedtuple("Full", "f_bavail f_frsize")(1, 4096)  # noqa: PYI024
    monkeypatch.setattr(os, "statvfs", lambda path: full)
    with pytest.raises(OutOfMemoryError, match=r"\d+ bytes.*4096 are free.*--shm-size"):
        boxes[0].pack(0, np.zeros(1000))


def test_a_tensor_that_cannot_be_placed_leaves_the_memory_free(boxes):
    parcel = boxes[0].pack(0, np.zeros(1000))
    boxes[1].accept(parcel)

    def fail(name):
        raise KeyError(name)

    parcel = boxes[0].pack(0, pg.zeros(1000))
    assert parcel == Parcel(0, "pgtest_0_2", parcel.body, None) or parcel.segment is None
    boxes[1].accept(parcel)
    try:
        boxes[1].unpack(parcel, fail)
    except KeyError as error:
        kept = error
    frames = [frame for frame, _ in traceback.walk_tb(kept.__traceback__)]
    assert "_rebuilt" in {frame.f_code.co_name for frame in frames}
    assert not any("view" in frame.f_locals for frame in frames)  # it would outlive its memory
