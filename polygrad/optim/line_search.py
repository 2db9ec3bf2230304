"""A line search for the strong Wolfe conditions: a bracket by extrapolation, then a zoom."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["Point", "strong_wolfe"]

DECREASE, CURVATURE = 1e-4, 0.9  # c1 and c2 of Nocedal and Wright


class Point(NamedTuple):
    """A step length, and there: the loss, its gradient, and its slope along the direction."""

    t: float
    loss: float
    gradient: Any
    slope: float


def strong_wolfe(
    at: Callable[[float], Point],
    start: Point,
    t: float,
    most: int,
    shortest: float,
) -> tuple[Point, int]:
    """A point with enough decrease and a flat enough slope, or the lowest of the last bracket.

    A loss or slope that is not a number counts as too high: the search comes back from it.

    Parameters
    ----------
    at
        Evaluates a step length.
    start
        The point at 0; its slope is negative.
    t
        The step length to try first.
    most
        Evaluations after the first one.
    shortest
        The width of a bracket below which the zoom ends.

    Returns
    -------
    tuple
        The point, and the number of evaluations.

    Source: Nocedal and Wright, "Numerical Optimization" (2006), algorithms 3.5 and 3.6, with the
    safeguards of Schmidt's minFunc.
    """
    before, now = start, at(t)
    tried = 0
    while tried < most:
        if not _decreases(start, now) or (tried > 1 and not now.loss < before.loss):
            bracket = [before, now]
            break
        if _is_flat(start, now):
            return now, tried + 1
        if now.slope >= 0:
            bracket = [before, now]
            break
        bounds = now.t + 0.01 * (now.t - before.t), now.t * 10
        before, now = now, at(_interpolate(before, now, *bounds))
        tried += 1
    else:
        bracket = [start, now]
    return _zoom(at, start, bracket, tried, most, shortest)


def _zoom(
    at: Callable[[float], Point],
    start: Point,
    bracket: list[Point],
    tried: int,
    most: int,
    shortest: float,
) -> tuple[Point, int]:
    """Narrow a bracket until a point of it meets the conditions."""
    low, high = _order(bracket)
    stuck = False
    while tried < most:
        first, last = sorted(point.t for point in bracket)
        if last - first < shortest:
            break
        t = _interpolate(bracket[0], bracket[1], first, last)
        margin = 0.1 * (last - first)
        near = min(last - t, t - first) < margin
        if near and (stuck or t >= last or t <= first):
            # a second step to the same edge, or onto it: go a tenth of the bracket inwards
            t = last - margin if abs(t - last) < abs(t - first) else first + margin
            near = False
        stuck = near
        now = at(t)
        tried += 1
        if not _decreases(start, now) or not now.loss < bracket[low].loss:
            bracket[high] = now
            low, high = _order(bracket)
            continue
        if _is_flat(start, now):
            return now, tried + 1
        if now.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = now
    return bracket[low], tried + 1


def _decreases(start: Point, now: Point) -> bool:
    """The first condition: the loss went down enough, to a number."""
    enough = now.loss <= start.loss + DECREASE * now.t * start.slope
    return enough and not math.isnan(now.slope)


def _is_flat(start: Point, now: Point) -> bool:
    """The second condition, in its strong form."""
    return abs(now.slope) <= -CURVATURE * start.slope


def _order(bracket: list[Point]) -> tuple[int, int]:
    """Which end is the lower one, and which the other; a loss that is not a number is higher."""
    return (1, 0) if bracket[1].loss < bracket[0].loss else (0, 1)


def _interpolate(a: Point, b: Point, lowest: float, highest: float) -> float:
    """The minimum of the cubic through two points with their slopes, within bounds.

    The middle of the bounds where there is none.
    """
    if b.t < a.t:
        a, b = b, a
    middle = (lowest + highest) / 2
    if a.t == b.t:
        return middle
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not 0 <= square < math.inf:
        return middle
    d2 = math.sqrt(square)
    divisor = b.slope - a.slope + 2 * d2
    if divisor == 0:
        return middle
    t = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / divisor)
    return min(max(t, lowest), highest)
