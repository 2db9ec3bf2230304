"""README.md and docs/*.md run: every Python block, one namespace for each page, from top to bottom.

A page runs in a Python of its own, in an empty folder, so that what it declares stays its
own. After the word `python` a fence may say

    ```python file=NAME              the block is the file NAME, written to that folder, not run
    ```python adds=NAME              the block goes at the end of that file
    ```python no-run: REASON         the block cannot run here, and why
    ```toml file=pyproject.toml      the same; its entry points count as installed
    ```console runs WORDS            each line with a $ is run, and prints what is below it, "..."
                                     being anything; WORDS, if there are any, limit each
                                     `polygrad-conformance run` to these checks, to be quick
    ```text prints                   what the block before prints, where lines start alike: other
                                     machines have other devices

A block with `>>>` is a doctest. Other console sessions and plain text are not run. In a session
that is run, `cd` holds until the page ends, and `pip install --editable .` does what pip would.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from tests.installed import announce

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = {"python", "toml", "console", "text"}
MATCH = doctest.OutputChecker()
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what follows that, its text, its first line's number."""

    language: str
    option: str
    text: str
    line: int


class PageError(Exception):
    """A page that cannot be run as it is written."""


def blocks_of(markdown):
    """The fenced blocks of a page, in order."""
    found = []
    for match in FENCE.finditer(markdown):
        language, _, option = match["info"].strip().partition(" ")
        line = markdown.count("\n", 0, match.start("text")) + 1
        if language not in LANGUAGES:
            raise PageError(f"line {line - 1}: a fence must say one of {sorted(LANGUAGES)}")
        if language == "console" and option and option.split()[0] != "runs":
            raise PageError(f"line {line - 1}: {language} takes no {option!r}")
        found.append(Block(language, option.strip(), match["text"], line))
    return found


def run_page(page, folder):
    """Run every block of a page in one namespace; files go to `folder`, which is importable."""
    namespace, printed = {"__name__": "__main__"}, io.StringIO()
    sys.path.insert(0, str(folder))
    session = Session(folder)
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.option == "prints":
            compare_lines(block, printed.getvalue())
        elif block.language in ("console", "text") and not block.option:
            continue
        elif block.option.startswith("file="):
            write_file(folder, block.option.removeprefix("file="), block.text)
        elif block.option.startswith("adds="):
            with (folder / block.option.removeprefix("adds=")).open("a", encoding="utf-8") as file:
                file.write("\n" + block.text)
        elif block.language == "console":
            session.run(block)
        elif block.option.startswith("no-run"):
            if not re.fullmatch(r"no-run: \S+ .+", block.option):
                raise PageError(f"line {block.line - 1}: say why, as ```python no-run: reason")
        elif block.option or block.language != "python":
            meaning = f"{block.language} {block.option!r} means nothing"
            raise PageError(f"line {block.line - 1}: {meaning}")
        elif ">>>" in block.text:
            run_doctest(block, namespace, page)
        else:
            # Lines are those of the page, so that a traceback points into it.
            source = "\n" * (block.line - 1) + block.text
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source, str(page), "exec"), namespace)  # noqa: S102  it is the test


class Session:
    """A shell of a few commands, which run in Pythons of their own."""

    def __init__(self, folder):
        self.folder = self.here = folder
        self.paths = [str(folder)]

    def run(self, block):
        """Run the commands of a block and compare what they print."""
        words = block.option.split()[1:]
        for line, shown in _commands(block.text):
            printed, status = self.one(shlex.split(line, comments=True), words)
            if shown.strip() and not MATCH.check_output(shown, printed, FLAGS):
                raise PageError(f"line {block.line}: {line!r} printed\n{printed}\nnot\n{shown}")
            if not shown.strip() and status:
                raise PageError(f"line {block.line}: {line!r} exits with {status}:\n{printed}")

    def one(self, command, words):
        """Run one command: what it prints, and its exit status."""
        match command:
            case ["cd", place]:
                self.here = (self.here / place).resolve()
                return "", 0
            case ["pip", "install", "--editable", "."]:
                announce((self.here / "pyproject.toml").read_text(encoding="utf-8"), self.folder)
                self.paths.append(str(self.here / "src"))
                sys.path.append(self.paths[-1])
                return "", 0
            case ["polygrad-conformance", "run", *rest]:
                arguments = ["-m", "polygrad_conformance", "run", "--quiet", *rest, *words]
            case ["polygrad-conformance", *rest]:
                arguments = ["-m", "polygrad_conformance", *rest]
            case ["python", *rest]:
                arguments = rest
            case _:
                raise PageError(f"{command} is no command that a page can run")
        paths = [*self.paths, os.environ["PYTHONPATH"]]
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.here, capture_output=True, text=True,
            check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        return done.stdout + done.stderr, done.returncode


