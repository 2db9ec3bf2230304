"""Files of other programs, and other programs on files of polygrad."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import FileFormatError, PolygradError
from polygrad.nn.state import StateDictError
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


# ---- into a model, from files as Hugging Face writes them ---------------------------------------
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 3))


THEIR_NAMES = {
    "bert.dense.weight": "layers.0.weight", "bert.dense.bias": "layers.0.bias",
    "bert.LayerNorm.weight": "layers.1.weight", "bert.LayerNorm.bias": "layers.1.bias",
    "classifier.weight": "layers.2.weight", "classifier.bias": "layers.2.bias",
}  # fmt: skip


@pytest.fixture
def pretrained(tmp_path):
    """A checkpoint in two files with an index, of bfloat16 and float16, and its numbers."""
    bfloat16 = np.dtype(optional("ml_dtypes").bfloat16)
    rng, model = np.random.default_rng(3), Encoder()
    dtypes = [bfloat16, bfloat16, np.float32, np.float16, np.float16, bfloat16]
    arrays = {
        theirs: rng.normal(size=model.get_parameter(ours).shape).astype(dtype)
        for (theirs, ours), dtype in zip(THEIR_NAMES.items(), dtypes, strict=True)
    }
    arrays["bert.position_ids"] = np.arange(7)
    parts = list(arrays)[:3], list(arrays)[3:]
    where = {}
    for i, names in enumerate(parts, start=1):
        file = f"model-{i:05}-of-00002.safetensors"
        shard = {name: arrays[name] for name in names}
        numpy_files.save_file(shard, tmp_path / file, metadata={"format": "pt"})
        where.update(dict.fromkeys(names, file))
    size = sum(x.nbytes for x in arrays.values())
    index = {"metadata": {"total_size": size}, "weight_map": where}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    return tmp_path, arrays


@pytest.mark.parametrize("mmap", [False, True])
def test_a_pretrained_model(pretrained, mmap, device):
    """Names are changed by a dictionary; dtype and device are those of the model."""
    folder, arrays = pretrained
    files = pg.load(folder, device="cpu", mmap=mmap, keys=lambda name: name in THEIR_NAMES)
    assert {x.dtype.name for x in files.values()} == {"bfloat16", "float16", "float32"}
    model = Encoder().to(device)
    model.load_state_dict({THEIR_NAMES[name]: x for name, x in files.items()})
    for theirs, ours in THEIR_NAMES.items():
        p = model.get_parameter(ours)
        assert (p.dtype, p.device, p.requires_grad) == (pg.float32, device, True)
        np.testing.assert_array_equal(p.detach().numpy(), arrays[theirs].astype(np.float32))
    with pg.no_grad():  # neither the file nor its memory is written
        model.layers[2].bias += 1
    np.testing.assert_array_equal(
        pg.load(folder, device="cpu", keys="classifier.bias")["classifier.bias"].numpy(),
        arrays["classifier.bias"],
    )


def test_a_part_of_a_pretrained_model(pretrained):
    folder, arrays = pretrained
    state = {THEIR_NAMES.get(name, name): x for name, x in pg.load(folder, mmap=True).items()}
    del state["layers.0.bias"]
    model = Encoder()
    with pytest.raises(StateDictError) as caught:
        model.load_state_dict(state)
    assert "missing keys: 'layers.0.bias'" in str(caught.value)
    assert "unexpected keys: 'bert.position_ids'" in str(caught.value)
    found = model.load_state_dict(state, strict=False)
    assert found == (["layers.0.bias"], ["bert.position_ids"])
    got = model.layers[0].weight.detach().numpy()
    np.testing.assert_array_equal(got, arrays["bert.dense.weight"].astype(np.float32))
    state["layers.2.weight"] = np.zeros((2, 8), np.float32)  # of another number of classes
    with pytest.raises(StateDictError, match=r"layers\.2\.weight: shape \(2, 8\)"):
        model.load_state_dict(state, strict=False)
    bare = Encoder().to(pg.float64)
    bare.load_state_dict(state | {"layers.2.weight": arrays["classifier.weight"]}, strict=False)
    assert bare.layers[0].weight.dtype == pg.float64


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
