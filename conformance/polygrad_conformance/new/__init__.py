"""`new`: writes the package of a backend, which installs and passes step 0 on a simulated chip."""

from __future__ import annotations

import argparse
import importlib.util
import keyword
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from polygrad.errors import InvalidArgumentError
from polygrad.registry import entries

__all__ = ["FILES", "add", "package", "write_package"]

WORD = "mychip"  # what the templates call the backend, in names of files too
# Where each template goes.
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "known_failures.toml": "known_failures.toml",
    "workflow.yml": ".github/workflows/conformance.yml",
    "backend.py": "src/polygrad_mychip/__init__.py",
    "simulated.py": "src/polygrad_mychip/simulated.py",
    "test_polygrad.py": "tests/test_polygrad.py",
}
WHERE = "polygrad-conformance new"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `new` to the subcommands of a parser."""
    parser = commands.add_parser(
        "new", help="write the package of a new backend, to be edited", description=__doc__
    )
    parser.add_argument("name", help="of the backend, in small letters: mychip")
    parser.add_argument(
        "--folder", default="", help="a new or empty folder (default: polygrad-NAME)"
    )
    parser.set_defaults(do=_main)


def _main(args: argparse.Namespace) -> int:
    folder = write_package(args.name, args.folder or None)
    print(f"wrote {len(FILES)} files to {folder}; the places to edit are marked EDIT. Next:\n")
    print(f'  cd "{folder}"' if " " in str(folder) else f"  cd {folder}")
    print("  pip install --editable .")
    print(f"  polygrad-conformance run --backend {args.name} transfer")
    return 0


def package(name: str) -> dict[str, str]:
    """The files of the package for a backend: the text of each by its path."""
    made = {}
    for source, path in FILES.items():
        template = resources.files(__name__).joinpath("template", f"{source}.txt")
        made[path.replace(WORD, name)] = template.read_text(encoding="utf-8").replace(WORD, name)
    return made


def write_package(name: str, folder: str | Path | None = None) -> Path:
    """Write the package into a folder, which is new or empty; all of it or nothing.

    Raises
    ------
    InvalidArgumentError
        The name cannot be used or is taken, or the folder has something in it or cannot be made.
    """
    _check_name(name)
    folder = Path(folder or f"polygrad-{name}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidArgumentError(
            f"{folder} exists" + (" and is not empty" if folder.is_dir() else " and is a file"),
            WHERE,
            "name another one with --folder, or remove it",
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=".polygrad-new-", dir=folder.parent))
        try:
            for path, text in package(name).items():
                (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
                (unfinished / path).write_text(text, encoding="utf-8")
            unfinished.chmod(0o755)  # mkdtemp's is for its owner alone
            if folder.exists():
                folder.rmdir()
            unfinished.rename(folder)
        except BaseException:
            shutil.rmtree(unfinished)
            raise
    except OSError as error:
        raise InvalidArgumentError(
            f"{folder} cannot be written: {error}", WHERE, "name another one with --folder"
        ) from error
    return folder


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        close = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_0123456789")
        hint = f", as {close!r}" if close and not keyword.iskeyword(close) else ""
        raise InvalidArgumentError(
            f"{name!r} cannot be the name of a backend",
            WHERE,
            f"start with a letter and use small letters, digits and _{hint}",
        )
    taken = {word: e.name for e in entries() for word in (e.name, *e.device_kinds)}
    if name in taken:
        raise InvalidArgumentError(
            f"{name!r} is taken: the backend {taken[name]!r} is installed and has it as a name of "
            "its own or of its devices",
            WHERE,
            "take another name",
        )
    if importlib.util.find_spec(f"polygrad_{name}") is not None:
        raise InvalidArgumentError(
            f"{name!r} is taken: there is a module polygrad_{name} already",
            WHERE,
            "take another name",
        )
