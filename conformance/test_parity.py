"""Every operation, layer and optimiser on every device, against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import polygrad as pg
from polygrad.families import OPERATIONS, Operation
from polygrad_conformance import check_layer, check_operation, check_optimizer, subjects
from polygrad_conformance.parity import known_gap

SUBJECTS = subjects()


def run(check, name, device):
    """A check; one of a known fault of the library must fail, and is an error when it passes."""
    gap = known_gap(device, name)
    if gap is None:
        check(name, device)
        return
    try:
        check(name, device)
    except (AssertionError, pg.PolygradError, RuntimeError, TypeError, ValueError):
        return
    pytest.fail(f"{name} works on {device} now: remove its KnownGap ({gap.reason})")


@pytest.mark.parametrize("name", SUBJECTS["operation"])
def test_operation(name, device):
    run(check_operation, name, device)


@pytest.mark.parametrize("name", SUBJECTS["layer"])
def test_layer(name, device):
    run(check_layer, name, device)


@pytest.mark.parametrize("name", SUBJECTS["optimizer"])
def test_optimizer(name, device):
    run(check_optimizer, name, device)


def test_each_registry_is_covered():
    assert len(SUBJECTS["operation"]) > 100
    assert len(SUBJECTS["layer"]) > 30
    every = {
        name for name in pg.optim.__all__
        if isinstance(getattr(pg.optim, name), type) and name != "Optimizer"
    }  # fmt: skip
    assert set(SUBJECTS["optimizer"]) == every


@pytest.mark.parametrize("fault", ["value", "gradient"])
def test_a_wrong_operation_is_found(fault, monkeypatch):
    """A planted fault: exp is off by one per mille on a device, in value or in gradient alone."""
    real = OPERATIONS["exp"]

    def wrong(x):
        y = real.function(x)
        if x.device != "frozen:0":
            return y
        part = y.detach() * 0.001
        return y + part if fault == "value" else y + (y - y.detach()) * 0.001

    fields = {f: getattr(real, f) for f in Operation.__dataclass_fields__}
    monkeypatch.setitem(OPERATIONS, "exp", Operation(**{**fields, "function": wrong}))
    check_operation("exp", "cpu")
    with pytest.raises(AssertionError, match="gradient" if fault == "gradient" else "exp, sample"):
        check_operation("exp", "frozen:0")
    np.testing.assert_equal(real.function(pg.zeros(())).item(), 1.0)
