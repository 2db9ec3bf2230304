"""Trees: leaves of nested containers, and the same shape with other leaves."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple

import pytest

from polygrad import tree
from polygrad.errors import InvalidArgumentError

Point = namedtuple("Point", "x y")  # noqa: PYI024  the untyped kind


def test_structures_come_back():
    default = defaultdict(int, f=6)
    nested = {"a": [1, (2, Point(3, 4))], "b": OrderedDict(c=5), "d": (), "e": default}
    assert tree.leaves(nested) == [1, 2, 3, 4, 5, 6]
    made = tree.tree_map(lambda x: x * 10, nested)
    assert made == {
        "a": [10, (20, Point(30, 40))], "b": OrderedDict(c=50), "d": (), "e": {"f": 60},
    }  # fmt: skip
    assert type(made["a"][1][1]) is Point and type(made["b"]) is OrderedDict
    assert made["e"]["missing"] == 0
    assert nested["e"]["f"] == 6


def test_leaves_and_several_trees():
    assert tree.tree_map(lambda x: x + 1, 1) == 2
    assert tree.tree_map(lambda a, b: a + b, [1, {"k": 2}], [10, {"k": 20}]) == [11, {"k": 22}]
    with pytest.raises(InvalidArgumentError, match="leaves"):
        tree.tree_map(lambda a, b: a, [1, 2], [1])
    found, rebuild = tree.flatten([1, 2])
    assert found == [1, 2]
    with pytest.raises(InvalidArgumentError, match="3 leaves"):
        rebuild([1, 2, 3])
