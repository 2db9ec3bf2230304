"""Independent faults of random numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import polygrad as pg
from polygrad_conformance.faults.independent_planting import (
    IndependentFault,
    Place,
    method,
)

__all__ = ["FAULTS"]


# ---- optimizers ---------------------------------------------------------------------------------


def _random(
    name: str, text: str, precedent: str, wrong: Any, *args: Any, **kw: Any
) -> IndependentFault:
    def shown(at: Place) -> Any:
        generator = pg.Generator(5)
        draw = functools.partial(getattr(pg.random, name), *args, **kw)
        return [draw(device=at.device, generator=generator) for _ in range(2)]

    return method("random", f"random.{name}", pg.random, name, text, precedent, wrong, shown)


def _without_last(right: Any, low: int, high: int, *args: Any, **kwargs: Any) -> Any:
    return right(low, max(high - 1, low + 1), *args, **kwargs)


def _of_24_bits(right: Any, low: int, high: int, *args: Any, **kwargs: Any) -> Any:
    out = right(low, high, *args, **kwargs)
    return out if high - low <= 2**24 else low + (out - low) // 256 * 256


def _odd_end(right: Any, *args: Any, **kwargs: Any) -> Any:
    out = right(*args, **kwargs)
    if out.size % 2 == 0 or out.tracked:
        return out
    host = out.detach().numpy().copy()
    host.reshape(-1)[-1] = 0
    return pg.tensor(host, device=out.device)


def _one_block_back(right: Any, *args: Any, **kwargs: Any) -> Any:
    out, generator = right(*args, **kwargs), kwargs.get("generator") or pg.random.default_generator
    seed, position, children = generator.get_state()
    generator.set_state(type(generator.get_state())(seed, max(position - 1, 0), children))
    return out


def _repeating(right: Any, *args: Any, **kwargs: Any) -> Any:
    out = right(*args, **kwargs)
    if out.size <= 65536 or out.tracked:
        return out
    flat = np.resize(out.numpy().reshape(-1)[:65536], out.size)
    return pg.tensor(flat.reshape(out.shape), device=out.device)


def _last_stays(right: Any, n: int, **kwargs: Any) -> Any:
    host = right(n, **kwargs).numpy().copy()
    if n > 1:
        host[[np.argmax(host), n - 1]] = host[[n - 1, np.argmax(host)]]
    return pg.tensor(host, device=kwargs.get("device"))


def _scaled(parameter: str, change: Callable[[Any], Any]) -> Any:
    def wrong(right: Any, *args: Any, **kwargs: Any) -> Any:
        if parameter in kwargs:
            kwargs[parameter] = change(kwargs[parameter])
        return right(*args, **kwargs)

    return wrong


def _clamped_normal(
    right: Any, low: Any, high: Any, shape: Any = None, *args: Any, **kwargs: Any
) -> Any:
    out = right(low, high, shape, *args, **kwargs)
    return pg.clip(pg.random.normal(out.shape, *args, **kwargs), low, high)


def _closed_above(
    right: Any, shape: Any = None, low: Any = 0.0, high: Any = 1.0, **kwargs: Any
) -> Any:
    out = right(shape, low, high, **kwargs)
    return out if out.tracked else low + high - out


def _negated(right: Any, *args: Any, **kwargs: Any) -> Any:
    out = right(*args, **kwargs)
    return out if out.tracked else -out


def _one_more(right: Any, concentration: Any, *args: Any, **kwargs: Any) -> Any:
    if isinstance(concentration, pg.Tensor):
        small = concentration < 1
        concentration = concentration + pg.astype(small, concentration.dtype)
    elif np.ndim(concentration) == 0 and concentration < 1:
        concentration = concentration + 1
    return right(concentration, *args, **kwargs)


# fmt: off
FAULTS: dict[str, IndependentFault] = {
    "integers-without-the-last": _random(
        "integers", "high - 1 is never drawn", "floor of a float times n - 1", _without_last,
        0, 3, (20,),
    ),
    "integers-of-24-bits": _random(
        "integers", "of a large range only multiples of 256 are drawn", "float32 times the range",
        _of_24_bits, 0, 2**32, (4,),
    ),
    "uniform-includes-one": _random(
        "uniform", "numbers lie in (0, 1], not in [0, 1)", "cuRAND's convention",
        _closed_above, (3,),
    ),
    "normal-of-odd-counts": _random(
        "normal", "of an odd number of normals the last is 0", "https://github.com/IntelPython/dpnp/issues/1351",
        _odd_end, (3,),
    ),
    "normal-by-variance": _random(
        "normal", "std is taken as the variance", "C++ and R disagree",
        _scaled("std", lambda s: s**0.5), (3,), std=4.0,
    ),
    "exponential-by-rate": _random(
        "exponential", "scale is taken as the rate", "torch's lambd",
        _scaled("scale", lambda s: 1 / s), (3,), scale=4.0,
    ),
    "blocks-overlap": _random(
        "uniform", "the second call begins with the last block of the first",
        "counters advanced by one too few", _one_block_back, (8,),
    ),
    "large-samples-repeat": _random(
        "uniform", "after 65536 numbers they come again", "one counter for each thread of a grid",
        _repeating, (65540,),
    ),
    "permutation-keeps-the-end": _random(
        "permutation", "the last place always has the largest number", "shuffles off by one",
        _last_stays, 5,
    ),
    "permutation-of-nothing": _random(
        "permutation", "a permutation of nothing has one element", "grids of at least one thread",
        lambda right, n, **k: right(max(n, 1), **k), 0,
    ),
    "bernoulli-of-the-complement": _random(
        "bernoulli", "True has probability 1 - p", "p of dropout",
        lambda right, p, *a, **k: right(1 - p, *a, **k), 0.9, (8,),
    ),
    "bernoulli-is-float": _random(
        "bernoulli", "the result is float32 by default", "torch.bernoulli",
        lambda right, *a, **k: right(*a, **{"dtype": pg.float32, **k}), 0.5, (2,),
    ),
    "categorical-of-the-last-axis": _random(
        "categorical", "axis is ignored", "arguments dropped",
        lambda right, *a, axis=-1, **k: right(*a, **k), [[0.0, 1.0, 2.0], [1.0, 2.0, 0.0]], axis=0,
    ),
    "multinomial-with-replacement": _random(
        "multinomial", "replacement=False is ignored", "one kernel for both",
        lambda right, w, n, replacement=False, **k: right(w, n, True, **k), [1.0, 100.0, 1.0], 3,
    ),
    "gamma-of-small-shapes": _random(
        "gamma", "a concentration below 1 is drawn as one more", "the boost left out",
        _one_more, 0.5, (3,),
    ),
    "truncated-normal-is-clamped": _random(
        "truncated_normal", "numbers outside are moved to the bounds", "clip(normal)",
        _clamped_normal, -0.5, 0.5, (6,),
    ),
    "geometric-from-zero": _random(
        "geometric", "failures are counted, not trials", "two definitions",
        lambda right, *a, **k: right(*a, **k) - 1, 0.5, (4,),
    ),
    "gumbel-of-minima": _random(
        "gumbel", "the distribution of minima, not of maxima", "a sign forgotten",
        _negated, (3,),
    ),
}
# fmt: on
