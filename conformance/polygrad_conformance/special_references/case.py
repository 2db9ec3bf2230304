"""A case: a reference, the points, and the largest relative error allowed.

Derivatives of the reference are central differences in many digits, or given by a formula.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import mpmath as mp


@dataclass(frozen=True)
class Case:
    reference: object
    points: list
    rtol: float = 1e-13
    slopes: dict = field(default_factory=dict)  # derivatives of the reference, by input
    weights: tuple = ()  # of several results, the sum of which is compared
    digits: int = 60  # more, where a small tail is the complement of a number near 1

    def slope(self, name, i, args):
        """The derivative of the reference with respect to input i."""
        if name in self.slopes:
            return self.slopes[name](*args)
        return partial(self.reference, i, args)


def partial(reference, i, args):
    """The central difference of a reference with respect to argument i."""
    step = (abs(args[i]) or 1) * mp.mpf(10) ** (-mp.mp.dps // 3)
    above, below = list(args), list(args)
    above[i], below[i] = args[i] + step, args[i] - step
    return (reference(*above) - reference(*below)) / (2 * step)


def one(*values):
    """Points of a function of one variable."""
    return [(v,) for v in values]


def both(*values):
    """Points of both signs, and 0."""
    return one(0.0, *values, *(-v for v in values))


def pairs(first, second):
    """All pairs."""
    return [(a, b) for a in first for b in second]


def inverse(reference, i, names, guess, points, rtol=1e-12):
    """A case of the inverse of a reference with respect to argument i.

    The arguments `names` are those of the inverse: the target takes the place of argument i. Its
    slopes follow from those of the reference at the root, found by Newton's method from `guess`.
    """

    def at_root(args):
        x = mp.mpf(float(guess(*map(float, args))))
        for _ in range(3):
            given = [*args[:i], x, *args[i + 1 :]]
            x -= (reference(*given) - args[i]) / partial(reference, i, given)
        return [*args[:i], x, *args[i + 1 :]]

    def slope(j):
        def of(*args):
            given = at_root(list(args))
            along = partial(reference, i, given)
            return 1 / along if j == i else -partial(reference, j, given) / along

        return of

    return Case(None, points, rtol, {name: slope(j) for j, name in enumerate(names)})
