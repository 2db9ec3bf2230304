"""Structure invented by hypothesis, at level exhaustive: shapes, axes, keywords, slices.

Hypothesis chooses structure only. Values are whole numbers, so that every order of summation gives
the same result and NumPy's is compared to the last bit. The search is derandomised: two runs try
the same. A structure that fails is said as a line for `data/structures.txt`: what hypothesis drew,
in order. From there it is an ordinary sample, at level full and without hypothesis.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.errors import UnsupportedOperationError
from polygrad_conformance.case import Case, Failed, Unsupported
from polygrad_conformance.target import Host, Target

EXAMPLES = 200
Draw = Callable[..., Any]
Family = Callable[[Draw, Any], tuple[Any, Host, str]]


def cases(level: str) -> Iterator[Case]:
    """The corpus of each family of functions; at level exhaustive also a search."""
    if level == "smoke":
        return
    for name, (family, step) in FAMILIES.items():
        made: dict[str, Callable[[Target], None]] = {
            f"corpus-{i}": lambda t, f=family, drawn=drawn: _compare(t, *_again(f, drawn))
            for i, drawn in enumerate(corpus().get(name, []))
        }
        if level == "exhaustive":
            made["hypothesis"] = lambda t, n=name, f=family: _search(t, n, f)
        for sample, action in made.items():
            yield Case(
                f"structure.{name}", "float32", "value", sample, action, "", step, "", "structure"
            )


@functools.cache
def corpus() -> dict[str, list[list[Any]]]:
    """What was drawn for structures that once failed, by family."""
    text = resources.files("polygrad_conformance").joinpath("data", "structures.txt").read_text()
    found: dict[str, list[list[Any]]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, drawn = line.partition(": ")
            found.setdefault(name, []).append(ast.literal_eval(drawn))
    return found


class _Nothing:
    """In the place of hypothesis' strategies: what is drawn is known."""

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **keywords: None


def _again(family: Family, drawn: list[Any]) -> tuple[Any, Host, str]:
    """The structure that was drawn so."""
    left = iter(drawn)
    return family(lambda strategy: next(left), _Nothing())


def _compare(target: Target, make: Any, want: Host, said: str) -> None:
    with pg.device(target.device):
        got = target.download(make(target.upload))
    if got.shape != want.shape or not np.array_equal(got, want):
        raise Failed(f"{said}: {got.tolist()} of shape {got.shape}, expected {want.tolist()}")


def _search(target: Target, name: str, family: Family) -> None:
    """Try structures; the smallest that fails is reported."""
    try:
        import hypothesis
        from hypothesis import strategies
    except ImportError as error:
        raise Unsupported("structure needs hypothesis: pip install hypothesis") from error

    @hypothesis.settings(
        derandomize=True, deadline=None, database=None, max_examples=EXAMPLES,
        report_multiple_bugs=False,  # two runs say the same one
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    @hypothesis.given(strategies.data())
    def attempt(data: Any) -> None:
        drawn: list[Any] = []

        def draw(strategy: Any) -> Any:
            drawn.append(data.draw(strategy))
            return drawn[-1]

        make, want, said = family(draw, strategies)
        try:
            _compare(target, make, want, said)
        except UnsupportedOperationError:
            raise
        except Exception as error:  # noqa: BLE001  whatever a device raises is a result
            kind = "" if isinstance(error, Failed) else f"{said}: {type(error).__name__}: "
            raise Failed(f"{kind}{error}; data/structures.txt: `{name}: {drawn!r}`") from None

    attempt()


def _shape(draw: Draw, st: Any, least: int = 0, most: int = 4) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(0, 4), min_size=least, max_size=most)))


def _values(shape: tuple[int, ...]) -> Host:
    return (np.arange(int(np.prod(shape))) % 7 - 3).reshape(shape).astype(np.float32)


def _reduction(draw: Draw, st: Any) -> tuple[Any, Host, str]:
    shape = _shape(draw, st)
    name = draw(st.sampled_from(["sum", "prod", "max", "min", "any", "all", "count_nonzero"]))
    if name in ("max", "min"):
        shape = tuple(max(n, 1) for n in shape)
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True)) if shape else []
    axis = draw(st.sampled_from([None, tuple(axes), tuple(a - len(shape) for a in axes)]))
    options = {"axis": axis, "keepdims": draw(st.booleans())}
    x = _values(shape)
    want = np.asarray(getattr(np, name)(x, **options))
    return lambda up: getattr(pg, name)(up(x), **options), want, f"{name} of {shape}, {options}"


