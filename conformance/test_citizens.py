"""SciPy and scikit-learn are handed Tensors: no call gets worse, none is silently wrong.

The tables run in a Python of their own, because SciPy must be imported with SCIPY_ARRAY_API=1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import polygrad as pg
from citizens.calls import Call, between, complex_normal, fixed, normal
from citizens.harness import Results, faults
from citizens.players import Polygrad
from citizens.verdict import judge, worse
from tests.devices import optional

ROOT = Path(__file__).resolve().parents[1]
SILENT = {"SILENT-CUT", "WRONG", "WRONG-VALUE", "NaN"}
# Seconds each; `make citizens` runs them.
SLOW = "PoissonRegressor|KMeans|Calibrated|LogisticRegression.coef_|NMF|cross_val"
KEPT = Results.read()


def python(*arguments):
    """A Python of its own with this module's arguments; (exit status, what it printed)."""
    paths = [str(ROOT / "conformance"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def statuses(library, tmp_path, *options):
    """Run a table; the status of each call."""
    file = tmp_path / "statuses.json"
    _, output = python(
        "citizens", "--check", "--libraries", library, "--json", str(file), *options
    )
    assert file.exists(), output
    return json.loads(file.read_text(encoding="utf-8"))["polygrad"]


@pytest.fixture(scope="module", params=[("scipy", ()), ("sklearn", ("--skip", SLOW))],
                ids=["scipy", "sklearn"])  # fmt: skip
def table(request, tmp_path_factory):
    """(library, the status of each of its calls)."""
    library, options = request.param
    optional("array_api_compat")
    optional(library)
    return library, statuses(library, tmp_path_factory.mktemp(library), *options)


def test_no_call_gets_worse(table):
    library, found = table
    if not KEPT.same_release(library):
        pytest.skip(f"results.json is of {library} {KEPT.made_with[library]} (2026-11-30: `make "
                    "citizens` makes it anew)")  # fmt: skip
    assert not faults(found, KEPT.statuses[library])


def test_whatever_the_release_most_are_right_and_few_are_silent(table):
    _, found = table
    count = Counter(found.values())
    assert count["OK"] > len(found) * 0.45
    assert sum(count[status] for status in SILENT) <= 6


def test_a_call_that_is_silently_wrong_is_explained():
    """What SciPy itself cuts has a remark in its row; there is nothing else of this kind."""
    rows = {**KEPT.statuses["scipy"], **KEPT.statuses["sklearn"]}
    wrong = {name for name, row in rows.items() if row["polygrad"] in SILENT}
    remarks = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "conformance/citizens").glob("*.py")
    )
    for name in wrong:
        row = remarks.partition(name.rpartition(".")[2])[2].partition("\nrow(")[0]
        assert "remark=" in row, name


def test_the_readme_says_what_is_kept():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for rows in KEPT.statuses.values():
        right = sum(row["polygrad"] == "OK" for row in rows.values())
        assert f"{right} of {len(rows)}" in text


@pytest.mark.parametrize("options", [(), ("--grad",)])
def test_some_of_scipys_own_tests(options):
    optional("scipy.constants.tests")  # not every distribution brings the tests
    status, output = python("citizens.suite", "scipy.constants", "scipy.linalg", *options)
    assert not status, output
    assert "100.00 %" in output.splitlines()[-1]


def test_the_page_shows_what_is_kept():
    page = (ROOT / "docs" / "scipy_and_sklearn.md").read_text(encoding="utf-8")
    for rows in KEPT.statuses.values():
        for name, row in rows.items():
            line = next(line for line in page.splitlines() if line.startswith(f"| `{name}`"))
            assert f"| {row['polygrad'].replace('|', '/')} |" in line


# ---- verdicts: each kind is given when it should be ---------------------------------------------
def verdict(function, *draws, **facts):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return judge(Call("test", function, draws, **facts), Polygrad()).status


def exp(x):
    return np.exp(x) if isinstance(x, (np.ndarray, np.generic)) else pg.exp(x)


def planted(forward, rule):
    """A function of NumPy arrays and of Tensors, whose gradient is by `rule`."""
    external = pg.external(forward, {"x": rule}, name="planted")
    return lambda x: forward(x) if isinstance(x, (np.ndarray, np.generic)) else external(x)


