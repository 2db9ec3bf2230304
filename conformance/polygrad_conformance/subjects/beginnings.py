"""How training begins and is held: initial values of weights, and gradients that are clipped.

Initial values of seed 7 are committed, `data/initial.toml`; run this module to print the table.
Clipped gradients are held against NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad import nn
from polygrad_conformance.case import Case, Failed
from polygrad_conformance.declarations import load_data
from polygrad_conformance.target import Host, Target

_CLOSE = 2.0**-18  # of float32, orthogonal ones are products of reflections
_INF = float("inf")

# By function and variant: the shape, and keywords. Fans differ, so that they are not exchanged.
INITIAL: dict[str, dict[str, tuple[tuple[int, ...], dict[str, Any]]]] = {
    "constant_": {"plain": ((2, 3), {"val": 2.5})},
    "ones_": {"plain": ((2, 3), {})},
    "zeros_": {"plain": ((2, 3), {})},
    "eye_": {"wide": ((2, 3), {}), "high": ((3, 2), {})},
    "dirac_": {"plain": ((2, 3, 3), {}), "groups": ((4, 2, 3, 2), {"groups": 2})},
    "uniform_": {"plain": ((2, 3), {}), "bounds": ((2, 3), {"a": -3.0, "b": -1.0})},
    "normal_": {"plain": ((2, 3), {}), "moved": ((2, 3), {"mean": 5.0, "std": 0.25})},
    "trunc_normal_": {
        "plain": ((2, 3), {}),
        "bounds": ((2, 3), {"mean": 1.0, "std": 4.0, "a": 0.0, "b": 0.5}),
    },
    **{name: {"plain": ((2, 8), {}), "gain": ((2, 3, 3), {"gain": 3.0})}
       for name in ("xavier_uniform_", "xavier_normal_")},
    **{name: {"plain": ((2, 8), {}), "out": ((2, 8), {"mode": "fan_out"}),
              "slope": ((2, 3, 3), {"a": 2.0}), "relu": ((2, 3, 3), {"nonlinearity": "relu"}),
              "tanh": ((8, 2), {"nonlinearity": "tanh", "mode": "fan_out"})}
       for name in ("kaiming_uniform_", "kaiming_normal_")},
    "orthogonal_": {"wide": ((2, 4), {}), "high": ((4, 2), {"gain": 3.0}), "cube": ((3, 2, 2), {})},
    "sparse_": {"plain": ((6, 3), {"sparsity": 0.4}),
                "wide": ((4, 5), {"sparsity": 0.5, "std": 2.0})},
}  # fmt: skip
_GRADIENTS = ([3.0, -4.0], [[12.0], [0.5]], [-84.0])
CLIPPED: dict[str, dict[str, tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "clip_grad_norm_": {
        "plain": ((1.0,), {}), "enough": ((1000.0,), {}), "one": ((2.0,), {"norm_type": 1.0}),
        "largest": ((2.0,), {"norm_type": _INF}), "three": ((2.0, 3.0), {}),
    },
    "clip_grad_value_": {"plain": ((3.5,), {}), "small": ((0.25,), {}), "large": ((100.0,), {})},
}  # fmt: skip


def cases(level: str) -> Iterator[Case]:
    """Each variant of each function; at level smoke the first of each."""
    tables: tuple[tuple[str, dict[str, Any], Any], ...] = (
        ("nn.init", INITIAL, _check_initial), ("nn.utils", CLIPPED, _check_clipped),
    )  # fmt: skip
    for space, table, check in tables:
        for name, variants in table.items():
            for variant in list(variants)[: None if level != "smoke" else 1]:

                def action(
                    target: Target, name: str = name, variant: str = variant, check: Any = check
                ) -> None:
                    check(target, name, variant)

                yield Case(f"{space}.{name}", "float32", "value", variant, action, "", 6, "nn",
                           "beginnings")  # fmt: skip


# ---- initial values ------------------------------------------------------------------------------
def _initial(target: Target, name: str, variant: str) -> Host:
    shape, options = INITIAL[name][variant]
    t = pg.full(shape, 9.0, dtype=pg.float32, device=target.device)
    pg.manual_seed(7)
    made = getattr(nn.init, name)(t, **options)
    if made is not t:
        raise Failed("another tensor was returned")
    found: Host = target.download(t)
    return found


def _check_initial(target: Target, name: str, variant: str) -> None:
    got = _initial(target, name, variant).reshape(-1)
    want = np.array(load_data("initial")[name][variant])
    if not np.allclose(got, want, rtol=_CLOSE, atol=_CLOSE):
        raise Failed(f"seed 7 gives {got.tolist()}, expected {want.tolist()}")


# ---- clipped gradients ---------------------------------------------------------------------------
def _check_clipped(target: Target, name: str, variant: str) -> None:
    args, options = CLIPPED[name][variant]
    gradients = [np.array(g, np.float32) for g in _GRADIENTS]
    parameters = [nn.Parameter(target.upload(np.zeros_like(g))) for g in gradients]
    parameters.append(nn.Parameter(target.upload(np.ones(2, np.float32))))  # it has no gradient
    for p, g in zip(parameters, gradients, strict=False):
        pg.sum(p * target.upload(g)).backward()
    norm = getattr(nn.utils, name)(parameters, *args, **options)
    got = [target.download(p.grad).reshape(-1) for p in parameters if p.grad is not None]
    every = np.concatenate([g.reshape(-1) for g in gradients]).astype(float)
    if name == "clip_grad_value_":
        want = np.clip(every, -args[0], args[0])
    else:
        size = np.linalg.norm(every, options.get("norm_type", (*args, 2.0)[1]))
        want = every * min(1.0, args[0] / (size + 1e-6))
        if not np.allclose(target.download(norm), size, rtol=_CLOSE):
            raise Failed(f"the norm is {target.download(norm)}, expected {size}")
    if len(got) != len(gradients) or not np.allclose(np.concatenate(got), want, rtol=_CLOSE):
        raise Failed(f"the gradients are {[g.tolist() for g in got]}, expected {want.tolist()}")


def render() -> str:
    """The table of initial values as TOML."""
    target = Target("cpu", "full")
    lines = ["# Initial values of seed 7 in float32, in the order of memory."]
    for name, variants in INITIAL.items():
        lines += ["", f"[{name}]"]
        for variant in variants:
            values = ", ".join(f"{v:.9g}" for v in _initial(target, name, variant).reshape(-1))
            lines.append(f"{variant} = [{values}]")
    return "\n".join(lines)


if __name__ == "__main__":
    print(render())
