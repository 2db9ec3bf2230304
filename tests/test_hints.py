"""Names that PyTorch users try first: the error says what they are called here."""

from __future__ import annotations

import functools

import pytest

import polygrad as pg
from polygrad import hints


@pytest.mark.parametrize("name", sorted(hints._CALLED))
def test_every_hint_names_something_that_exists(name):
    functools.reduce(getattr, hints._CALLED[name].split("."), pg)
    with pytest.raises(AttributeError, match=f"{name}.*it is called pg"):
        getattr(pg, name)


def test_unknown_names():
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        getattr(pg, "nonsense")  # noqa: B009  the look-up is the test
