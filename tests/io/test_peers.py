"""Files of other programs, and other programs on files of polygrad."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import FileFormatError, PolygradError
from tests.devices import optional
from tests.io.test_damage import damaged

numpy_files = optional("safetensors.numpy")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


ARRAYS = {
    "f": np.arange(6, dtype=np.float32).reshape(2, 3), "d": np.array(2.5), "i": np.arange(3),
    "b": np.array([True, False]), "u": np.zeros((2, 0), np.uint8), "h": np.ones(3, np.float16),
    "c": np.array([1 + 2j], np.complex64), "odd": np.array([7], np.int8),
}  # fmt: skip


@pytest.mark.parametrize("mmap", [False, True])
def test_we_read_theirs(path, mmap):
    numpy_files.save_file(ARRAYS, path, metadata={"format": "pt"})
    made = pg.load(path, mmap=mmap)
    assert made.keys() == ARRAYS.keys()
    for name, x in ARRAYS.items():
        assert made[name].dtype == x.dtype
        np.testing.assert_array_equal(made[name].numpy(), x)
    assert pg.io.describe(path).metadata == {"format": "pt"}


def test_they_read_ours(path):
    pg.save({name: pg.asarray(x) for name, x in ARRAYS.items()}, path)
    made = numpy_files.load_file(path)
    assert made.keys() == ARRAYS.keys()
    for name, x in ARRAYS.items():
        assert (made[name].dtype, made[name].shape) == (x.dtype, x.shape)
        np.testing.assert_array_equal(made[name], x)
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    pg.save({"model": model.state_dict(), "epoch": 3}, path)
    assert set(numpy_files.load_file(path)) == {f"model.{name}" for name in model.state_dict()}


def test_arrays_at_odd_places(path):
    """Their header may have any length: numbers then lie at odd addresses."""
    header = json.dumps({"x": {"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}}).encode()
    for spaces in range(8):
        raw = header + b" " * spaces
        data = np.array([1.5, 2.5]).tobytes()
        path.write_bytes(len(raw).to_bytes(8, "little") + raw + data)
        for mmap in (False, True):
            x = pg.load(path, mmap=mmap)["x"]
            assert x.tolist() == [1.5, 2.5]
            assert x.numpy().flags.aligned


def test_damage_to_theirs_is_judged_as_they_do(path):
    numpy_files.save_file(ARRAYS, path)
    whole, rng = path.read_bytes(), random.Random(1)
    for _ in range(600):
        raw = damaged(whole, rng)
        path.write_bytes(raw)
        try:
            made = pg.load(path)
        except PolygradError:
            continue
        theirs = numpy_files.load(raw)
        assert made.keys() == theirs.keys()
        for name, x in theirs.items():
            assert made[name].numpy().tobytes() == x.tobytes()


# ---- several files with an index, as Hugging Face writes them -----------------------------------
@pytest.fixture
def sharded(tmp_path):
    shards = {
        "model-00001-of-00002.safetensors": ["f", "i"], "model-00002-of-00002.safetensors": ["h"],
    }  # fmt: skip
    for name, keys in shards.items():
        arrays = {key: ARRAYS[key] for key in keys}
        numpy_files.save_file(arrays, tmp_path / name, metadata={"format": "pt"})
    where = {key: name for name, keys in shards.items() for key in keys}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 54}, "weight_map": where}))
    return index


@pytest.mark.parametrize("mmap", [False, True])
def test_several_files(sharded, mmap):
    for place in (sharded, sharded.parent):
        made = pg.load(place, mmap=mmap, dtype=pg.float64)
        assert list(made) == ["f", "i", "h"]
        for name, x in made.items():
            np.testing.assert_array_equal(x.numpy(), ARRAYS[name])
    found = pg.io.describe(sharded)
    assert found.metadata == {"total_size": "54"}
    assert found.tensors["h"] == ("float16", (3,), "model-00002-of-00002.safetensors")
    (sharded.parent / "model-00002-of-00002.safetensors").unlink()
    assert list(pg.load(sharded, keys=["i"])) == ["i"]
    with pytest.raises(FileNotFoundError):
        pg.load(sharded)


def test_one_file_in_a_folder(path):
    numpy_files.save_file(ARRAYS, path)
    assert pg.load(path.parent).keys() == ARRAYS.keys()
    numpy_files.save_file(ARRAYS, path.parent / "other.safetensors")
    assert pg.load(path.parent).keys() == ARRAYS.keys()
    path.unlink()
    numpy_files.save_file(ARRAYS, path.parent / "third.safetensors")
    with pytest.raises(FileFormatError, match="several without an index"):
        pg.load(path.parent)


@pytest.mark.parametrize(
    ("index", "match"),
    [
        ("{", "not JSON"),
        ("[]", "no weight_map"),
        ('{"weight_map": {"f": 3}}', "no weight_map"),
        ('{"weight_map": {"f": "a", "f": "b"}}', "'f' comes twice"),
        ('{"weight_map": {"f": "../x.safetensors"}}', "is not the name of"),
        ('{"weight_map": {"f": "/etc/passwd"}}', "is not the name of"),
        ('{"weight_map": {"f": "..\\\\x.safetensors"}}', "is not the name of"),
        ('{"weight_map": {"f": "model.bin"}}', "is not the name of"),
        ('{"weight_map": {"g": "model-00001-of-00002.safetensors"}}', r"'g' is not in model-00001"),
    ],
)
def test_an_index_that_is_wrong(sharded, index, match):
    sharded.write_text(index)
    with pytest.raises(FileFormatError, match=match) as caught:
        pg.load(sharded)
    assert str(sharded) in caught.value.where


# ---- PyTorch's state_dict as arrays -------------------------------------------------------------
def test_the_state_of_a_pytorch_model(path):
    torch = optional("torch")
    theirs = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(),
        torch.nn.GroupNorm(2, 4), torch.nn.Flatten(), torch.nn.Linear(36, 5),
        torch.nn.LayerNorm(5), torch.nn.PReLU(),
    )  # fmt: skip
    ours = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.GroupNorm(2, 4), nn.Flatten(),
        nn.Linear(36, 5), nn.LayerNorm(5), nn.PReLU(),
    )  # fmt: skip
    x = np.random.default_rng(0).normal(size=(3, 1, 5, 5)).astype(np.float32)
    with torch.no_grad():
        theirs(torch.tensor(x))  # statistics for the normalization
        want = theirs.eval()(torch.tensor(x)).numpy()
    arrays = {name: t.numpy() for name, t in theirs.state_dict().items()}
    numpy_files.save_file(arrays, path, metadata={"format": "pt"})
    for state in (arrays, pg.load(path)):
        ours.load_state_dict(state)
        got = ours.eval()(pg.asarray(x)).detach().numpy()
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    saved = ours.state_dict()
    assert list(saved) == list(arrays)
    theirs.load_state_dict({name: torch.tensor(t.numpy()) for name, t in saved.items()})
