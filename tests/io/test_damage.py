"""Files that are damaged or made to harm: an error that says where, never wrong numbers."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, FileFormatError, PolygradError
from tests.devices import optional

W, B = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(3, dtype=np.int64)
DATA = B.tobytes() + W.tobytes()
TABLE = {
    "b": {"dtype": "I64", "shape": [3], "data_offsets": [0, 24]},
    "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [24, 48]},
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.safetensors"


def file_of(header, data=DATA, length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(raw) if length is None else length).to_bytes(8, "little") + raw + data


def entry(**changes):
    return {**TABLE, "w": {**TABLE["w"], **changes}}


def test_the_file_that_the_others_are_made_of(path):
    path.write_bytes(file_of(TABLE))
    made = pg.load(path)
    np.testing.assert_array_equal(made["w"].numpy(), W)
    np.testing.assert_array_equal(made["b"].numpy(), B)
    path.write_bytes(file_of({**TABLE, "__metadata__": {"format": "np"}}))
    assert pg.io.describe(path).metadata == {"format": "np"}
    path.write_bytes(file_of({}, b""))
    assert pg.load(path) == {}


BROKEN = {
    "empty": (b"", "only 0 bytes"),
    "short": (b"\x02\x00\x00", "only 3 bytes"),
    "length beyond the file": (file_of(TABLE, length=10**6), r"1000000 bytes long.*the file has"),
    "huge length": (b"\xff" * 8 + b"{}", r"at most 100000000.*bytes 0 to 7"),
    "no JSON": (file_of(b"{nonsense}"), r"not JSON: .*char 1.*header"),
    "no object": (file_of(b"[1, 2]"), "no JSON object"),
    "a space first": (file_of(b" {}", b""), "no JSON object"),
    "not UTF-8": (file_of(b'{"\xff": 1}'), r"byte 2 is not UTF-8"),
    "NaN": (file_of(b'{"a": NaN}'), "NaN is not JSON"),
    "deep": (file_of(b"[" * 100_000), "not JSON"),
    "long number": (file_of(b'{"a": ' + b"1" * 10_000 + b"}"), "not JSON"),
    "key twice": (file_of(b'{"w": 1, "v": 2, "w": 3}'), r"key 'w' comes twice"),
    "inner key twice": (file_of(b'{"w": {"dtype": "F32", "dtype": "I32"}}'), "'dtype' comes twice"),
    "metadata": (file_of({**TABLE, "__metadata__": {"a": 1}}), "strings.*__metadata__"),
    "metadata list": (file_of({**TABLE, "__metadata__": []}), "strings.*__metadata__"),
    "entry": (file_of({"w": [1]}), r"no JSON object.*tensor 'w'"),
    "no shape": (file_of({"w": {"dtype": "F32", "data_offsets": [0, 0]}}), "no 'shape'"),
    "dtype": (file_of(entry(dtype="F33")), r"dtype 'F33' is unknown.*tensor 'w'.*BOOL"),
    "dtype of a kind": (file_of(entry(dtype=["F32"])), "is unknown"),
    "dtype of another size": (file_of(entry(dtype="F16")), r"takes 12 bytes.* 24 apart"),
    "shape": (file_of(entry(shape=[2, -3])), r"\[2, -3\] is no shape"),
    "shape of floats": (file_of(entry(shape=[2.0, 3])), "is no shape"),
    "shape of bools": (file_of(entry(shape=[True, 6])), "is no shape"),
    "shape of 65 axes": (file_of(entry(shape=[1] * 65)), "is no shape"),
    "huge shape": (file_of(entry(shape=[2**62, 2**62])), "takes .* bytes"),
    "offsets": (file_of(entry(data_offsets=[24])), "are no offsets"),
    "negative offsets": (file_of(entry(data_offsets=[-24, 0])), "are no offsets"),
    "reversed offsets": (file_of(entry(data_offsets=[48, 24])), "-24 apart"),
    "overlap": (file_of(entry(data_offsets=[20, 44])), r"begins at byte 20.*overlaps.*'w'"),
    "gap": (file_of(entry(data_offsets=[28, 52]), DATA + b"    "), r"gap before it.*tensor 'w'"),
    "out of range": (file_of(TABLE, DATA[:-1]), r"at byte 48 .* at 47: it is cut short.*'w'"),
    "more": (file_of(TABLE, DATA + b"x"), r"at 49: it has more"),
    "bool": (file_of({"m": {"dtype": "BOOL", "shape": [2], "data_offsets": [0, 2]}}, b"\1\2"),
             "bool is neither 0 nor 1.*'m'"),
    "zip": (b"PK\x03\x04" + b"x" * 100, r"zip file, as torch\.save.*convert"),
    "npy": (b"\x93NUMPY\x01\x00" + b"x" * 100, "numpy.save"),
    "half own": (file_of({**TABLE, "__metadata__": {"polygrad": "1"}}), "lack 'polygrad.str"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("mmap", [False, True])
def test_what_is_wrong_and_where(path, name, mmap):
    raw, match = BROKEN[name]
    path.write_bytes(raw)
    with pytest.raises(FileFormatError, match=match) as caught:
        pg.load(path, mmap=mmap)
    assert str(path) in caught.value.where
    assert all((caught.value.what, caught.value.where, caught.value.fix))


def test_a_header_larger_than_the_format_allows(path, monkeypatch):
    monkeypatch.setattr("polygrad.io.header.LARGEST", 100)
    path.write_bytes(file_of(TABLE))
    with pytest.raises(FileFormatError, match=r"bytes long, and at most 100 are allowed"):
        pg.load(path)


def test_only_regular_files(tmp_path):
    with pytest.raises(FileFormatError, match="folder holds no"):
        pg.load(tmp_path)
    with pytest.raises(FileFormatError, match="no regular file"):
        pg.load("/dev/null")


def test_eight_bit_floats_need_a_dtype(path):
    ml_dtypes = optional("ml_dtypes")
    x = np.array([1.5, -2], ml_dtypes.float8_e4m3fn)
    path.write_bytes(
        file_of({"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}, x.tobytes())
    )
    with pytest.raises(DtypeError, match=r"cannot hold float8_e4m3fn.*'x'.*dtype=pg.float32"):
        pg.load(path)
    assert pg.load(path, dtype=pg.float32)["x"].tolist() == [1.5, -2]


# ---- files of polygrad ----------------------------------------------------------------------
STATE = {
    "model": {"w": pg.asarray(W), "b": pg.asarray(B), "m": pg.tensor([True, False])},
    "optimizer": {0: {"step": 3, "lr": 1e-3}, 1: (None, "x", 2j, float("inf"))},
    "c": pg.tensor([1 + 2j], dtype=pg.complex128),
}


@pytest.fixture
def own(path):
    pg.save(STATE, path, metadata={"by": "me"})
    return path.read_bytes()


def rewritten(raw, change, *, digest=False):
    """A file of another structure; with a right digest, as somebody would make it on purpose."""
    from polygrad.io import header

    length = int.from_bytes(raw[:8], "little")
    table = json.loads(raw[8 : 8 + length])
    structure = json.loads(table["__metadata__"]["polygrad.structure"])
    table["__metadata__"]["polygrad.structure"] = json.dumps(change(structure, table))
    made = json.dumps(table, separators=(",", ":")).encode()
    if digest:
        place = header._digest_place(made)
        text = header._digest(made, place).encode()
        made = made[: place.start(1)] + text + made[place.end(1) :]
    return file_of(made, raw[8 + length :])


def test_another_program_changed_it(path, own):
    path.write_bytes(rewritten(own, lambda structure, table: structure))
    with pytest.raises(FileFormatError, match=r"digest differs.*header.*verify=False"):
        pg.load(path, mmap=True)
    assert pg.load(path, verify=False)["model"]["b"].tolist() == [0, 1, 2]


def test_payload_damage_is_found_and_named(path, own):
    damaged = bytearray(own)
    damaged[8 + int.from_bytes(own[:8], "little") + 16] ^= 4  # the first of b, which follows c
    path.write_bytes(damaged)
    for options in ({}, {"mmap": True, "verify": True}):
        with pytest.raises(FileFormatError, match=r"checksum differs.*tensor 'model\.b'"):
            pg.load(path, **options)
    pg.load(path, mmap=True)  # as documented: only the header is checked
    pg.load(path, verify=False, keys=["c"])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda s, t: {"dict": {"a": {"tensor": "nowhere"}}}, "no tensor 'nowhere'"),
        (lambda s, t: {"dict": {}}, "structure lacks 4 tensors, among them 'c'"),
        (lambda s, t: {"evil": "os.system"}, "kind 'evil' is unknown"),
        (lambda s, t: {"tuple": [], "list": []}, "kind 'tuple' is unknown"),
        (lambda s, t: {}, "kind '' is unknown"),
        (lambda s, t: {"tensor": ["c"]}, "names no array"),
        (lambda s, t: {"tensor": "c", "code": "x"}, "names no array"),
        (lambda s, t: {"tensor": "model.b", "complex128": True}, r"int64 of .* no complex128"),
        (lambda s, t: {"tensor": "model.b", "requires_grad": True}, "cannot require grad"),
        (lambda s, t: {"items": [[[1], 2]]}, "cannot be a key"),
        (lambda s, t: {"items": [[{"tensor": "c"}, 2]]}, "'c' is a key"),
        (lambda s, t: {"items": [[1, 2], [1, 3]]}, "key 1 comes twice"),
        (lambda s, t: {"items": [[1, 2, 3]]}, "no key with its value"),
        (lambda s, t: {"dtype": "object"}, "is no dtype"),
        (lambda s, t: {"float": 3}, "is no float"),
        (lambda s, t: {"complex": ["1"]}, "is no complex"),
        (lambda s, t: {"bytes": "%%"}, "is no bytes"),
        (lambda s, t: {"device": ""}, "is no device"),
        (lambda s, t: t["__metadata__"].update({"polygrad": "2"}), "version '2'.*newer"),
        (lambda s, t: t["__metadata__"].update({"polygrad.checksums": "00"}), "not 4 checksums"),
    ],
)
def test_a_structure_that_somebody_made_up(path, own, change, match):
    path.write_bytes(rewritten(own, change, digest=True))
    with pytest.raises(FileFormatError, match=match):
        pg.load(path)


def test_a_structure_nested_too_deeply(path, own):
    def deep(structure, table):
        for _ in range(300):
            structure = {"tuple": [structure]}
        return structure

    path.write_bytes(rewritten(own, deep, digest=True))
    pg.load(path)
    length = int.from_bytes(own[:8], "little")
    table = json.loads(own[8 : 8 + length])
    for text in ("[" * 100_000 + "]" * 100_000, '{"tuple":[' * 5000 + "1" + "]}" * 5000):
        table["__metadata__"]["polygrad.structure"] = text
        path.write_bytes(file_of(table, own[8 + length :]))
        with pytest.raises(FileFormatError, match=r"not JSON|nested too deeply"):
            pg.load(path, verify=False)


# ---- random damage ------------------------------------------------------------------------------
TOKENS = [
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"-1", b"0", b"1e9", b"true", b"null", b"F32", b"I32",
    b"F64", b"BOOL", b"C64", b"BF16", b"99999999999999999999", b"\\u0000", b"\xff", b"NaN",
    b'"dtype"', b'"data_offsets"', b'"w"', b"__metadata__", b"polygrad", b'"dict"', b'"tensor"',
]  # fmt: skip


def damaged(raw, rng):
    """One to four changes, most of them in the header."""
    made = bytearray(raw)
    header = 8 + int.from_bytes(raw[:8], "little")
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        end = min(rng.choice([header, header, len(raw)]), len(made))
        i = rng.randrange(max(end, 1))
        how = rng.randrange(6)
        if how == 0:
            made[i : i + 1] = bytes([(made[i] if made else 0) ^ 1 << rng.randrange(8)])
        elif how == 1:
            made[i : i + 1] = bytes([rng.randrange(256)])
        elif how == 2:
            del made[i : i + rng.randrange(1, 9)]
        elif how == 3:
            token = rng.choice(TOKENS)
            made[i : i + rng.choice([0, len(token)])] = token
        elif how == 4:
            del made[i:]
        else:  # a token more, and the length of the header right
            token = rng.choice(TOKENS)
            made[max(i, 8) : max(i, 8)] = token
            length = int.from_bytes(made[:8], "little") + len(token)
            made[:8] = (length % 2**64).to_bytes(8, "little")
    return bytes(made)


def test_random_damage_never_gives_wrong_numbers(path, own):
    rng = random.Random(0)
    errors = 0
    for _ in range(1500):
        raw = damaged(own, rng)
        path.write_bytes(raw)
        if raw == own:
            continue
        for options in ({}, {"mmap": True, "verify": True}):
            with pytest.raises(FileFormatError) as caught:
                pg.load(path, **options)
            assert str(path) in str(caught.value)
            errors += 1
        try:
            pg.load(path, verify=False)
        except PolygradError as error:
            assert str(error)  # noqa: PT017  it may be right, or an error, and nothing else
    assert errors > 2500


def test_every_single_bit_counts(path):
    pg.save({"w": pg.asarray(W)}, path)
    own = path.read_bytes()
    for i in range(len(own)):
        raw = bytearray(own)
        raw[i] ^= 1 << (i % 8)
        path.write_bytes(raw)
        with pytest.raises(FileFormatError):
            pg.load(path)
