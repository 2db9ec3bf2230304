"""Running the suite: the same twice, crashes, hangs, lies, known failures, tolerances."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import tomllib

import pytest

from polygrad_conformance import check_backend, tolerance
from polygrad_conformance.case import SuiteError
from polygrad_conformance.cli import main
from polygrad_conformance.collection import Selection
from polygrad_conformance.known import Known, KnownFailures, draft
from polygrad_conformance.options import NothingRan, Options
from polygrad_conformance.processes import homes
from polygrad_conformance.record import Result, Run
from polygrad_conformance.runner import run

EXP = Selection(("exp/float32", "log/float32", "transfer/float32"))

# A backend of its own kind, whose `exp` or whose whole does what the name says.
BACKEND = """
import os, time
import numpy as np
from polygrad.backend import Backend, Capabilities
from polygrad.backends.frozen_backend import FrozenArray, FrozenBackend
from polygrad.device import Device

class Array(FrozenArray):
    pass

class Plain(FrozenBackend):
    name = "toy"
    device_kinds = ("toy",)
    libraries = ()
    array_types = property(lambda self: (Array,))
    def devices(self):
        return [Device("toy:0")]
    def device_of(self, array):
        return Device("toy:0")
    def coerce(self, value, device):
        plain = np.asarray(value)
        plain.flags.writeable = False
        return plain.view(Array)
    def __init__(self):
        super().__init__()
        if hasattr(self, "exp"):
            self.kernel("exp")(self.exp)

class Crashes(Plain):
    exp = staticmethod(lambda x: os._exit(3))

class Hangs(Plain):
    exp = staticmethod(lambda x: time.sleep(600))

class Wrong(Plain):
    exp = staticmethod(lambda x: np.exp(x) * np.float32(1.001))

class Conjugates(Plain):
    exp = staticmethod(lambda x: np.where(np.isinf(x), np.nan, np.conj(np.exp(x))).astype(x.dtype))

class Lies(Plain):
    exp = staticmethod(lambda x: np.exp(x.astype("float64")))
    capabilities = Capabilities(writeable=False, unsupported=("log", "sin/float64"))

class Host(Plain):
    def coerce(self, value, device):
        return np.asarray(value)

class Dies(Plain):
    def __init__(self):
        os._exit(4)

class Lossy(Plain):
    def to_numpy(self, array):
        return super().to_numpy(array) + np.ones((), array.dtype)
