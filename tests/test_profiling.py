"""`pg.profile`: what it counts, where it puts it, and that it leaves no trace."""

import json

import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import GradientError, InvalidArgumentError
from polygrad.registry import kernels_for
from tests.devices import DEVICES


def trained(device="cpu"):
    """A small model with its loss: forward, backward, step."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3)).to(device)
    x, y = pg.ones((4, 8), device=device), pg.zeros(4, dtype=pg.int32, device=device)
    optimizer = pg.optim.SGD(model.parameters(), lr=0.1)

    def step():
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    return step


def rows(found):
    return {row.name: row for row in found.by_operation()}


@pytest.mark.parametrize("device", DEVICES)
def test_a_training_step_is_counted_by_operation(device):
    step = trained(device)
    with pg.profile() as found:
        step()
        step()
    seen = rows(found)
    assert seen["linear"].calls == 4
    assert seen["linear backward"].calls == 4
    assert seen["relu"].calls == 2
    assert seen["linear"].saved > 0


def test_each_view_adds_up_to_the_same_and_to_no_more_than_the_whole():
    step = trained()
    with pg.profile() as found:
        step()
    seconds = sum(row.seconds for row in found.by_operation())
    assert 0 < seconds <= found.seconds
    assert seconds == pytest.approx(sum(row.seconds for row in found.by_kernel()))
    assert seconds == pytest.approx(sum(row.seconds for row in found.by_line()))


def test_what_runs_within_a_rule_is_backward_and_inside_it():
    x = pg.ones((3, 3)).requires_grad_()
    y = pg.matmul(x, x).sum()
    with pg.profile() as found:
        y.backward()
    assert {e.phase for e in found.events} == {"backward"}
    rule = next(e for e in found.events if e.name == "matmul" and e.outermost)
    within = [e for e in found.events if e.name == "matmul" and not e.outermost]
    assert len(within) == 2
    assert rule.inside >= sum(e.seconds for e in within)
    assert {row.name for row in found.by_operation()} == {"matmul backward", "sum backward"}
    assert {"rules of matmul", "matmul"} <= {row.name for row in found.by_kernel()}


def test_lines_are_the_users_and_a_backward_belongs_to_its_forward():
    x = pg.ones(5).requires_grad_()
    with pg.profile() as found:
        y = pg.exp(x)  # the line
        y.sum().backward()
    lines = {(e.name, e.phase): e.line for e in found.events}
    file, number, function = lines["exp", "forward"]
    assert file == __file__
    assert function == "test_lines_are_the_users_and_a_backward_belongs_to_its_forward"
    assert lines["exp", "backward"] == lines["exp", "forward"]
    assert any(row.name.startswith(f"test_profiling.py:{number} ") for row in found.by_line())


def test_bytes_made_and_saved():
    x = pg.ones(100).requires_grad_()
    with pg.profile() as found:
        pg.exp(x)
        pg.reshape(x, (10, 10))
        pg.nn.functional.linear(pg.ones((2, 3, 4)), pg.ones((5, 4)))
    seen = rows(found)
    assert seen["linear"].made == 2 * 3 * 5 * 4
    assert (seen["exp"].made, seen["exp"].saved) == (400, 400)
    assert seen["reshape"].made == 0


def test_peak_of_host_memory():
    x = pg.ones(100_000)
    with pg.profile(memory=True) as found:
        x + x
    assert 400_000 <= found.peak < 700_000  # one array, not two
    with pg.profile() as without:
        x + x
    assert without.peak is None


def test_it_leaves_no_trace_also_after_an_error():
    k = kernels_for(pg.get_default_device(), pg.float32)
    pg.exp(pg.ones(2))
    found = pg.profile()
    with pytest.raises(ZeroDivisionError), found:  # noqa: PT012  the second line is the error
        pg.exp(pg.ones(2))
        1 / 0  # noqa: B018
    count = len(found.events)
    pg.exp(pg.ones(2)).sum()
    assert len(found.events) == count
    assert not hasattr(k.exp, "__wrapped__")


def test_an_error_within_an_operation_leaves_the_others_on_the_clock():
    with pg.profile() as found:
        with pytest.raises(pg.PolygradError):
            pg.ones((2, 3)) @ pg.ones((2, 3))
        pg.exp(pg.ones(2))
    assert "matmul" not in rows(found)
    assert next(e for e in found.events if e.name == "exp").outermost


def test_entered_again_it_adds_up_and_twice_at_once_it_refuses():
    found = pg.profile()
    for _ in range(2):
        with found:
            pg.exp(pg.ones(2))
    assert rows(found)["exp"].calls == 2
    with found, pytest.raises(GradientError, match="active already"), found:
        pass


def test_two_profiles_at_once_see_the_same():
    with pg.profile() as outer, pg.profile() as inner:
        pg.exp(pg.ones(2).requires_grad_()).sum().backward()
    assert [e.name for e in outer.events] == [e.name for e in inner.events]


def test_tables():
    step = trained()
    with pg.profile(memory=True) as found:
        step()
    lines = found.table(rows=3).splitlines()
    assert lines[0].split()[2:] == ["calls", "time", "share", "each", "made", "saved"]
    assert lines[4].split()[1] == "more"
    assert lines[5].startswith("outside of operations")
    assert "peak of host memory" in lines[6]
    assert "test_profiling.py:" in found.table("line")
    assert found.table() in str(found)
    with pytest.raises(InvalidArgumentError, match="by="):
        found.table("file")


def test_chrome_trace(tmp_path):
    step = trained()
    with pg.profile() as found:
        step()
    path = tmp_path / "trace.json"
    found.export_chrome_trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert len(events) == len(found.events)
    assert {"name", "ph", "ts", "dur", "pid", "tid", "cat", "args"} <= events[0].keys()
    starts = [event["ts"] for event in events]
    assert starts == sorted(starts)
    assert all(event["ts"] >= 0 and event["dur"] >= 0 for event in events)
