"""The devices that tests run on."""

from __future__ import annotations

import os

import pytest

from polygrad.errors import PolygradError
from polygrad.registry import find_device

# Every device that CI has; `make test` installs all their libraries.
DEVICES = [
    "cpu", "frozen:0", "strict:cpu", "strict:device1", "strict:no_float64", "strict:no_x64",
    "sim:0", "sycl:cpu:0", "jax:cpu:0",
]  # fmt: skip
if os.environ.get("POLYGRAD_TEST_DEVICES"):
    DEVICES = os.environ["POLYGRAD_TEST_DEVICES"].split(",")
# Those that have every dtype, each library and each way to write once.
FULL = [d for d in DEVICES if d in ("cpu", "frozen:0", "strict:cpu", "sycl:cpu:0", "jax:cpu:0")]


def present(name):
    """Whether a device can be used here."""
    try:
        find_device(name)
    except PolygradError:
        return False
    return True


def use(name):
    """The name of a device; one that is missing is an error under CI, where all are installed."""
    if not present(name):
        if os.environ.get("CI"):
            pytest.fail(f"{name} is missing: CI installs every backend")
        pytest.skip(f"{name} is not installed here (2026-11-29: optional outside CI)")
    return name


def optional(module):
    """A module of a library that only CI is sure to have; without it the test is skipped."""
    return pytest.importorskip(
        module, reason=f"{module} is not installed here (2026-11-30: optional outside CI)"
    )
