"""The command `polygrad-conformance`."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from polygrad_conformance import __version__

__all__ = ["main"]

EPILOG = """exit codes: 0 conformant at this level, 1 failures, 2 a stale list of known failures,
3 an error of the suite, or nothing ran"""


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for word in text.split(",") if word)


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _stride(text: str) -> int:
    base, _, power = text.partition("^")
    found = 2 ** int(power) if base == "2" and power.isdecimal() else int(text.isdecimal() and text)
    if not 1 <= found <= 2**28 or found & (found - 1):
        raise argparse.ArgumentTypeError(f"{text!r} is no power of two from 1 to 2^28")
    return found


def _part(text: str) -> tuple[int, int]:
    i, _, n = text.partition("/")
    try:
        part = int(i), int(n)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not i/n") from None
    if not 1 <= part[0] <= part[1]:
        raise argparse.ArgumentTypeError(f"{text!r}: i is from 1 to n")
    return part


def _selecting(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="CASE",
                        help="ids of cases, globs of them, or parts of them")  # fmt: skip
    parser.add_argument("-k", action="append", default=[], metavar="CASE", help="the same")
    parser.add_argument("--level", default="smoke", help="smoke (default), full or exhaustive")
    parser.add_argument("--checks", type=_words, default=(), help="kinds of check, with commas")
    parser.add_argument("--without", type=_words, default=(), help="kinds of check to leave out")
    parser.add_argument("--dtypes", type=_words, default=(), help="dtypes, with commas")
    parser.add_argument("--part", type=_part, default=(1, 1), metavar="I/N",
                        help="one of N parts, by operation")  # fmt: skip


def _running(parser: argparse.ArgumentParser) -> None:
    _selecting(parser)
    parser.add_argument(
        "--backend", default="", help="a name, or module:Class (default: that of the device)"
    )
    parser.add_argument(
        "--device",
        default="",
        help="one of its devices (default: the first; without a backend cpu)",
    )
    parser.add_argument("--known", metavar="FILE", help="known failures (TOML)")
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS",
        help="for a case; ten times that for the first of an operation and dtype",
    )  # fmt: skip
    parser.add_argument(
        "-n", "--workers", type=_count, default=0, metavar="N",
        help="child processes at once (default: 2 where arrays are NumPy's, else 1); "
             "the results are the same",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=0.0, metavar="SECONDS",
        help="for everything: what has not begun by then is not run, and counts as that",
    )  # fmt: skip
    parser.add_argument(
        "--stride", type=_stride, default=_stride("2^16"), metavar="2^K",
        help="at level exhaustive, of so many neighbouring float32 numbers one (default: 2^16)",
    )  # fmt: skip
    parser.add_argument("--no-isolate", action="store_true",
                        help="run in this process: a crash ends everything")  # fmt: skip
    parser.add_argument("--fail-untriaged", action="store_true",
                        help="count untriaged known failures as failures")  # fmt: skip


def parser() -> argparse.ArgumentParser:
    """The command line; commands of other modules add themselves."""
    made = argparse.ArgumentParser(
        "polygrad-conformance", description="Does a device compute what polygrad promises?",
        epilog=EPILOG,
    )  # fmt: skip
    made.add_argument("--version", action="version", version=__version__)
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shown = commands.add_parser("list", help="show the cases")
    _selecting(shown)
    shown.add_argument("--count", action="store_true", help="only how many, by check and by step")
    shown.set_defaults(do=_list)
    run = commands.add_parser("run", help="run cases on a device and report", epilog=EPILOG)
    _running(run)
    run.add_argument("--report", metavar="FOLDER", help="write report.json and other forms there")
    run.add_argument("--quiet", action="store_true", help="no progress")
    run.add_argument(
        "--snippet", metavar="ID",
        help="print the failure of one case as a script that does not need the suite",
    )  # fmt: skip
    run.set_defaults(do=_run)
    base = commands.add_parser("baseline", help="draft known failures from a run, to be triaged")
    _running(base)
    base.add_argument("--write", metavar="FILE", help="append to this file (default: print)")
    base.set_defaults(do=_baseline)
    for part in ("faults.commands", "report.commands", "new"):
        importlib.import_module(f"polygrad_conformance.{part}").add(commands)
    return made


def _selection(args: argparse.Namespace) -> Any:
    from polygrad_conformance.collection import Selection

    return Selection((*args.words, *args.k), args.checks, args.without, args.dtypes, args.part)


def _list(args: argparse.Namespace) -> int:
    from collections import Counter

    from polygrad_conformance.collection import collect, select
    from polygrad_conformance.ladder import STEPS

    cases = select(collect(args.level), _selection(args))
    if not args.count:
        print("\n".join(case.id for case in cases))
        return 0
    for step, n in sorted(Counter(case.step for case in cases).items()):
        print(f"{n:7}  step {step}: {STEPS[step]}")
    for check, n in Counter(case.check for case in cases).most_common():
        print(f"{n:7}  {check}")
    print(f"{len(cases):7}  in all, of {len({c.op for c in cases})} operations")
    return 0


def _options(args: argparse.Namespace) -> Any:
    from polygrad_conformance.known import KnownFailures
    from polygrad_conformance.options import Options

    return Options(
        args.backend, args.device, args.level, _selection(args), args.timeout,
        not args.no_isolate, args.workers, args.seconds, args.stride,
        KnownFailures.read(args.known) if args.known else None,
        (os.getcwd(),),  # noqa: PTH109  a folder to import from
    )  # fmt: skip


def _run(args: argparse.Namespace) -> int:
    from polygrad_conformance.report import show, write
    from polygrad_conformance.report.progress import progress
    from polygrad_conformance.runner import run

    if args.snippet:
        from polygrad_conformance.snippet import snippet

        print(snippet(_options(args), args.snippet))
        return 0
    with contextlib.nullcontext() if args.quiet else progress() as tick:
        made = run(_options(args), tick)
    show(made)
    if args.report:
        write(made, args.report)
    untriaged = sum(r.known == "untriaged" for r in made.results)
    if args.fail_untriaged and untriaged and made.exit_code == 0:
        print(f"{untriaged} known failures are untriaged")
        return 1
    return made.exit_code


def _baseline(args: argparse.Namespace) -> int:
    from polygrad_conformance.known import draft
    from polygrad_conformance.report.progress import progress
    from polygrad_conformance.runner import run

    with progress() as tick:
        text = draft(run(_options(args), tick))
    if args.write:
        with Path(args.write).open("a", encoding="utf-8") as file:
            file.write("\n" + text if text and file.tell() else text)
    else:
        print(text, end="")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    args = parser().parse_args(arguments)
    from polygrad.errors import PolygradError
    from polygrad_conformance.case import SuiteError
    from polygrad_conformance.options import NothingRan

    try:
        return int(args.do(args))
    except (SuiteError, NothingRan, PolygradError) as error:
        print(f"polygrad-conformance: {error}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        print("polygrad-conformance: interrupted", file=sys.stderr)
        return 3
