"""What is saved comes back: values, structures, whole training states, on every device."""

from __future__ import annotations

import collections
import math
import os
import pickle
import stat
import sys

import numpy as np
import pytest

import polygrad as pg
from polygrad import dtypes, nn, optim
from polygrad.errors import (
    DtypeError,
    FileFormatError,
    GradientError,
    InvalidArgumentError,
    InvalidTypeError,
)
from polygrad.registry import find_backend, find_device
from polygrad.testing.compare import host
from tests.devices import optional

Point = collections.namedtuple("Point", "x y")  # noqa: PYI024  the untyped kind


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.safetensors"


def same(a, b):
    """Equal in structure, types, dtypes and values."""
    assert type(a) is type(b)
    if isinstance(a, pg.Tensor):
        assert (a.dtype, a.shape, a.requires_grad) == (b.dtype, b.shape, b.requires_grad)
        np.testing.assert_array_equal(host(a.detach()), host(b.detach()))
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert repr(a) == repr(b)  # nan is nan


def through(value, path, **options):
    pg.save(value, path)
    return pg.load(path, **options)


# ---- values -----------------------------------------------------------------------------------
NESTED = {
    "plain": [None, True, False, 0, -(2**70), 1.5, -0.0, "text \u00e9 \U0001f600", ""],
    "floats": [math.inf, -math.inf, math.nan, 5e-324, 0.1],
    "complex": (1 + 2j, complex(math.inf, -0.0)),
    "bytes": b"\x00\xff",
    "empty": [[], (), {}, {"x": {}}],
    1: {2: "two", (1, "a"): None, None: 3, 2.5: [], False: 0},
    "tensors": (pg.ones((2, 3)), [pg.tensor(1), {"deep": pg.zeros((0, 4))}]),
    "leaf": pg.tensor([1.0, 2.0], requires_grad=True),
    "array": np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::-1],
    "types": [dtypes.float32, pg.Device("cuda:0")],
}


@pytest.mark.parametrize("mmap", [False, True])
def test_nested_values(path, mmap):
    same(through(NESTED, path, mmap=mmap), NESTED)


@pytest.mark.parametrize("value", [pg.arange(3), 5, None, [], {}, "x", [pg.ones(())]])
def test_anything_may_be_outermost(path, value):
    same(through(value, path), value)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("dtype", [*dtypes.ALL, "bfloat16"], ids=str)
def test_every_dtype_bit_for_bit(path, dtype, mmap):
    if dtype == "bfloat16":
        optional("ml_dtypes")
    dtype = dtypes.canonical(dtype)
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2 if dtype == dtypes.bool else 256, 24 * dtype.itemsize, np.uint8)
    x = bits.view(dtype).reshape(2, 3, 4)
    value = {"x": pg.asarray(x), "0-d": pg.asarray(x[0, 0, 0].reshape(())), "array": x}
    made = through(value, path, mmap=mmap)
    for name, saved in value.items():
        want, got = (x if name == "array" else x.numpy() for x in (saved, made[name]))
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tobytes() == want.tobytes()


def test_what_comes_back_as_something_simpler(path):
    value = [
        Point(1, [2]), collections.OrderedDict(a=1), collections.Counter("aab"), np.float32(0.5),
        np.bool_(True), np.int8(-3), bytearray(b"x"), np.str_("s"),
    ]  # fmt: skip
    same(through(value, path), [(1, [2]), {"a": 1}, {"a": 2, "b": 1}, 0.5, True, -3, b"x", "s"])


def test_arrays_of_any_layout(path):
    base = np.arange(24.0).reshape(2, 3, 4)
    value = {
        "strided": base[:, ::-1, ::2].T, "fortran": np.asfortranarray(base),
        "big": np.arange(3, dtype=">i4"), "broadcast": np.broadcast_to(np.float32(2), (3, 2)),
    }  # fmt: skip
    made = through(value, path)
    for name, x in value.items():
        np.testing.assert_array_equal(made[name], x)
        assert made[name].dtype.isnative


def test_names_that_meet(path):
    value = {"a": {"b": pg.ones(1)}, "a.b": pg.zeros(1), "__metadata__": pg.ones(2), "": pg.ones(3)}
    same(through(value, path), value)
    assert list(pg.io.describe(path).tensors) == ["a.b", "a.b#2", "__metadata__#2", "value"]


