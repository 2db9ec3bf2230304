"""The pytest plugin: options for the tests of a plugin, and nothing unless they are used.

    pytest --pg-backend mychip --pg-level full --pg-report out

collects one test for each operation, named `polygrad-conformance::exp`, and writes the report.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from polygrad_conformance.record import Result

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
    """Write the report; a process of pytest-xdist hands over what it found instead."""
    option, stash = session.config.getoption, session.config.stash
    folder, made = option("--pg-report"), stash.get(_RUN, None)
    if not folder or not option("--pg-backend"):
        return
    if hasattr(session.config, "workeroutput"):
        found = made.results if made is not None else []
        session.config.workeroutput[_KEY] = [result.to_dict() for result in found]
        return
    if _FOUND in stash:
        made = _session(session.config)
        made.results = [Result.from_dict(data) for data in stash[_FOUND]]
    if made is not None:
        from polygrad_conformance import report

        report.write(made.judged(), Path(folder))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep what a process of pytest-xdist found."""
    node.config.stash.setdefault(_FOUND, []).extend(getattr(node, "workeroutput", {}).get(_KEY, ()))


_RUN: pytest.StashKey[Any] = pytest.StashKey()
_FOUND: pytest.StashKey[list[dict[str, Any]]] = pytest.StashKey()
_KEY = "polygrad-conformance"


def _session(config: pytest.Config) -> Any:
    """The session that the options ask for."""
    from polygrad_conformance.api import Session

    option = config.getoption
    return Session(
        option("--pg-backend"), option("--pg-device"), option("--pg-level"), option("--pg-known")
    )


class _Suite(pytest.Collector):
    """The suite as a collector of operations."""

    def collect(self) -> Iterator[pytest.Item]:
        """One test for each operation."""
        made = _session(self.config)
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
