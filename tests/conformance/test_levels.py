"""What each addition to a level finds that nothing else does: one planted fault for each."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import InvalidArgumentError
from polygrad.tensor import on_host
from polygrad.tree import tree_map
from polygrad_conformance.cli import main
from polygrad_conformance.collection import Selection, collect, select
from polygrad_conformance.execution import execute
from polygrad_conformance.faults.damage import DAMAGES
from polygrad_conformance.faults.damage_values import values
from polygrad_conformance.faults.device import FAULTY, install
from polygrad_conformance.faults.planting import damaged, in_attribute, in_function, replaced
from polygrad_conformance.options import Options
from polygrad_conformance.report.merge import merge
from polygrad_conformance.runner import run
from polygrad_conformance.subjects import structures
from polygrad_conformance.subjects.numbers import numbers
from polygrad_conformance.target import Target


def failing(words, level, device=FAULTY.name, **options):
    """The ids that fail among the cases selected, which are many."""
    install()
    cases = select(collect(level), Selection(words))
    assert len(cases) > 2
    made = execute(cases, Target(device, level, **options))
    return {r.id for _, r in made if r is not None and r.failed}


def wrong_at(holds):
    """Half too large at the arguments for which `holds(array)` is true."""

    def change(out, args, kwargs):
        del kwargs
        at = holds(np.asarray(on_host(args[0])))

        def of(y):
            a = np.array(on_host(y))
            return replaced(y, np.where(at, a * 1.5, a).astype(a.dtype)) if a.size else y

        return tree_map(of, out)

    return lambda function: damaged(function, change)


def test_a_layout_with_a_stride_of_zero():
    with in_function("add", DAMAGES["strides of zero ignored"].damage):
        found = failing(("add/float32/",), "full")
    assert found
    assert all(name.endswith("@broadcast") for name in found)


def test_bfloat16():
    """Values and result dtypes of that dtype alone are wrong."""

    def steeper(by):
        return values(lambda a: (a * by).astype(a.dtype) if a.dtype.name == "bfloat16" else a)

    with in_function("exp", steeper(1.25)):
        found = failing(("exp/",), "full")
    assert found == {"exp/bfloat16/value/declared", "exp/bfloat16/value/points-1024"}
    with in_function("exp", steeper(1.07)):  # of grade B, which is less than is claimed
        assert failing(("exp/",), "full") == {"exp/bfloat16/claims/all"}

    def widened(out, args, kwargs):
        del kwargs
        return pg.astype(out, pg.float32) if args[0].dtype == pg.bfloat16 else out

    with in_function("exp", lambda function: damaged(function, widened)):
        assert "exp/bfloat16/dtype/declared" in failing(("exp/",), "full")


@pytest.mark.parametrize(("dtype", "number"), [("float16", 0.142), ("bfloat16", 0.00389)])
def test_every_number_of_16_bits(dtype, number):
    exact = lambda a: (a == a.dtype.type(number)) & (a.dtype.name == dtype)
    with in_function("atan", wrong_at(exact)):
        found = failing((f"atan/{dtype}/value",), "exhaustive")
    assert found == {f"atan/{dtype}/value/every"}


def test_the_numbers_of_32_bits():
    """Wrong from 1.2345 to 1.23455: 419 of 2^32 numbers."""
    near = lambda a: (a > 1.2345) & (a < 1.23455) & (a.dtype == np.float32)
    words = ("atan/float32/value/numbers-[34]", "atan/float32/value/[!n]*")
    with in_function("atan", wrong_at(near)):
        assert failing(words, "exhaustive", stride=2**8) == {"atan/float32/value/numbers-3"}
        assert not failing(words, "full")


def test_numbers_are_of_each_run_one():
    for part, stride in ((3, 2**20), (11, 2**18)):
        made = np.concatenate(list(numbers(part, stride))).view(np.uint32)
        assert np.array_equal(made // stride, np.arange(len(made)) + part * 2**28 // stride)
        assert len(set((made % stride).tolist())) > len(made) // 2, "low bits vary"


def test_a_structure_of_the_corpus():
    """Where keepdims is lost, what hypothesis once drew shows it without hypothesis."""
    lost = lambda right: lambda x, axis=None, keepdims=False: right(x, axis=axis)
    with in_attribute(pg, "sum", lost):
        found = failing(("structure.reductions", "sum/float32/value"), "full")
        (search,) = [c for c in structures.cases("exhaustive")
                     if c.op == "structure.reductions" and c.sample == "hypothesis"]  # fmt: skip
        message = search.run(Target("cpu", "exhaustive")).message
    assert found == {f"structure.reductions/float32/value/corpus-{i}" for i in (0, 2)}
    line = message.rpartition("data/structures.txt: ")[2].strip("`")
    assert line == "reductions: [[0], 'sum', [], None, True]"


def test_each_structure_of_the_corpus_is_another():
    said = [structures._again(structures.FAMILIES[name][0], drawn)[2]
            for name, entries in structures.corpus().items() for drawn in entries]  # fmt: skip
    assert len(set(said)) == len(said) > 20


def test_parts_of_an_exhaustive_run_are_merged(tmp_path):
    words = ("sin/float32/value/numbers", "tan/float32/value/numbers", "log/float16/value/every")
    options = {"level": "exhaustive", "isolate": False, "stride": 2**22}
    parts = [run(Options("numpy", selection=Selection(words, part=(i, 3)), **options))
             for i in (1, 2, 3) if select(collect("exhaustive"), Selection(words, part=(i, 3)))]
    whole = run(Options("numpy", selection=Selection(words), **options))
    made = merge(parts)
    assert len(parts) > 1
    assert sorted(r.id for r in whole.results) == [r.id for r in made.results]
    assert made.exit_code == whole.exit_code == 0
    other = run(Options("numpy", selection=Selection(words[:1]), **{**options, "stride": 2**21}))
    with pytest.raises(InvalidArgumentError, match=r"environment is .*4194304.* and .*2097152"):
        merge([parts[0], other])


@pytest.mark.parametrize("stride", ["3", "2^29", "0", "x", "2^"])
def test_a_stride_is_a_power_of_two(stride, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["run", "--level", "exhaustive", "--stride", stride])
    assert caught.value.code == 2
    assert "is no power of two from 1 to 2^28" in capsys.readouterr().err
