"""Devices that tests run on, and fixtures every test module shares."""

from __future__ import annotations

import os

import pytest

import polygrad as pg
from polygrad.errors import PolygradError
from polygrad.registry import find_device

# Every device that CI has; `make test` installs all their libraries.
DEVICES = [
    "cpu", "frozen:0", "strict:cpu", "strict:device1", "strict:no_float64", "strict:no_x64",
    "sycl:cpu:0", "jax:cpu:0",
]  # fmt: skip
if os.environ.get("POLYGRAD_TEST_DEVICES"):
    DEVICES = os.environ["POLYGRAD_TEST_DEVICES"].split(",")


def present(name):
    """Whether a device can be used here."""
    try:
        find_device(name)
    except PolygradError:
        return False
    return True


@pytest.fixture(params=DEVICES)
def device(request):
    """Each device in turn; one that is missing is an error under CI, where all are installed."""
    if not present(request.param):
        if os.environ.get("CI"):
            pytest.fail(f"{request.param} is missing: CI installs every backend")
        pytest.skip(f"{request.param} is not installed here (2026-11-29: optional outside CI)")
    return request.param


@pytest.fixture(autouse=True)
def _fresh_defaults():
    """Each test starts from the same defaults and the same random numbers."""
    pg.manual_seed(0)
    yield
    pg.set_default_dtype(pg.float32)
    pg.set_default_device(None)
