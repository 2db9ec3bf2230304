"""Packages: the same bytes for the same report; tampering is named, hostile archives refused."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tracemalloc
from dataclasses import replace
from hashlib import sha256

import pytest

from polygrad.errors import FileFormatError
from polygrad_conformance.report import Report, write_json
from polygrad_conformance.report import archive as archive_module
from polygrad_conformance.report.archive import pack_files, unpack_files
from polygrad_conformance.report.json_report import digest, dumps, loads, to_document
from polygrad_conformance.report.package import FILES, SUMS, Submitter, make_package
from polygrad_conformance.report.verify import ids_digest, verify
from tests.conformance.records import NASTY, every_status, measured, result, run_of, synthetic
from tests.conformance.test_report_compared import called

KNOWN = b'[[known]]\nselect = "op=a"\nreason = "b"\nurl = "https://example.org"\n'


def declared_run(run):
    ids = [r.id for r in run.results]
    return replace(run, declared=len(ids), digest=ids_digest(ids))


RUN = declared_run(run_of(
    measured("exp/float32/value/0", 2.0), result("exp/float32/dtype/0"),
    measured("cosh/float32/value/0", 24.0, grade="B"), result("sum/int8/value/0", "known"),
))  # fmt: skip
IDS = [r.id for r in RUN.results]


def package(run=RUN, **facts):
    return make_package(Report.of(run), known=KNOWN, **facts)


def problems(data, ids=IDS):
    return verify(data, "theirs.tgz", None if ids is None else lambda run: ids)


def test_a_package_is_the_same_at_another_time(monkeypatch):
    before = package()
    monkeypatch.setattr("time.time", lambda: 1e9)
    assert package() == before


def test_a_package_is_the_same_twice():
    facts = {
        "manifest": {"b": {2, 1}, "a": None},
        "submitter": Submitter("A. Nyone", "a@example.org"),
    }
    assert package(**facts) == package(replace(RUN, results=RUN.results[::-1]), **facts)
    files = unpack_files(package(**facts))
    assert set(files) == set(FILES)
    assert files["known_failures.toml"] == KNOWN
    assert json.loads(files["manifest.json"]) == {"b": ["1", "2"], "a": None}


def test_other_programs_can_read_it():
    with tarfile.open(fileobj=io.BytesIO(package())) as opened:
        names = opened.getnames()
        assert names == sorted(f"polygrad-conformance-mychip-0-full/{name}" for name in FILES)
        assert {(m.uid, m.gid, m.mtime, m.mode) for m in opened} == {(0, 0, 0, 0o644)}
        sums = opened.extractfile(f"{names[0].partition('/')[0]}/{SUMS}").read().decode()
        for line in sums.splitlines():
            expected, name = line.split("  ")
            data = opened.extractfile(f"{names[0].partition('/')[0]}/{name}").read()
            assert sha256(data).hexdigest() == expected


def test_the_statement_says_what_is_claimed():
    said = json.loads(unpack_files(package(submitter=Submitter("A. Nyone")))["statement.json"])
    assert said["verdict"] == "CONFORMANT; known failures: 1"
    assert said["conformant"] is True
    assert said["submitter"] == "A. Nyone"
    assert (
        said["command"]
        == "polygrad-conformance run --backend mychip --device mychip:0 --level full"
    )


@pytest.mark.parametrize(
    "run", [RUN, every_status(), synthetic(4), run_of(), run_of(result(message=NASTY))]
)
def test_a_package_as_it_was_made_is_verified(run):
    run = declared_run(run)
    facts = {
        "submitter": Submitter(NASTY, NASTY, NASTY),
        "manifest": {"x": NASTY.replace("\ud800", "")},
    }
    assert problems(package(run, **facts), [r.id for r in run.results]) == []


def test_a_compact_report_is_no_package():
    compact = loads(dumps(to_document(RUN, compact=True)).encode())
    with pytest.raises(FileFormatError, match="a package needs a full report"):
        make_package(compact)


# ---- tampering -----------------------------------------------------------------------------------
def tampered(change, *, sums=True, deep=True):
    """The package after `change(files, document)`; checksums are made anew, as a cheat would."""
    files = unpack_files(package())
    document = json.loads(files["report.json"])
    change(files, document)
    if deep:
        document["sha256"] = digest(document)
    files["report.json"] = dumps(document).encode()
    if sums:
        names = sorted(set(files) - {SUMS})
        files[SUMS] = "".join(f"{sha256(files[n]).hexdigest()}  {n}\n" for n in names).encode()
    return pack_files("x", files)


def edit(path, /, **facts):
    def change(files, document):
        found = next(r for r in document["results"] if r["id"] == path)
        found.update(facts)
        for name, value in list(facts.items()):
            if value is None:
                del found[name]

    return change


def test_any_changed_file_breaks_its_checksum():
    for name in set(FILES) - {SUMS}:
        files = unpack_files(package())
        files[name] += b"\n"
        assert f"{name} is not what its checksum says" in problems(pack_files("x", files))


def test_each_byte_of_a_package_counts():
    files = unpack_files(package())
    data = files["report.json"]
    for i in range(0, len(data), 41):
        files["report.json"] = data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]
        assert problems(pack_files("x", files))


def test_files_that_are_missing_or_do_not_belong_are_named():
    for name in FILES:
        files = unpack_files(package())
        del files[name]
        assert f"{name} is missing" in problems(pack_files("x", files))
    files = unpack_files(package())
    files["setup.py"] = b"import os"
    assert "setup.py does not belong in a package" in problems(pack_files("x", files))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (edit("cosh/float32/value/0", grade="A"), "value/0 has grade A with 24 where 4 is allowed"),
        (edit("cosh/float32/value/0", measured=99.0), "has grade B with 99 where 4 is allowed"),
        (edit("exp/float32/value/0", grade="F"), "exp/float32/value/0 passed with grade F"),
        (edit("sum/int8/value/0", known=None), "is known to fail, and no entry says so"),
        (edit("sum/int8/value/0", status="pass"), "report.json counts other than its results"),
        (edit("exp/float32/dtype/0", status="fail"), "its results say NOT CONFORMANT (1 fail)"),
        (edit("exp/float32/dtype/0", op="log"), "exp/float32/dtype/0 is the record of log/float32"),
        (edit("exp/float32/dtype/0", id="a/b/c/d", op="a", dtype="b", check="c", sample="d"),
         "exp/float32/dtype/0 is declared, and not in report.json"),
    ],
)  # fmt: skip
def test_a_changed_result_is_named_though_all_checksums_fit(change, says):
    assert says in "\n".join(problems(tampered(change)))


def test_a_check_that_was_left_out_is_named():
    def change(files, document):
        document["results"] = [r for r in document["results"] if r["op"] != "cosh"]
        document["volatile"]["ms"].pop()
        document["counts"]["pass"] -= 1

    assert "cosh/float32/value/0 is declared, and not in report.json" in problems(tampered(change))


def test_a_check_that_was_invented_is_named():
    def change(files, document):
        new = {"id": "a/b/c/0", "op": "a", "dtype": "b", "check": "c", "sample": "0"}
        document["results"].append({**document["results"][0], **new})
        document["volatile"]["ms"].append(0.0)

    assert "a/b/c/0 is in report.json, and not declared" in "\n".join(problems(tampered(change)))


def test_a_changed_claim_of_the_run_is_named():
    def change(files, document):
        document["run"]["device"] = "better:0"

    found = "\n".join(problems(tampered(change)))
    assert "statement.json says device is 'mychip:0'; by the report it is 'better:0'" in found

    def verdict(files, document):
        document["run"]["level"] = "exhaustive"
        document["run"]["declared"] = 9

    assert "is of 9 declared checks; this suite declares 4" in "\n".join(
        problems(tampered(verdict))
    )


def test_a_changed_report_is_named_by_its_own_digest():
    found = problems(tampered(edit("exp/float32/dtype/0", worst="x=1"), deep=False))
    assert found[0] == "report.json was changed: its results are not those of its sha256"


@pytest.mark.parametrize("name", ["statement.json", "manifest.json", "known_failures.toml"])
@pytest.mark.parametrize("data", [b"\xff", b"[" * 99999, b"= 1"])
def test_a_damaged_file_is_named(name, data):
    def change(files, document):
        files[name] = data

    assert f"{name} is damaged" in "\n".join(problems(tampered(change)))


def test_damaged_sums_and_reports_are_named():
    files = unpack_files(package())
    files[SUMS] += b"hello\n"
    assert f"{SUMS} has a line that is no checksum" in problems(pack_files("x", files))
    files[SUMS] = b"0" * 64 + b"  ../../etc/passwd\n"
    found = problems(pack_files("x", files))
    assert f"{SUMS} names ../../etc/passwd, which is not there" in found
    assert f"{SUMS} does not name report.json" in found
    files["report.json"] = b"{}"
    assert "no report of polygrad-conformance" in problems(pack_files("x", files))[-1]


def test_many_problems_of_a_kind_are_counted():
    assert "and 3 more like this" in problems(package(), [*IDS, *map(str, range(8))])


def test_a_part_need_not_have_every_check():
    run = replace(RUN, selection="-k exp", results=[r for r in RUN.results if r.op == "exp"])
    assert problems(package(run)) == []


# ---- hostile archives ----------------------------------------------------------------------------
def member(name, data=b"x", kind=tarfile.REGTYPE, size=None, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, len(data) if size is None else size
    return info.tobuf(tarfile.USTAR_FORMAT) + data + b"\0" * (-len(data) % 512)


def refusal(plain, *, packed=True):
    data = gzip.compress(plain) if packed else plain
    with pytest.raises(FileFormatError, match=r"the package theirs\.tgz is refused") as caught:
        unpack_files(data, "theirs.tgz")
    assert verify(data, "theirs.tgz") == [str(caught.value)]
    return str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["../a", "/etc/passwd", "a", "a/../../b", "a/b/c", "a/..", "./a", "a/", "a//b", "a\\b/c",
     "C:/a", "a/\x1b[31m", "a/b\nc"],
)  # fmt: skip
def test_a_name_that_leads_elsewhere_is_refused(name):
    assert "is not FOLDER/FILE" in refusal(member(name))


@pytest.mark.parametrize(
    ("kind", "says"),
    [(tarfile.SYMTYPE, "a symbolic link"), (tarfile.LNKTYPE, "a hard link"),
     (tarfile.DIRTYPE, "a folder"), (tarfile.CHRTYPE, "a device"), (tarfile.FIFOTYPE, "a pipe"),
     (tarfile.XHDTYPE, "of type b'x'"), (tarfile.GNUTYPE_LONGNAME, "of type b'L'"),
     (tarfile.GNUTYPE_SPARSE, "of type b'S'")],
)  # fmt: skip
def test_what_is_no_plain_file_is_refused(kind, says):
    assert says in refusal(member("x/report.json", kind=kind, target="/etc/passwd"))


def test_a_small_archive_that_unpacks_to_gigabytes_is_refused(monkeypatch):
    monkeypatch.setattr(archive_module, "LIMIT", 2**20)
    bomb = gzip.compress(member("x/report.json", b"\0" * 2**25))
    assert len(bomb) < 40_000
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="more than 1048576 bytes"):
        unpack_files(bomb)
    assert tracemalloc.get_traced_memory()[1] < 2**23
    tracemalloc.stop()


@pytest.mark.parametrize("size", [8**11 - 1, 600, -1])
def test_a_size_that_is_a_lie_is_refused(size):
    data = bytearray(member("x/report.json", size=max(size, 0)))
    if size < 0:  # base 256, as GNU tar writes what does not fit
        data[124:136] = b"\xff" * 12
        info = sum(data[:148]) + sum(data[156:512]) + 8 * 32
        data[148:156] = f"{info:06o}\0 ".encode()
    assert f"claims {size} bytes" in refusal(bytes(data))


@pytest.mark.parametrize(
    ("plain", "says"),
    [
        (member("x/a") * 2, "there twice"),
        (member("x/a") + member("y/b"), "a second folder"),
        (b"".join(member(f"x/{i}") for i in range(17)), "one file too many"),
        (member("x/a") + b"\0" * 1024 + b"hidden", "something behind its last file"),
        (b"\1" * 512, "a header is damaged"),
        (b"\0" * 1024, "it is empty"),
        (b"", "it is empty"),
    ],
)
def test_an_odd_archive_is_refused(plain, says):
    assert says in refusal(plain)


CUT = gzip.compress(b"x" * 999, mtime=0)[:-9]


@pytest.mark.parametrize("data", [b"", b"PK\3\4", b"\x1f\x8b", CUT])
def test_what_is_no_archive_is_refused(data):
    said = refusal(data, packed=False)
    assert "it is no .tgz, or damaged" in said or "it is empty" in said


def test_a_cut_archive_is_refused():
    data = package()
    for end in range(1, len(data), 53):
        assert problems(data[:end])


# ---- the commands --------------------------------------------------------------------------------
def test_the_commands_make_and_verify_a_package(tmp_path, monkeypatch):
    monkeypatch.setattr("polygrad_conformance.report.commands.declared", lambda run: IDS)
    report = write_json(RUN, tmp_path / "report.json")
    known, out = tmp_path / "known.toml", tmp_path / "claim.tgz"
    known.write_bytes(KNOWN)
    status, said = called(
        "package", report, "--out", out, "--known", known, "--submitter", "A. Nyone"
    )
    assert (status, said) == (0, f"wrote {out}: CONFORMANT; known failures: 1")
    status, said = called("verify", out)
    assert status == 0
    assert said.startswith("verified: CONFORMANT; known failures: 1\n")
    out.write_bytes(tampered(edit("cosh/float32/value/0", grade="A")))
    status, said = called("verify", out)
    assert status == 1
    assert said.splitlines()[-1].startswith("NOT VERIFIED: ")
    assert called("verify", tmp_path / "none.tgz")[0] == 3


def test_the_manifest_is_that_of_the_backend(tmp_path):
    report = write_json(replace(RUN, backend="numpy", device="cpu"), tmp_path / "report.json")
    out = tmp_path / "claim.tgz"
    assert called("package", report, "--out", out)[0] == 0
    manifest = json.loads(unpack_files(out.read_bytes())["manifest.json"])
    assert manifest["writeable"] is True
    other = tmp_path / "manifest.json"
    other.write_text('{"float64": false}', encoding="utf-8")
    assert called("package", report, "--out", out, "--manifest", other)[0] == 0
    assert json.loads(unpack_files(out.read_bytes())["manifest.json"]) == {"float64": False}
    assert called("package", report, "--manifest", tmp_path / "none.json")[0] == 3


def test_a_package_of_what_failed_says_so(tmp_path):
    report = write_json(run_of(result(status="fail")), tmp_path / "report.json")
    status, said = called("package", report, "--out", tmp_path / "claim.tgz")
    assert status == 0
    assert "it is no claim of conformance" in said
