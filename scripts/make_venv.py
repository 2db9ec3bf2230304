"""Make a virtual environment with pip in it: `python scripts/make_venv.py FOLDER`.

Debian and Ubuntu ship a Python without `ensurepip`, on which `python -m venv` fails. There, pip's
own wheel is fetched from PyPI, checked against PyPI's hash, and asked to install itself.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from urllib.request import Request, urlopen

INDEX = "https://pypi.org/simple/pip/"
JSON = "application/vnd.pypi.simple.v1+json"


def newest_wheel() -> tuple[str, str]:
    """Return the address and SHA-256 of pip's newest release."""
    with urlopen(Request(INDEX, headers={"Accept": JSON}), timeout=60) as reply:
        files = json.load(reply)["files"]
    wheels = {
        tuple(map(int, version.split("."))): (file["url"], file["hashes"]["sha256"])
        for file in files
        if file["filename"].endswith("-py3-none-any.whl") and not file["yanked"]
        if (version := file["filename"].split("-")[1]).replace(".", "").isdigit()
    }
    return wheels[max(wheels)]


def install_pip(python: Path) -> None:
    """Install pip into the environment of `python`, from PyPI."""
    url, digest = newest_wheel()
    with urlopen(url, timeout=60) as reply:
        wheel = reply.read()
    if hashlib.sha256(wheel).hexdigest() != digest:
        sys.exit(f"{url} does not have the hash that {INDEX} gives: nothing was installed")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, url.rsplit("/", 1)[1])
        path.write_bytes(wheel)
        subprocess.run([python, path / "pip", "install", "--quiet", path], check=True)


def main(folder: Path) -> None:
    """Make the environment in `folder`, over what is there."""
    print(f"Making {folder} with Python {sys.version.split()[0]}", flush=True)
    has_ensurepip = importlib.util.find_spec("ensurepip") is not None
    venv.create(folder, with_pip=has_ensurepip, symlinks=os.name != "nt")
    if not has_ensurepip:
        print("This Python has no ensurepip: fetching pip from PyPI", flush=True)
        install_pip(folder / "bin" / "python")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