def test_a_right_gradient():
    assert verdict(lambda x, y: (exp(x * y), {"a": x + 1.0}), normal(2, 3), normal(3)) == "OK"
    assert verdict(lambda z: (z * z, z[0]), complex_normal(3)) == "OK"
    assert verdict(lambda x: x**3, fixed(1.0, 2.0)) == "OK"


def test_a_wrong_gradient():
    for factor, expected in ((2.0, "OK"), (2.01, "WRONG"), (0.0, "SILENT-CUT"),
                             (float("nan"), "NaN")):  # fmt: skip
        f = planted(np.square, lambda g, x, factor=factor: factor * g * x)
        assert verdict(f, normal(3)) == expected
    one = planted(np.square, lambda g, x: 2 * g * x * pg.asarray([1.0, 1.0, 1.001]))
    assert verdict(one, normal(3)) == "WRONG"
    swapped = planted(lambda x: x * 1j, lambda g: g * 1j)  # the conjugate is missing
    assert verdict(swapped, complex_normal(3)) == "WRONG"


def test_a_gradient_that_is_cut():
    def cut(x):
        return x.detach() * 2.0 if isinstance(x, pg.Tensor) else x * 2.0

    assert verdict(cut, normal(3)) == "SILENT-CUT"
    assert verdict(lambda x, y: cut(x) + y, normal(3), normal(3)) == "SILENT-CUT"
    assert verdict(lambda x: x * 0.0 + float(x[0]), normal(3)) == "warned"
    assert verdict(lambda x: float(exp(x)[0]), normal(3)) == "py-float"


def test_a_wrong_value():
    assert verdict(lambda x: x + isinstance(x, pg.Tensor), normal(3)) == "WRONG-VALUE"
    assert verdict(lambda x: (x,) * (1 + isinstance(x, pg.Tensor)), normal(3)) == "WRONG-VALUE"


def test_what_does_not_depend_on_the_input():
    assert verdict(lambda x: (x > 0) * 1.0, normal(3)) == "runs"
    assert verdict(lambda x: x * 0.0, normal(3)) == "runs"


def test_errors():
    assert verdict(lambda x: np.asarray(x) * 2.0, normal(3)) == "asarray!"
    unknown = pg.external(lambda x: x)
    assert verdict(lambda x: unknown(x) if isinstance(x, pg.Tensor) else x, normal(3)) == "no-vjp!"
    assert verdict(lambda x: x.nonsense if isinstance(x, pg.Tensor) else x, normal(3)).startswith(
        "error! MissingNameError"
    )


def test_inputs_are_the_same_at_each_call():
    call = Call("name", exp, (normal(3), between(0, 1, 2)))
    for a, b in zip(call.inputs(), call.inputs(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(call.inputs()[0], Call("other", exp, (normal(3),)).inputs()[0])


def test_worse_is_noticed():
    for found, expected, verdict in (
        ("OK", "OK", False), ("asarray!", "OK", True), ("runs", "OK", True), ("OK", "runs", False),
        ("asarray!", "error! TypeError: x", False), ("WRONG", "asarray!", True),
        ("SILENT-CUT", "warned", True), ("warned", "py-float", True), ("OK", "WRONG", False),
    ):  # fmt: skip
        assert worse(found, expected) is verdict, (found, expected)
    kept = {"a": {"polygrad": "OK"}, "b": {"polygrad": "runs"}}
    assert faults({"a": "OK", "b": "runs"}, kept) == []
    assert faults({"a": "NaN", "c": "OK"}, kept) == [
        "a was OK and is NaN", "c is not in results.json: OK",
    ]  # fmt: skip


def test_results_are_kept_line_by_line(tmp_path):
    rows = {"f": {"polygrad": "OK", "torch": "asarray!"}, "g": {"polygrad": "runs"}}
    results = Results({"scipy": rows, "sklearn": {}}, {"scipy": "1.2.3"})
    results.update("scipy", "jax", {"g": "OK"}, ["g", "f"])
    results.write(tmp_path / "r.json")
    again = Results.read(tmp_path / "r.json")
    assert list(again.statuses["scipy"]) == ["g", "f"]
    assert again.statuses["scipy"]["g"] == {"polygrad": "runs", "jax": "OK"}
    assert not again.same_release("scipy")