def test_tensors_on_every_device(path, device):
    x = pg.tensor([[1.0, 2.0]], device=device)
    made = through({"x": x, "views": x[0, 1:]}, path)
    assert made["x"].device == "cpu"
    np.testing.assert_array_equal(host(made["views"]), [2.0])
    for mmap in (False, True):
        there = pg.load(path, device=device, mmap=mmap)
        assert there["x"].device == device
        np.testing.assert_array_equal(host(there["x"]), [[1.0, 2.0]])
    pg.set_default_device(device)
    assert pg.load(path)["x"].device == device
    backend = find_backend(find_device(device).kind)
    same(pg.load(path, device="cpu")["x"], pg.load(path, device="cpu")["x"])
    pg.save(backend.from_numpy(np.arange(3, dtype=np.int32), find_device(device)), path)
    assert pg.load(path).tolist() == [0, 1, 2]


def test_what_was_loaded_can_be_written_and_the_file_stays(path):
    for mmap in (False, True):
        made = through({"x": pg.ones((2, 1000))}, path, mmap=mmap)["x"]
        made += 1
        made[0] = 7
        made.requires_grad_()
        pg.sum(made * made).backward()
        assert float(made.grad[1, 0]) == 4
        assert float(pg.load(path)["x"][0, 0]) == 1


def test_a_mapped_file_can_be_replaced_and_removed(path):
    old = through([pg.ones(5000)], path, mmap=True)[0]
    pg.save([pg.zeros(5000)], path)
    assert float(pg.sum(old)) == 5000
    path.unlink()
    assert float(pg.sum(old)) == 5000
    assert not old.numpy().flags.owndata


def test_a_floating_dtype_for_all(path):
    value = {"f": pg.tensor([0.1], dtype=pg.float64), "i": pg.tensor([1]), "c": pg.tensor([1j])}
    made = through(value, path, dtype=pg.float32)
    assert [made[k].dtype for k in "fic"] == [pg.float32, pg.int64, pg.complex64]
    with pytest.raises(DtypeError, match="no real floating"):
        pg.load(path, dtype=pg.int8)
    optional("array_api_strict")
    with pytest.raises(DtypeError, match=r"no float64.*tensor 'f'"):
        pg.load(path, device="strict:no_float64")


# ---- what cannot be saved -----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("value", "error", "match"),
    [
        ({"a": [object()]}, InvalidTypeError, r"object at a\.0 cannot be saved"),
        ({"a": {1, 2}}, InvalidTypeError, "set at a"),
        ({"m": nn.Linear(1, 1)}, InvalidTypeError, r"Linear at m.*state_dict\(\)"),
        (pg.Generator(0), InvalidTypeError, r"Generator cannot.*get_state\(\)"),
        (print, InvalidTypeError, "builtin_function"),
        ({"s": np.array(["a"])}, DtypeError, "s: an array of dtype <U1"),
        ([np.array([None])], DtypeError, "0: an array of dtype object"),
        ([pg.tensor([1.0], requires_grad=True) * 2], GradientError, r"0: .*history.*detach"),
        ({"\ud800": pg.ones(1)}, InvalidArgumentError, "not valid Unicode"),
    ],
)
def test_what_cannot_be_saved(path, value, error, match):
    path.write_bytes(b"old")
    with pytest.raises(error, match=match):
        pg.save(value, path)
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_a_container_in_itself(path):
    loop = []
    loop.append(loop)
    with pytest.raises(InvalidArgumentError, match="contains itself"):
        pg.save(loop, path)


def test_metadata(path):
    pg.save([pg.ones(2)], path, metadata={"format": "pt", "by": "\u00e9"})
    assert pg.io.describe(path).metadata == {"format": "pt", "by": "\u00e9"}
    for wrong in ({"a": 1}, {1: "a"}, {"polygrad.x": "a"}):
        with pytest.raises(InvalidArgumentError, match="metadata"):
            pg.save([], path, metadata=wrong)


