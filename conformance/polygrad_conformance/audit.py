"""What is wrong with the declarations themselves: run by a test, so that a gap is seen at once."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from polygrad import nn, optim
from polygrad_conformance.declarations import Subject, dtypes_of, load_data, subjects
from polygrad_conformance.layer_examples import examples_of
from polygrad_conformance.result_dtypes import missing
from polygrad_conformance.subjects import layers
from polygrad_conformance.subjects.training import OPTIMIZERS

__all__ = ["problems", "unused_keywords", "unused_options"]

# What only says where a result is made, or is there for other libraries' sake.
_ANY = frozenset({"device", "copy", "dtype", "requires_grad"})
# What is checked elsewhere: `inplace` by subjects/in_place.py, what is written to running
# statistics and weights by the examples of layers. PyTorch's gumbel_softmax does not use its `eps`.
_ELSEWHERE = frozenset({"inplace", "momentum", "max_norm", "norm_type", "gumbel_softmax.eps"})


# Other modules, which have examples of their own; and a parameter that takes one value only.
_OF_LAYERS = frozenset({
    "Transformer.custom_encoder", "Transformer.custom_decoder", "ConvTranspose1d.padding_mode",
    "ConvTranspose2d.padding_mode", "ConvTranspose3d.padding_mode",
})  # fmt: skip


def problems() -> list[str]:
    """One sentence for each gap: an operation, and what its declaration lacks."""
    found = [f"{key}: data/dtypes.toml has no entry" for key in missing()]
    for key, subject in subjects().items():
        found += [
            f"{key}: no sample in {dtype}"
            for dtype in subject.dtypes("full")
            if not subject.samples(dtype)
        ]
        found += [
            f"{key}: no sample gives {name} another value than its default"
            for name in unused_keywords(subject)
        ]
    found += [
        f"nn.{name}: no example gives {option} another value than its default"
        for name in layers.names()
        for option in unused_options(name)
    ]
    found += [f"optim.{name}: subjects/training.py does not run it" for name in _optimizers()]
    found += [f"data/{table}.toml names {key}, which is no operation"
              for table, key in _named() if key not in subjects()]  # fmt: skip
    return found


def unused_keywords(subject: Subject) -> list[str]:
    """The parameters with a default that no sample of any dtype changes."""
    signature = inspect.signature(subject.operation.function)
    left = {
        name: p.default
        for name, p in signature.parameters.items()
        if p.default is not p.empty
        and name not in _ANY
        and not {name, f"{subject.operation.name}.{name}"} & _ELSEWHERE
    }
    for dtype in subject.dtypes("full"):
        for sample in subject.samples(dtype):
            try:
                given = signature.bind(*sample.args, **sample.kwargs).arguments
            except TypeError:
                continue
            for name, value in given.items():
                if name in left and not _same(value, left[name]):
                    del left[name]
        if not left:
            break
    return sorted(left)


def unused_options(layer: str) -> list[str]:
    """The options of a layer and the keywords of its call that no example changes."""
    cls = getattr(nn, layer)
    made, called = (inspect.signature(f).parameters for f in (cls.__init__, cls.forward))
    left = {n: p.default for n, p in (*made.items(), *called.items()) if p.default is not p.empty}
    for example in examples_of(layer).values():
        given = {
            **dict(zip(list(made)[1:], example.args, strict=False)), **example.kwargs,
            **dict(zip(list(called)[1:], example.inputs, strict=False)), **example.call,
        }  # fmt: skip
        for name, value in given.items():
            if name in left and not _same(value, left[name]):
                del left[name]
    return sorted(
        name for name in {*left} - _ANY - _ELSEWHERE if f"{layer}.{name}" not in _OF_LAYERS
    )


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, np.ndarray) or isinstance(default, np.ndarray):
        return False
    return type(value) is type(default) and bool(value == default)


def _named() -> Iterator[tuple[str, str]]:
    """Tables that name operations, and each that they name."""
    for key in load_data("domains")["functions"]:
        yield "domains", key
    for table in ("special_cases", "more_special_cases"):
        for key in load_data(table):
            yield table, key
    for part in load_data("promotion")["functions"].values():
        for key in part:
            yield "promotion", key
    for part in load_data("grad_conventions").values():
        for key in part.get("functions", ()) if isinstance(part, dict) else ():
            yield "grad_conventions", key
    for key in load_data("layouts")["not_alike"]["functions"]:
        yield "layouts", key
    for part in load_data("errors").values():
        for key in part["except"]:
            yield "errors", key


def _optimizers() -> list[str]:
    """Optimizers that are not checked."""
    classes = {n: getattr(optim, n) for n in optim.__all__ if isinstance(getattr(optim, n), type)}
    found = {n for n, c in classes.items() if issubclass(c, optim.Optimizer)}
    return sorted(found - {"Optimizer", *OPTIMIZERS})


def unused_dtypes() -> list[str]:
    """Dtypes of a level that no operation runs."""
    run = {d for s in subjects().values() for d in s.dtypes("full")}
    return [d for d in dtypes_of("bifc", "full") if d not in run]
