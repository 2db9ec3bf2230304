"""The pytest plugin: options for the tests of a plugin, and nothing unless they are used.

    pytest --pg-backend mychip --pg-level full --pg-report out

collects one test for each operation, named `polygrad-conformance::exp`, and writes the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options."""
    group = parser.getgroup("polygrad-conformance")
    group.addoption("--pg-backend", help="run the conformance suite of polygrad on this backend")
    group.addoption("--pg-device", default="", help="one of its devices (default: the first)")
    group.addoption("--pg-level", default="smoke", help="smoke (default), full or exhaustive")
    group.addoption("--pg-known", help="a file of known failures")
    group.addoption("--pg-report", help="write the report to this folder")


def pytest_collection_modifyitems(session: pytest.Session, items: list[pytest.Item]) -> None:
    """Add the suite to what was collected, if a backend was named."""
    if session.config.getoption("--pg-backend"):
        suite = _Suite.from_parent(session, name="polygrad-conformance", nodeid="conformance")
        items.extend(suite.collect())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report."""
    made = session.config.stash.get(_RUN, None)
    folder = session.config.getoption("--pg-report")
    if made is not None and folder:
        from polygrad_conformance import report

        report.write(made.judged(), Path(folder))


_RUN: pytest.StashKey[Any] = pytest.StashKey()


class _Suite(pytest.Collector):
    """The suite as a collector of operations."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each operation."""
        from polygrad_conformance.api import Session

        option = self.config.getoption
        made = Session(
            option("--pg-backend"), option("--pg-device"), option("--pg-level"),
            option("--pg-known"),
        )  # fmt: skip
        self.config.stash[_RUN] = made
        for op in made.ops:
            yield _Operation.from_parent(self, name=op)


class _Operation(pytest.Item):
    """All cases of one operation."""

    def runtest(self) -> None:
        """Run them."""
        self.config.stash[_RUN].check(self.name)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The failures, one a line, without a traceback of the suite's own."""
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Where it stands."""
        return self.path, None, self.name
