"""What the suite imports is what its extra installs: a plugin's author has nothing else."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN = {"polygrad", "polygrad_conformance"}
# Jinja needs the first; level exhaustive says what to install where the second is missing.
BESIDES = {"markupsafe", "hypothesis"}


def test_the_extra_has_all_that_the_suite_imports():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needs = [*project["dependencies"], *project["optional-dependencies"]["conformance"]]
    installed = {re.match(r"[\w-]+", need).group().replace("-", "_") for need in needs}
    wanted = {}
    for path in (ROOT / "conformance" / "polygrad_conformance").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            wanted.update({name.partition(".")[0]: path.name for name in names})
    lacking = {n: p for n, p in wanted.items()
               if n not in installed | OWN | BESIDES | set(sys.stdlib_module_names)}  # fmt: skip
    assert not lacking, "the extra `conformance` does not install them"
