"""The cases run with each device in turn as the default one, of those that have all dtypes."""

from __future__ import annotations

import pytest

import polygrad as pg
from tests.devices import FULL, use


@pytest.fixture(autouse=True, params=FULL)
def _on_each_device(request, _fresh_defaults):
    pg.set_default_device(use(request.param))
