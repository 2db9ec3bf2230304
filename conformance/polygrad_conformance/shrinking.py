"""A failing call made smaller by a fixed rule: no search, two more calls at most.

The first element that fails is called alone, without axes. If it passes so, the elements up to it
are called: what fails there and not alone is a matter of places, not of values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polygrad_conformance.case import Element, Failed
from polygrad_conformance.compare import compare_call, inputs_of
from polygrad_conformance.samples import Sample
from polygrad_conformance.target import Host, map_arrays

__all__ = ["shrunk"]


def shrunk(target: Any, subject: Any, dtype: str, failed: Failed) -> Failed:
    """The same failure, its message and its element those of the smallest call that fails too.

    Only calls whose arrays all broadcast to the result are made smaller: of others the elements do
    not correspond.
    """
    element = failed.element
    if element is None:
        return failed
    shape = _common_shape(element.sample)
    if not shape or shape != element.shape:
        return failed
    alone = _taken(element, shape, lambda flat: flat[element.place])
    smaller = _fails(target, subject, dtype, alone)
    if smaller is not None:
        said = f"; alone too: {inputs_of(alone, 0, ())}"
        return Failed(f"{failed}{said}", failed.measure, smaller)
    count = element.place + 1
    said = f"; not alone ({inputs_of(alone, 0, ())})"
    if (count,) != shape:
        prefix = _taken(element, shape, lambda flat: flat[:count])
        smaller = _fails(target, subject, dtype, prefix)
        if smaller is not None:
            said += f", but with the {element.place} elements before it"
    return Failed(f"{failed}{said}", failed.measure, smaller or element)


def _common_shape(sample: Sample) -> tuple[int, ...] | None:
    """The shape that the arrays of a call broadcast to; None: they do not, or there are none."""
    arrays: list[Host] = []
    map_arrays((sample.args, sample.kwargs), lambda a: arrays.append(a) or a)
    try:
        return np.broadcast_shapes(*(a.shape for a in arrays)) if arrays else None
    except ValueError:
        return None


def _taken(element: Element, shape: tuple[int, ...], take: Any) -> Sample:
    """The call of some elements."""
    sample = element.sample
    args, kwargs = map_arrays(
        (sample.args, sample.kwargs),
        lambda a: np.array(take(np.broadcast_to(a, shape).reshape(-1)), a.dtype),
    )
    return replace(sample, name=f"{sample.name} made smaller", args=args, kwargs=kwargs)


def _fails(target: Any, subject: Any, dtype: str, sample: Sample) -> Element | None:
    """The element at which a smaller call fails; None: it passes, or cannot be made."""
    made = target.made(subject, sample)
    if made.error is not None:
        return None
    try:
        compare_call(target, subject, dtype, sample, made.results)
    except Failed as failed:
        return failed.element
    except Exception:  # noqa: BLE001  the reference does not take it: it is no smaller call
        return None
    return None
