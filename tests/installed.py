"""Packages that are as good as installed: what an installer writes, written by hand, in no time."""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["announce", "install"]


def announce(pyproject: str, site: Path) -> None:
    """Write into a folder of the import path the metadata of a package: its name, entry points."""
    project = tomllib.loads(pyproject)["project"]
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n",
        encoding="utf-8",
    )
    lines = []
    for group, points in project.get("entry-points", {}).items():
        lines += [f"[{group}]", *(f"{point} = {target}" for point, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def install(project: Path, site: Path) -> None:
    """What `pip install --editable` does to a project whose modules are in `src` or beside it."""
    announce((project / "pyproject.toml").read_text(encoding="utf-8"), site)
    modules = project / "src" if (project / "src").is_dir() else project
    (site / f"__editable__.{project.name}.pth").write_text(f"{modules}\n", encoding="utf-8")