def _commands(text):
    """Each line after a $, and the lines below it."""
    lines = [line for line in re.split(r"^\$ ", text, flags=re.MULTILINE) if line.strip()]
    for line in lines:
        command, _, shown = line.partition("\n")
        yield command, shown


def run_doctest(block, namespace, page):
    """Check that the examples print what the page says."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=FLAGS)
    test = parser.get_doctest(block.text, namespace, page.name, str(page), block.line - 1)
    runner.run(test, clear_globs=False)
    namespace.update(test.globs)  # the test has a copy
    if runner.failures:
        raise PageError(f"{runner.failures} of the examples from line {block.line} on differ")


def compare_lines(block, printed):
    """Check the lines that a page shows against the printed ones with the same first word."""
    shown = {line.split()[0]: line for line in block.text.splitlines()}
    got = {line.split()[0]: line for line in printed.splitlines()}
    if not shown.keys() & got.keys():
        raise PageError(f"line {block.line}: nothing of this was printed, but {printed!r}")
    for word in shown.keys() & got.keys():
        if shown[word] != got[word]:
            raise PageError(f"line {block.line}: printed was {got[word]!r}, not {shown[word]!r}")


def write_file(folder, name, text):
    """Put a block where an import finds it; a pyproject.toml is as good as installed."""
    (folder / name).write_text(text, encoding="utf-8")
    if name == "pyproject.toml":
        announce(text, folder)


def run_in_child(page, folder):
    """Run a page in a Python of its own; (exit status, what it printed)."""
    paths = [str(ROOT), str(ROOT / "conformance"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, str(Path(__file__).resolve()), str(page), str(folder)]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def main(page, folder):
    """Run one page, warnings being errors."""
    warnings.simplefilter("error")
    run_page(Path(page), Path(folder))


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        names = [str(page.relative_to(ROOT)) for page in PAGES]
        metafunc.parametrize("page", PAGES, ids=names)


def test_a_page_runs_and_prints_what_it_says(page, tmp_path):
    status, output = run_in_child(page, tmp_path)
    assert not status, output


def test_the_links_of_a_page_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        place = (page.parent / name).resolve() if name else page
        assert place.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in anchors_of(place), f"{target}: no such heading"


def test_names_that_a_page_mentions_exist(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    code = " ".join(re.findall(r"`([^`\n]+)`", text))
    names = set(re.findall(r"\bpg(?:\.[A-Za-z_]\w*)+", code))
    assert not {name for name in names if not exists(name)}


def exists(name):
    """Whether `pg.a.b` can be looked up."""
    import polygrad  # not above: the child processes of short pages do without

    found = polygrad
    try:
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    except (AttributeError, ImportError):
        return False
    return True


def anchors_of(page):
    """The anchors that GitHub gives to the headings of a page."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_a_page_that_is_read_as_a_story_is_short():
    lines = (ROOT / "docs" / "how_it_works.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 300


def test_a_backend_fits_in_120_lines():
    page = (ROOT / "docs" / "add_a_backend.md").read_text(encoding="utf-8")
    files = [b for b in blocks_of(page) if b.option.startswith("file=") and "Backend)" in b.text]
    assert files
    for block in files:
        assert len(block.text.splitlines()) <= 120, block.option


def test_the_operations_that_a_page_adds_get_generated_tests(tmp_path):
    page = ROOT / "docs" / "add_an_op.md"
    files = {
        b.option.removeprefix("file="): b.text
        for b in blocks_of(page.read_text(encoding="utf-8"))
        if b.option.startswith("file=")
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    plugins = [part for name in files for part in ("-p", name.removesuffix(".py"))]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]),
        "POLYGRAD_TEST_DEVICES": "cpu,frozen:0,strict:cpu",
    }
    command = [
        sys.executable, "-m", "pytest", "-v", *plugins,
        "tests/test_ops_generated.py", "-k", "(cbrt or gaussian_kernel) and not documented",
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stdout + done.stderr
    for name in ("cbrt", "gaussian_kernel"):
        ran = [line for line in done.stdout.splitlines() if name in line and "PASSED" in line]
        assert any("derivatives" in line for line in ran)
        assert any("strict:cpu" in line for line in ran)


# ---- these tests can fail ------------------------------------------------------------------------
def fails(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    status, output = run_in_child(page, tmp_path)
    return output if status else ""


def test_a_wrong_output_is_found(tmp_path):
    assert "Expected" in fails(tmp_path, "```python\n>>> 1 + 1\n3\n```\n")


def test_an_error_points_into_the_page(tmp_path):
    output = fails(tmp_path, "a page\n\n```python\nx = 1\nx / 0\n```\n")
    assert "ZeroDivisionError" in output
    assert 'page.md", line 5' in output


def test_a_warning_is_an_error(tmp_path):
    text = "```python\nimport warnings\nwarnings.warn('old', stacklevel=1)\n```\n"
    assert "UserWarning: old" in fails(tmp_path, text)


def test_a_block_that_is_not_run_says_why(tmp_path):
    assert "say why" in fails(tmp_path, "```python no-run\nboom\n```\n")
    assert not fails(tmp_path, "```python no-run: needs a GPU\nboom\n```\n")


def test_an_unknown_fence_is_refused(tmp_path):
    assert "a fence must say" in fails(tmp_path, "```py\n1\n```\n")
    assert "means nothing" in fails(tmp_path, "```python skip\n1\n```\n")


def test_what_a_block_prints_is_compared(tmp_path):
    text = "```python\nprint('a 1')\nprint('b 2')\n```\n\nprints\n\n```text prints\na {}\n```\n"
    assert not fails(tmp_path, text.format(1))
    assert "printed was 'a 1', not 'a 3'" in fails(tmp_path, text.format(3))
    assert "nothing of this was printed" in fails(tmp_path, text.replace("a {}", "c 1"))


def test_commands_are_run_and_compared(tmp_path):
    text = "```console runs\n$ python -c 'print(1, 2)'\n{}\n```\n"
    assert not fails(tmp_path, text.format("1 2"))
    assert not fails(tmp_path, text.format("1 ..."))
    assert "printed\n1 2" in fails(tmp_path, text.format("1 3"))
    assert "exits with 3" in fails(tmp_path, "```console runs\n$ python -c 'exit(3)'\n```\n")
    assert "no command" in fails(tmp_path, "```console runs\n$ rm -r /nowhere\n```\n")
    assert not fails(tmp_path, "```console\n$ rm -r /nowhere\n```\n")
    assert "a fence" not in fails(tmp_path, "```console sometimes\n$ ls\n```\n")
    assert "takes no 'sometimes'" in fails(tmp_path, "```console sometimes\n$ ls\n```\n")


def test_a_block_is_added_to_a_file(tmp_path):
    text = (
        "```python file=mine.py\nclass A:\n    x = 1\n```\n"
        "```python adds=mine.py\n    y = 2\n```\n```python\n>>> import mine\n>>> mine.A.y\n2\n```\n"
    )
    assert not fails(tmp_path, text)


def test_blocks_share_a_namespace_and_files_can_be_imported(tmp_path):
    text = (
        "```python file=mine.py\nvalue = 3\n```\n```python\nfrom mine import value\n```\n"
        "```python\n>>> value\n3\n>>> other = 4\n```\n```python\nassert other == 4\n```\n"
    )
    assert not fails(tmp_path, text)


if __name__ == "__main__":
    main(*sys.argv[1:])


def test_every_layer_function_and_initialiser_is_on_the_page_of_layers():
    from polygrad import nn

    words = set(re.findall(r"\w+", (ROOT / "docs" / "layers.md").read_text(encoding="utf-8")))
    names = {*nn.__all__, *nn.functional.__all__, *nn.init.__all__} - {"utils"}
    assert not names - words
