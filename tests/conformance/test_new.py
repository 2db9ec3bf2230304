"""`polygrad-conformance new`: a package that installs, is found, and passes step 0."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import pytest

from polygrad.errors import InvalidArgumentError
from polygrad_conformance import cli
from polygrad_conformance.known import KnownFailures
from polygrad_conformance.new import FILES, WORD, package, write_package
from tests.installed import install

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """A fresh virtual environment with the new package, and an empty folder to work in.

    What is installed here is there too: no test needs the network.
    """
    folder = tmp_path_factory.mktemp("new")
    venv.EnvBuilder(symlinks=os.name != "nt").create(folder / "venv")
    scheme = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
    site = Path(sysconfig.get_path("purelib", vars=scheme))
    here = [*filter(None, sys.path), str(ROOT), str(ROOT / "conformance")]
    (site / "outside.pth").write_text("\n".join(p for p in here if Path(p).is_dir()) + "\n")
    python = Path(sysconfig.get_path("scripts", vars=scheme)) / Path(sys.executable).name
    empty = folder / "empty"
    empty.mkdir()
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}

    def run(*words, cwd=empty):
        return subprocess.run(
            [str(python), *words], cwd=cwd, env=variables, capture_output=True, text=True,
            check=False,
        )  # fmt: skip

    made = run("-m", "polygrad_conformance", "new", "mychip")
    assert made.returncode == 0, made.stderr
    assert "wrote 7 files to polygrad-mychip" in made.stdout
    install(empty / "polygrad-mychip", site)
    return run, empty


# ---- what it writes is good for -----------------------------------------------------------------
def test_step_0_passes_in_a_fresh_environment(environment):
    run, empty = environment
    done = run("-m", "polygrad_conformance", "run", "--backend", "mychip", "transfer", "--quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "mychip on mychip:0" in re.sub(r" polygrad_mychip \S+", "", done.stdout)
    assert re.search(r"run (\d{2,})  \|  pass \1  fail 0\n", done.stdout), done.stdout
    assert sorted(p.name for p in empty.iterdir()) == ["polygrad-mychip"]


def test_its_own_tests_pass(environment):
    run, empty = environment
    words = ("-k", "transfer or exp", "-q", "-p", "no:cacheprovider")
    done = run("-m", "pytest", *words, cwd=empty / "polygrad-mychip")
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\b[1-9]\d+ passed", done.stdout), done.stdout


def test_a_tensor_lives_there(environment):
    run, _ = environment
    code = (
        "import polygrad as pg; x = pg.tensor([1.0, 2.0], device='mychip:1', requires_grad=True); "
        "pg.sum(x * x).backward(); print(x.grad, [d.name for d in pg.devices()][-2:])"
    )
    done = run("-c", code)
    assert done.stdout.splitlines() == [
        "tensor([2., 4.], dtype=float32, device=mychip:1) ['mychip:0', 'mychip:1']"
    ], done.stderr


def test_the_known_failures_that_are_shown_would_be_read(tmp_path):
    text = package("toy")["known_failures.toml"]
    lines = text.splitlines()
    shown = [line.removeprefix("# ") for line in lines[lines.index("#") + 1 :]]
    assert shown[0] == "[[known]]"
    (tmp_path / "shown.toml").write_text("\n".join(shown))
    (entry,) = KnownFailures.read(tmp_path / "shown.toml").entries
    assert (entry.kind, entry.measured, entry.expires) == ("accuracy", "24.5 ulp", "2027-03-01")
    assert not tomllib.loads(text)


def test_every_name_in_it_is_the_backends():
    made = package("toy_2")
    assert len(made) == len(FILES)
    for path, text in made.items():
        assert WORD not in path + text
    assert 'toy_2 = "polygrad_toy_2:Backend"' in made["pyproject.toml"]
    assert "src/polygrad_toy_2/__init__.py" in made
    compile(made["src/polygrad_toy_2/__init__.py"], "backend", "exec")


def test_the_places_to_edit_are_marked():
    made = package("toy")
    backend = made["src/polygrad_toy/__init__.py"]
    for name in ("array_types", "xp", "devices", "native_device", "device_of", "from_numpy",
                 "to_numpy", "supports", "synchronize"):  # fmt: skip
        assert re.search(rf'def {name}\(.*\n +"""EDIT: ', backend), name
    assert "EDIT" in made["pyproject.toml"]
    assert "EDIT" in made[".github/workflows/conformance.yml"]


# ---- what it refuses ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("my-chip", "small letters, digits and _, as 'my_chip'"),
        ("MyChip", "as 'mychip'"),
        ("2chip", "start with a letter"),
        ("", "cannot be the name"),
        ("../chip", "as 'chip'"),
        ("chip\n", "as 'chip'"),
        ("puce_é", "as 'puce'"),
        ("class", "cannot be the name"),
        ("numpy", "'numpy' is taken: the backend 'numpy'"),
        ("cuda", "'cuda' is taken: the backend 'cupy'"),
        ("conformance", "there is a module polygrad_conformance already"),
    ],
)
def test_a_bad_name(tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=re.escape(text)):
        write_package(name)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_empty(tmp_path, capsys):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name, text in (("there", "exists and is not empty"), ("file", "exists and is a file")):
        assert cli.main(["new", "toy", "--folder", str(tmp_path / name)]) == 3
        said = capsys.readouterr().err
        assert text in said
        assert "--folder" in said
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "mine.txt", "there"]


def test_an_empty_folder_and_one_with_parents(tmp_path):
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "empty", tmp_path / "a" / "b c"):
        write_package("toy", folder)
        found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
        assert found == set(package("toy"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "empty"]


def test_nothing_is_half_written(tmp_path, monkeypatch):
    written = []
    plain = Path.write_text

    def failing(self, *args, **kwargs):
        written.append(self)
        if len(written) == 4:
            raise OSError(28, "No space left on device")
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", failing)
    with pytest.raises(InvalidArgumentError, match="No space left on device"):
        write_package("toy", tmp_path / "toy")
    assert len(written) == 4
    assert not list(tmp_path.iterdir())


# ---- what is packed ----------------------------------------------------------------------------
def test_the_wheel_has_the_files_that_the_suite_reads(tmp_path):
    """Hatchling packs every file of `packages` that Git does not ignore: so nothing may be."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    wheel = config["targets"]["wheel"]
    assert wheel == {"packages": ["polygrad", "conformance/polygrad_conformance"]}
    assert set(config) == {"targets"}
    suite = ROOT / "conformance" / "polygrad_conformance"
    wanted = [f"new/template/{name}.txt" for name in FILES]
    wanted += ["report/schema.json", "report/page/report.html", "data/budgets.toml"]
    for name in wanted:
        assert (suite / name).is_file(), name
    unread = {p.name for p in (suite / "new" / "template").iterdir()} - {f"{n}.txt" for n in FILES}
    assert not unread
    ignored = subprocess.run(
        [shutil.which("git") or "git", "check-ignore", "--no-index", *wanted], cwd=suite,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ignored.returncode in (1, 128), ignored.stdout  # 128: no checkout


def test_a_wheel_that_is_built_has_them(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling is not installed (2026-11-30: packers only)")
    import zipfile

    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in FILES:
        assert f"polygrad_conformance/new/template/{name}.txt" in names
    for name in ("report/schema.json", "report/page/report.html", "data/budgets.toml"):
        assert f"polygrad_conformance/{name}" in names
    assert not [n for n in names if n.startswith(("tests/", "examples/"))]