# ---- parts --------------------------------------------------------------------------------------
def test_parts_of_a_dictionary(path):
    pg.save({"model": {"w": pg.ones(2)}, "optimizer": {0: pg.ones(3)}, "epoch": 3}, path)
    same(pg.load(path, keys=["model"]), {"model": {"w": pg.ones(2)}})
    same(pg.load(path, keys="epoch"), {"epoch": 3})
    assert set(pg.load(path, keys=lambda key: key != "model")) == {"optimizer", "epoch"}
    with pytest.raises(InvalidArgumentError, match=r"not have 'x'.*'model', 'optimizer', 'epoch'"):
        pg.load(path, keys=["model", "x"])
    assert set(pg.load(path, keys=["model", "x"], strict=False)) == {"model"}
    pg.save({0: "zero", (1,): pg.ones(1)}, path)
    same(pg.load(path, keys=[(1,)]), {(1,): pg.ones(1)})
    pg.save([1], path)
    with pytest.raises(InvalidArgumentError, match="no dictionary"):
        pg.load(path, keys=["a"])


def test_only_the_wanted_tensors_are_read(path):
    pg.save({"a": pg.ones(4), "b": pg.ones(8)}, path)
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1  # in b
    path.write_bytes(raw)
    same(pg.load(path, keys=["a"]), {"a": pg.ones(4)})
    with pytest.raises(FileFormatError, match="tensor 'b'"):
        pg.load(path)


# ---- training states --------------------------------------------------------------------------
def network():
    return nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(18, 3)
    )


def training(seed=0, optimizer=optim.Adam):
    pg.manual_seed(seed)
    model = network()
    optimizer = optimizer(model.parameters(), lr=0.01)
    schedule = optim.lr_scheduler.SequentialLR(
        optimizer,
        [optim.lr_scheduler.LinearLR(optimizer, total_iters=2),
         optim.lr_scheduler.MultiStepLR(optimizer, [2, 2, 5])],
        milestones=[3],
    )  # fmt: skip
    return model, optimizer, schedule


def step(model, optimizer, schedule):
    x = pg.random.normal((4, 1, 5, 5))
    loss = nn.functional.cross_entropy(model(x), pg.tensor([0, 1, 2, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    return loss.detach().item()


@pytest.mark.parametrize("optimizer", [optim.SGD, optim.Adam, optim.RMSprop, optim.Adagrad])
def test_training_goes_on_as_if_nothing_had_been(path, optimizer):
    parts = training(optimizer=optimizer)
    for _ in range(4):
        step(*parts)
    names = ("model", "optimizer", "schedule")
    state = {name: part.state_dict() for name, part in zip(names, parts, strict=True)}
    pg.save({**state, "random": pg.random.get_state()}, path)
    want = [step(*parts) for _ in range(4)]
    again = training(seed=1, optimizer=optimizer)
    loaded = pg.load(path)
    pg.random.set_state(loaded["random"])
    for name, part in zip(names, again, strict=True):
        part.load_state_dict(loaded[name])
    assert [step(*again) for _ in range(4)] == want


# ---- the file -----------------------------------------------------------------------------------
def test_the_file_is_replaced_as_a_whole(path, monkeypatch):
    pg.save([pg.ones(3)], path)
    for name in ("fsync", "write"):
        broken = {"fsync": "os.fsync", "write": "zlib.crc32"}[name]

        def fail(*args):
            raise OSError("disk full")

        with monkeypatch.context() as patch:
            patch.setattr(broken, fail)
            with pytest.raises(OSError, match="disk full"):
                pg.save([pg.zeros(3)], path)
        assert list(path.parent.iterdir()) == [path]
        same(pg.load(path), [pg.ones(3)])
    with pytest.raises(FileNotFoundError):
        pg.save([], path.parent / "missing" / "x")
    with pytest.raises(FileNotFoundError):
        pg.load(path.parent / "missing")


@pytest.mark.skipif(sys.platform == "win32", reason="2026-11-30: POSIX permissions and links")
def test_permissions_and_links_are_kept(path):
    umask = os.umask(0o027)
    try:
        pg.save([1], path)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o600)
    link = path.with_name("link")
    link.symlink_to(path)
    pg.save([2], link)
    assert link.is_symlink()
    assert pg.load(path) == [2]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_reading_runs_no_code(path):
    class Evil:
        def __reduce__(self):
            return os.system, ("touch evil",)

    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(FileFormatError, match="looks like a pickle"):
        pg.load(path)


def test_the_size_of_a_file_is_that_of_its_numbers(path):
    pg.save({"w": pg.ones(100_000)}, path)
    assert path.stat().st_size < 400_000 + 1000
    (entry,) = pg.io.describe(path).tensors.values()
    assert entry == ("float32", (100_000,), path.name)
