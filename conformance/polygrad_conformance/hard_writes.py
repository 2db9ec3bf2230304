"""Hard samples of gathering, scattering and masks: negative, equal and no places."""

from __future__ import annotations

import numpy as np

from polygrad_conformance.hard_values import Calls, Hard, Make

__all__ = ["TABLE"]

_AXES = (0, 1, 2, -1, -2)


def _each(h: Hard, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Places for each element, each once along the axis, and what goes there."""
    x = h.block
    n = x.shape[axis]
    order = np.argsort(np.arange(n) * 2 % (n + 1) % n, kind="stable")
    shape = [1, 1, 1]
    shape[axis] = n
    places = np.broadcast_to((order - n * (np.arange(n) % 2)).reshape(shape), x.shape)
    return places.copy(), h(np.arange(24).reshape(2, 3, 4) + 10)


def _scattered(h: Hard) -> Calls:
    return [((h.holes, *_each(h, a)), {"axis": a}) for a in _AXES]


def _parts(h: Hard) -> Calls:
    """Indices shorter than the array."""
    made = []
    for a in _AXES:
        places, values = _each(h, a)
        made.append(((h.block, places[:1, :2, :2] % 2, values[:1, :2, :2]), {"axis": a}))
    return made


def _added(h: Hard) -> Calls:
    """Equal places, once by the end and once by the beginning."""
    made = []
    for a in _AXES:
        n = h.block.shape[a]
        places = np.zeros((2, 3, 4), np.int64)
        places[..., 1:] = n - 1
        places[:, 1] = -1
        made.append(((h.block, places, _each(h, a)[1]), {"axis": a}))
    return [*made, *_scattered(h)]


def _reduced(h: Hard) -> Calls:
    return [
        ((x, i, v % h(3) + h(1), name), {**k, "include_self": own})
        for (x, i, v), k in _added(h)[:3]
        for name in ("sum", "prod", "mean", "amax", "amin")
        for own in (True, False)
    ]


def _gathered(h: Hard) -> Calls:
    return [((h.holes, _each(h, a)[0]), {"axis": a}) for a in _AXES] + [
        ((h.holes, np.full((1, 2, 2), -1)), {"axis": a}) for a in _AXES
    ]


def _copied(h: Hard) -> Calls:
    made: Calls = []
    for a in _AXES:
        shape = list(h.block.shape)
        shape[a] = 2
        values = h(np.arange(np.prod(shape)).reshape(shape) + 20)
        made.append(((h.holes, np.array([-1, 0]), values), {"axis": a}))
    return made


def _filled(h: Hard) -> Calls:
    return [
        ((h.holes, i, 5), {"axis": a})
        for a in _AXES
        for i in (np.array([-1, 0]), np.array([1, 1]), np.array([], np.int64))
    ]


def _summed(h: Hard) -> Calls:
    made: Calls = []
    for a in _AXES:
        shape = list(h.block.shape)
        shape[a] = 3
        values = h(np.arange(np.prod(shape)).reshape(shape) + 20)
        made.append(((h.block, np.array([-1, 0, -1]), values), {"axis": a}))
    return made


def _masks(h: Hard) -> list[np.ndarray]:
    mask = np.arange(24).reshape(2, 3, 4) % 3 == 0
    return [mask, np.zeros_like(mask), np.ones_like(mask), mask[0], mask[:, :, :1], np.array(True)]


def _mask_filled(h: Hard) -> Calls:
    return [((h.holes, mask, v), {}) for mask in _masks(h) for v in (7, np.array(3, h.dtype))]


def _mask_chosen(h: Hard) -> Calls:
    return [((h.holes, mask), {}) for mask in _masks(h)]


def _mask_scattered(h: Hard) -> Calls:
    values = h(np.arange(30) + 10)
    return [((h.block, mask, values), {}) for mask in _masks(h)]


TABLE: dict[str, Make] = {
    "put_along_axis": _scattered, "scatter": lambda h: [*_scattered(h), *_parts(h)],
    "scatter_add": _added, "scatter_reduce": _reduced, "gather": _gathered, "index_copy": _copied,
    "index_fill": _filled, "index_add": _summed, "masked_fill": _mask_filled,
    "masked_select": _mask_chosen, "masked_scatter": _mask_scattered,
}  # fmt: skip
