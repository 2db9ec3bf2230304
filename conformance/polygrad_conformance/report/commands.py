"""The subcommands of the reports: each a module with `add_arguments(parser)` and `main(args)`."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterable
from typing import Any

from polygrad.errors import FileFormatError
from polygrad_conformance.record import Run

__all__ = ["SUBCOMMANDS", "add", "declared"]

# Command, which is the name of its module too, and what it does.
SUBCOMMANDS = {
    "show": "a report that was kept, in the terminal, as HTML or as JUnit XML",
    "diff": "what got worse and what got better between two reports",
    "matrix": "a table of many reports, in Markdown or HTML",
    "package": "a report with its manifest and known failures, in one file to publish",
    "verify": "whether a package holds together and its report is complete",
    "merge": "the parts of a run as one report",
}


def add(commands: Any) -> None:
    """Add the subcommands to those of a parser; `args.do(args)` runs the one that was given."""
    for name, words in SUBCOMMANDS.items():
        module = importlib.import_module(f"polygrad_conformance.report.{name}")
        parser: argparse.ArgumentParser = commands.add_parser(
            name, help=words, description=module.main.__doc__
        )
        module.add_arguments(parser)
        do: Callable[[argparse.Namespace], int] = module.main
        parser.set_defaults(do=do)


def declared(run: Run) -> Iterable[str]:
    """The ids of the checks that this suite declares at the level of a run.

    Raises
    ------
    FileFormatError
        The run was made by another version of the suite, or with other inputs.
    """
    from polygrad_conformance import __version__
    from polygrad_conformance.collection import collect
    from polygrad_conformance.declarations import SEED_REVISION

    mine, theirs = (__version__, SEED_REVISION), (run.suite_version, run.seed_revision)
    if mine != theirs:
        raise FileFormatError(
            f"the report is of suite {theirs[0]}, seed revision {theirs[1]}, and cannot be counted "
            f"by suite {mine[0]}, seed revision {mine[1]}",
            "", "Install that version, or use --no-recount",
        )  # fmt: skip
    return [case.id for case in collect(run.level)]