def _broadcast(draw: Draw, st: Any) -> tuple[Any, Host, str]:
    shape = _shape(draw, st)
    parts = []
    for _ in range(2):
        cut = draw(st.integers(0, len(shape)))
        parts.append(tuple(draw(st.sampled_from([1, n])) for n in shape[cut:]))
    name = draw(st.sampled_from(["add", "multiply", "maximum", "less", "subtract"]))
    x, y = map(_values, parts)
    return (lambda up: getattr(pg, name)(up(x), up(y)), np.asarray(getattr(np, name)(x, y)),
            f"{name} of {parts[0]} and {parts[1]}")  # fmt: skip


def _key(draw: Draw, st: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    ends = st.one_of(st.none(), st.integers(-6, 6))
    steps = st.one_of(st.none(), st.sampled_from([-3, -2, -1, 1, 2, 3]))
    key: list[Any] = []
    for n in shape:
        kinds = ["slice", "slice", "stop"] + ["integer", "indices"] * (n > 0)
        kind = draw(st.sampled_from(kinds))
        if kind == "stop":
            break
        if kind == "slice":
            key.append(slice(draw(ends), draw(ends), draw(steps)))
        elif kind == "integer":
            key.append(draw(st.integers(-n, n - 1)))
        elif not any(isinstance(k, np.ndarray) for k in key):
            key.append(np.array(draw(st.lists(st.integers(-n, n - 1), max_size=3)), np.int64))
        else:
            key.append(slice(None))
        if draw(st.integers(0, 5)) == 0:
            key.append(None)
    return tuple(key)


def _indexing(draw: Draw, st: Any) -> tuple[Any, Host, str]:
    shape = _shape(draw, st)
    key, x = _key(draw, st, shape), _values(shape)
    up_key = lambda up: tuple(up(k) if isinstance(k, np.ndarray) else k for k in key)
    return lambda up: up(x)[up_key(up)], np.asarray(x[key]), f"x[{key}] of {shape}"


def _movement(draw: Draw, st: Any) -> tuple[Any, Host, str]:
    shape = _shape(draw, st, least=1)
    order = tuple(draw(st.permutations(range(len(shape)))))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    shift, count = draw(st.integers(-5, 5)), draw(st.integers(0, 3))
    calls: dict[str, tuple[Any, Any]] = {
        "permute_dims": ((order,), {}), "flip": ((), {"axis": axis}),
        "roll": ((shift,), {"axis": axis}), "repeat": ((count,), {"axis": axis}),
        "expand_dims": ((), {"axis": axis}), "tile": (((count, 2),), {}),
        "moveaxis": ((axis, order[0]), {}), "sort": ((), {"axis": axis}),
        "cumulative_sum": ((), {"axis": axis}), "diff": ((), {"axis": axis}),
    }  # fmt: skip
    name = draw(st.sampled_from(sorted(calls)))
    (args, options), x = calls[name], _values(shape)
    return (lambda up: getattr(pg, name)(up(x), *args, **options),
            np.asarray(getattr(np, name)(x, *args, **options)),
            f"{name} of {shape}, {args}, {options}")  # fmt: skip


def _joining(draw: Draw, st: Any) -> tuple[Any, Host, str]:
    shape = _shape(draw, st, least=1)
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    name = draw(st.sampled_from(["concat", "stack"]))
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        own = list(shape)
        if name == "concat":
            own[axis] = draw(st.integers(0, 3))
        parts.append(_values(tuple(own)))
    return (lambda up: getattr(pg, name)([up(p) for p in parts], axis=axis),
            np.asarray(getattr(np, name)(parts, axis=axis)),
            f"{name} of {[p.shape for p in parts]}, axis {axis}")  # fmt: skip


def _product(draw: Draw, st: Any) -> tuple[Any, Host, str]:
    stack, (n, k, m) = _shape(draw, st, most=2), (draw(st.integers(0, 4)) for _ in range(3))
    left, right = draw(st.sampled_from([((), ()), (stack, ()), ((), stack), (stack, stack)]))
    x, y = _values((*left, n, k)), _values((*right, k, m))
    return lambda up: pg.matmul(up(x), up(y)), np.matmul(x, y), f"matmul of {x.shape} and {y.shape}"


FAMILIES: dict[str, tuple[Family, int]] = {
    "broadcasting": (_broadcast, 2), "indexing": (_indexing, 3), "movement": (_movement, 3),
    "joining": (_joining, 3), "reductions": (_reduction, 4), "products": (_product, 4),
}  # fmt: skip