"""


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toys")
    (folder / "toys.py").write_text(BACKEND)
    return str(folder)


def ran(toys, name, selection=EXP, **options):
    return run(Options(f"toys:{name}", selection=selection, path=(toys,), **options))


def statuses(made, op):
    return {r.status for r in made.results if r.op == op}


def stripped(made):
    return [dataclasses.replace(r, ms=0.0) for r in made.results]


# ---- the same twice ------------------------------------------------------------------------------
def test_two_runs_are_equal_and_so_are_parts_of_one():
    words = ("exp", "linalg.qr", "nn.Linear", "random.normal", "matmul", "training")
    every = run(Options("numpy", selection=Selection(words)))
    again = run(Options("numpy", selection=Selection(words), isolate=False))
    assert stripped(every) == stripped(again)
    assert every.exit_code == 0
    assert len(every.results) > 100
    one = run(Options("numpy", selection=Selection(("nn.Linear/",)), isolate=False))
    assert stripped(one) == [r for r in stripped(every) if r.op == "nn.Linear"]


def test_a_run_says_what_it_was():
    made = run(Options("numpy", selection=EXP, isolate=False))
    assert (made.backend, made.device, made.level) == ("numpy", "cpu", "smoke")
    assert made.backend_version.startswith("numpy 2.")
    assert made.declared > 10000
    assert made.selection == "-k exp/float32 -k log/float32 -k transfer/float32"
    assert made.environment["python"] == ".".join(map(str, sys.version_info[:3]))


# ---- what backends do ----------------------------------------------------------------------------
def test_a_crash_costs_one_case(toys):
    words = ("exp/float32/value", "exp/float32/dtype", "log/float32")
    made = ran(toys, "Crashes", Selection(words))
    by_id = {r.id: r for r in made.results}
    assert by_id["exp/float32/value/0"].status == "crash"
    assert "exit code 3" in by_id["exp/float32/value/0"].message
    assert by_id["exp/float32/dtype/all"].status == "blocked"
    assert by_id["exp/float32/dtype/all"].blocked_by == "exp/float32/value/0"
    assert statuses(made, "log") == {"pass"}
    assert made.exit_code == 1


def test_a_hang_ends(toys):
    chosen = Selection(("exp/float32/value/0", "log/float32/value/0"))
    made = ran(toys, "Hangs", chosen, timeout=0.3)
    assert [r.status for r in made.results] == ["timeout", "pass"]
    assert "no result after 3 s" in made.results[0].message


def test_a_wrong_value_is_found_with_its_input(toys):
    made = ran(toys, "Wrong")
    failed = [r for r in made.results if r.failed and r.check == "value"]
    assert failed
    assert {r.op for r in failed} == {"exp"}
    assert {r.grade for r in failed} <= {"C", "F"}
    assert failed[0].worst.startswith("x=")
    float.fromhex(failed[0].worst.removeprefix("x="))
    assert statuses(made, "log") == {"pass"}


def test_lies_are_found(toys):
    made = ran(toys, "Lies")
    by_id = {r.id: r for r in made.results}
    assert by_id["exp/float32/dtype/all"].status == "fail"
    assert "results of ['float64'], expected ['float32']" in by_id["exp/float32/dtype/all"].message
    assert by_id["log/float32/claims/all"].message == (
        "it works: take it out of capabilities.unsupported"
    )


def test_host_arrays_are_found(toys):
    made = ran(toys, "Host")
    assert made.exit_code == 1
    assert {r.status for r in made.results} <= {"pass", "fail", "error", "blocked"}
    first = min((r for r in made.results if r.failed), key=lambda r: r.step)
    assert first.op == "transfer"


def test_a_broken_transfer_blocks_the_rest(toys):
    made = ran(toys, "Lossy")
    assert statuses(made, "exp") == statuses(made, "log") == {"blocked"}
    assert {r.blocked_by for r in made.results if r.op == "exp"} == {"transfer/float32/value/plain"}
    assert made.reached == 0


@pytest.mark.parametrize(
    ("backend", "text"),
    [
        ("toys:Dies", "the process died (exit code 4)"),
        ("toys:Missing", "'toys:Missing' cannot be imported"),
        ("nowhere:Backend", "write module:Class, of a module on the Python path"),
        ("slate", "there is no backend called 'slate'"),
    ],
)
def test_a_backend_that_cannot_be_used(toys, backend, text):
    with pytest.raises(NothingRan) as caught:
        run(Options(backend, selection=EXP, path=(toys,)))
    assert text in str(caught.value)


def test_nothing_selected():
    with pytest.raises(NothingRan, match="no case matches -k nonsense"):
        run(Options("numpy", selection=Selection(("nonsense",))))
    assert main(["run", "nonsense"]) == 3


def test_a_class_in_this_process(toys, monkeypatch):
    monkeypatch.syspath_prepend(toys)
    import toys as module

    made = check_backend(module.Plain, selection=EXP)
    assert isinstance(made, Run)
    assert made.exit_code == 0, [r for r in made.results if r.failed]
    assert made.device == "toy:0"


# ---- known failures ------------------------------------------------------------------------------
def failing(**changes):
    result = Result(
        "exp/float32/value/0", "exp", "float32", "value", "0", step=2, status="fail", measured=24.4,
        unit="ulp",
    )  # fmt: skip
    passing = Result("log/float32/value/0", "log", "float32", "value", "0", step=2, status="pass")
    return Run("toy", "toy:0", level="full", driver="1.3",
               results=[dataclasses.replace(result, **changes), passing])  # fmt: skip


def judged(entry, **changes):
    made = failing(**changes)
    KnownFailures([entry]).apply(made)
    return made


def entry(select="op=exp dtype=float32", **fields):
    return Known(select, **{"kind": "accuracy", "reason": "fast exp", **fields})


def test_a_known_failure():
    made = judged(entry())
    assert [r.status for r in made.results] == ["known", "pass"]
    assert made.results[0].known == "fast exp"
    assert not made.stale


@pytest.mark.parametrize("select", ["op=ex*", "op=exp|log check=value", "step=1..3 op=exp",
                                    "device=toy:0 op=exp", "id=exp/float32/*"])  # fmt: skip
def test_selectors(select):
    assert judged(entry(select)).results[0].status == "known"


def test_what_rests_on_a_known_failure_is_known_and_what_rests_on_another_is_not():
    made = failing(status="error")
    blocked = [
        dataclasses.replace(made.results[0], id=f"exp/float32/grad/{i}", check="grad",
                            status="blocked", blocked_by=rest)
        for i, rest in enumerate(("exp/float32/value/0", "exp/float32/grad/0", "x/float32/value/0"))
    ]  # fmt: skip
    made.results += blocked
    KnownFailures([entry("op=exp check=value")]).apply(made)
    assert [r.status for r in made.results] == ["known", "pass", "known", "known", "blocked"]
    assert {r.known for r in made.results[2:4]} == {"fast exp"}


def test_what_got_worse_fails():
    assert judged(entry(measured="20 ulp")).results[0].status == "known"
    made = judged(entry(measured="15 ulp"))
    assert made.results[0].status == "fail"
    assert "it got worse" in made.results[0].message


def test_what_is_mended_is_stale():
    assert "all of its 1 checks pass: delete it" in judged(entry(), status="pass").stale[0]
    assert "selects nothing: delete it" in judged(entry("op=sin")).stale[0]


def test_an_entry_of_which_an_earlier_one_has_all_is_stale():
    made = failing()
    KnownFailures([entry(), entry("op=exp")]).apply(made)
    (said,) = made.stale
    assert "[op=exp]: an earlier entry has what fails of it: delete it" in said


@pytest.mark.parametrize("part", [{"selection": "exp/float32"}, {"level": "smoke"}])
def test_a_part_of_the_cases_does_not_show_that_an_entry_is_stale_beside_another(part):
    """It may have failures of its own among the others."""
    made = failing()
    for field, value in part.items():
        setattr(made, field, value)
    KnownFailures([entry(), entry("op=exp")]).apply(made)
    assert not made.stale


@pytest.mark.parametrize(
    ("fields", "status"),
    [({}, "known"), ({"measured": "1e-9 ulp"}, "fail"), ({"expires": "2020-01-01"}, "fail")],
)
def test_progress_shows_no_known_failure_as_a_failure(toys, fields, status):
    told = {}
    known = KnownFailures([entry("op=exp check=value", **fields)])
    selection = Selection(("exp/float32/value/0",))
    run(
        Options("toys:Wrong", selection=selection, known=known, path=(toys,)),
        lambda done, total, result: told.update({result.id: result.status}),
    )
    assert told == {"exp/float32/value/0": status}


def test_an_entry_expires():
    made = judged(entry(expires="2020-01-01"))
    assert made.results[0].status == "fail"
    assert "expired on 2020-01-01" in made.stale[0]
    assert judged(entry(expires="2999-01-01")).results[0].status == "known"


def test_an_entry_for_some_versions():
    assert judged(entry(when="driver < 1.4")).results[0].status == "known"
    assert judged(entry(when="driver < 1.3")).results[0].status == "fail"
    with pytest.raises(SuiteError, match="`when` is `field < version`"):
        judged(entry(when="sometimes"))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"reason": ""}, "say the reason"),
        ({"kind": "bug"}, "give the url"),
        ({"kind": "odd"}, "kind is none of"),
        ({"select": "name=exp"}, "there is no field 'name'"),
    ],
)
def test_an_entry_that_says_too_little_is_refused(fields, text):
    with pytest.raises(SuiteError, match=text):
        entry(**fields)


def test_a_list_is_read_and_drafted(tmp_path):
    made = failing(message="too far off")
    path = tmp_path / "known.toml"
    path.write_text(draft(made))
    listed = KnownFailures.read(path)
    listed.apply(made)
    assert made.results[0].known == "untriaged"
    path.write_text("[[known]]\nreason = 1\n")
    with pytest.raises(SuiteError, match="no 'select'"):
        KnownFailures.read(path)


def test_what_is_drafted_holds_for_the_same_run():
    """No entry is stale at once: two of one selection, of which the first takes all."""
    made = failing(message="of 0 0 it is 1, expected -0.0")
    again = dataclasses.replace
    first, _ = made.results
    more = [("-0", "of -0 0 it is 1", "fail"), ("2", "boom", "error"), ("3", "", "pass")]
    made.results = [first] + [
        again(first, id=f"exp/float32/value/{sample}", sample=sample, message=text, status=status)
        for sample, text, status in more
    ]
    text = draft(made)
    KnownFailures([Known(**t) for t in tomllib.loads(text)["known"]]).apply(made)
    assert [r.status for r in made.results] == ["known", "known", "known", "pass"]
    assert not made.stale
    assert text.count("[[known]]") == 2  # what is wrong, and what is raised, have two reasons
    assert 'sample=0|-0"' in text
    assert "(and 1 more)" in text


@pytest.mark.parametrize("message", ["\x1b[31mboom\x1b[0m", "boom\x00", "", "\nboom"])
def test_a_draft_can_be_read_whatever_the_library_said(message):
    (table,) = tomllib.loads(draft(failing(message=message)))["known"]
    assert table["kind"] == "untriaged"


def test_a_list_is_appended_to_once(toys, tmp_path, monkeypatch):
    """Behind the comment that `new` writes; what is on the list is not drafted again."""
    monkeypatch.chdir(toys)
    monkeypatch.setenv("PYTHONPATH", toys)
    path = tmp_path / "known.toml"
    path.write_text("# what fails\n")
    options = ["--backend", "toys:Wrong", "--known", str(path), "exp/float32/value/0"]
    for _ in range(2):
        assert main(["baseline", *options, "--write", str(path)]) == 0
        assert path.read_text().startswith("# what fails\n\n[[known]]\n")
        assert path.read_text().count("[[known]]") == 1
    assert main(["run", *options]) == 0


def test_the_error_of_each_dtype_is_drafted_for_itself():
    made = failing()
    first = made.results[0]
    made.results.append(dataclasses.replace(first, dtype="float64", measured=1e14))
    drafted = [(t["select"], t["measured"]) for t in tomllib.loads(draft(made))["known"]]
    assert drafted == [
        ("op=exp dtype=float32 check=value sample=0", "24.4 ulp"),
        ("op=exp dtype=float64 check=value sample=0", "1e+14 ulp"),
    ]


def test_where_many_samples_fail_they_are_not_named():
    made = failing()
    first = made.results[0]
    made.results = [
        dataclasses.replace(first, sample=f"{i}", status="fail" if i % 2 else "error")
        for i in range(60)
    ]
    text = draft(made)
    assert "sample=" not in text
    assert text.count("[[known]]") == 1


# ---- tolerances ----------------------------------------------------------------------------------
def test_units_in_the_last_place():
    import numpy as np

    one = np.float32(1)
    got = np.array([one, np.nextafter(one, np.float32(2)), np.inf, np.nan, -0.0], "float32")
    want = np.array([1, 1, 3.4028234e38, np.nan, 0], np.longdouble)
    errors = tolerance.ulp_errors(got, want, "float32").astype(float)
    np.testing.assert_allclose(errors, [0, 1, 1, 0, 0], atol=0.5)
    assert np.isinf(tolerance.ulp_errors(np.float32(np.nan), np.longdouble(1), "float32"))
    tiny = np.longdouble(1e-40)
    assert tolerance.ulp_errors(np.float32(0), tiny, "float32") > 1000
    assert tolerance.ulp_errors(np.float32(0), tiny, "float32", subnormals=False) == 0


@pytest.mark.parametrize(("error", "grade"), [(3.9, "A"), (31, "B"), (1000, "C"), (1e7, "F")])
def test_grades(error, grade):
    import numpy as np

    measure, place = tolerance.ulp_measure(
        np.array([0.0, error], np.longdouble), np.ones(2, np.longdouble), "float32", 4
    )
    assert (measure.grade, place) == (grade, 1)


def test_the_command(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "polygrad_conformance", "run", "exp/float32/value", "--quiet",
         "--report", str(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": homes()},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "report.json").is_file()
    assert "selected 6  run 6  |  pass 6" in done.stdout


# ---- structure -----------------------------------------------------------------------------------
def test_structure_is_searched(monkeypatch):
    """A planted fault: sum forgets keepdims. The smallest call that shows it is reported."""
    import polygrad as pg
    from polygrad_conformance.subjects import structures
    from polygrad_conformance.target import Target

    (case,) = [c for c in structures.cases("exhaustive")
               if c.op == "structure.reductions" and c.sample == "hypothesis"]  # fmt: skip
    assert case.run(Target("cpu")).status == "pass"
    real = pg.sum
    monkeypatch.setattr(pg, "sum", lambda x, **options: real(x, axis=options["axis"]))
    found = [case.run(Target("cpu")) for _ in range(2)]
    assert found[0].status == "fail"
    assert found[0].message == found[1].message
    assert "'keepdims': True" in found[0].message


def test_what_the_time_does_not_reach_is_not_run_and_the_rest_is_kept():
    options = Options("", "cpu", selection=Selection(("multiply",), ("value", "grad")))
    whole = run(options)
    assert {r.status for r in whole.results} == {"pass"}
    cut = run(dataclasses.replace(options, seconds=1e-9))
    assert [r.id for r in cut.results] == [r.id for r in whole.results]
    late = [r for r in cut.results if r.status == "notrun"]
    assert late
    assert all("the time was up" in r.message for r in late)
    assert cut.exit_code in (1, 3)
