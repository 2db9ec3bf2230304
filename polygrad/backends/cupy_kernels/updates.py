"""Update rules of optimisers: one pass over parameter, gradient and state; of many parameters too.

A rule is what happens to one element, in names: `p` and `g`, the state, and numbers that Python
reckons in double precision from the keywords, as `polygrad.optim.rules` does. The operations and
their order are those of that module, so that float32 and float64 give the same bits.

Note [Gradients in parts]
-------------------------
Parameters that are updated alike lie end to end in one array, and so does their state; their
gradients are wherever the backward left them. `<rule>_of_parts` takes a list of them, and tells the
kernel where each begins: the starts in the joined array, then the addresses. A thread looks for its
part once, and walks on from there. All parameters are one launch, and no gradient is copied.

Note [Numbers in a graph]
-------------------------
An argument of a recorded launch is the same at each replay. So a launch that is recorded is `told`
that its numbers are in memory, where the host writes those of the next step before it replays:
they are reckoned as those of any step, and the bits are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polygrad.adam_scale import adam_scale, nadam_scales, radam_scale
from polygrad.backends.cupy_kernels.launcher import Family, Launcher, Row, forward
from polygrad.backends.cupy_kernels.layout import THREADS, blocks_for
from polygrad.backends.cupy_kernels.text import REALS
from polygrad.kernels import Array, Kernels

__all__ = ["FAMILY", "RULES"]

STEPS = 4  # elements of a thread, THREADS apart

HELPERS = r"""
#define STEPS 4

D A greatest(A a, A b) { return a > b || a != a ? a : b; }
D A least(A a, A b) { return a < b || a != a ? a : b; }
D A sign_of(A x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

// Which part element i is of: the last of `count` starts that is not after it.
D I part_of(const I* starts, I count, I i) {
    I low = 0, high = count - 1;
    while (low < high) {
        I middle = (low + high + 1) / 2;
        if (starts[middle] <= i) low = middle; else high = middle - 1;
    }
    return low;
}
"""

_KERNEL = """
KERNEL {name}(const T* ps, const T* gs, const I* parts, I count, T* out{slots}, I size, I told,
              const double* table{numbers}) {{
    {casts}
    I i = (I)blockIdx.x * blockDim.x * STEPS + threadIdx.x;
    if (i >= size) return;
    I part = count ? part_of(parts, count, i) : 0;
    for (int k = 0; k < STEPS && i < size; k++, i += blockDim.x) {{
        const T* from = gs + i;
        if (count) {{
            while (part + 1 < count && parts[part + 1] <= i) part++;
            from = (const T*)parts[count + part] + (i - parts[part]);
        }}
        A p = wide(ps[i]), g = wide(*from);
        {loads}
        {body}
        out[i] = narrow(p);
        {stores}
    }}
}}
"""

# ---- what rules begin with -----------------------------------------------------------------------
_GRADIENT = "if (maximize != 0) g = -g;\n        "
_DECAY = f"{_GRADIENT}if (weight_decay != 0) g = g + weight_decay * p;"
_DECOUPLED = f"{_GRADIENT}if (weight_decay != 0) p = p * kept;"
_EITHER = f"""{_GRADIENT}if (weight_decay != 0 && decoupled != 0) p = p * kept;
        else if (weight_decay != 0) g = g + weight_decay * p;"""
_MOMENTS = "\n        m = m + (g - m) * rest1; v = beta2 * v + rest2 * (g * g);"

Numbers = dict[str, float]


def _decay(k: Mapping[str, Any]) -> Numbers:
    return {"maximize": float(k["maximize"]), "weight_decay": k["weight_decay"]}


def _decay_either(k: Mapping[str, Any]) -> Numbers:
    return {
        **_decay(k), "decoupled": float(k["decoupled_weight_decay"]),
        "kept": 1 - k["lr"] * k["weight_decay"],
    }  # fmt: skip


def _moments(k: Mapping[str, Any]) -> Numbers:
    beta1, beta2 = k["betas"]
    return {"rest1": 1 - beta1, "beta2": beta2, "rest2": 1 - beta2}


class Rule(NamedTuple):
    """One rule: the names of its state, and when there is that which it need not keep.

    `numbers(keywords)` are its numbers; those called `has_<slot>` are added for optional state, to
    which `optional` gives a function of the keywords and of how many state arrays there are.
    """

    slots: tuple[str, ...]
    optional: dict[str, Callable[[Mapping[str, Any], int], bool]]
    numbers: Callable[[Mapping[str, Any]], Numbers]
    body: str


def _sgd(k: Mapping[str, Any]) -> Numbers:
    return {
        **_decay(k), "lr": k["lr"], "momentum": k["momentum"], "rest": 1 - k["dampening"],
        "nesterov": float(k["nesterov"]), "first": float(k["step"] == 1),
    }  # fmt: skip


def _adam(k: Mapping[str, Any]) -> Numbers:
    scale, tail = adam_scale(k["lr"], k["betas"], k["eps"], k["step"])
    return {**_decay_either(k), **_moments(k), "scale": scale, "tail": tail}


def _adamax(k: Mapping[str, Any]) -> Numbers:
    beta1, beta2 = k["betas"]
    return {
        **_decay(k), "rest1": 1 - beta1, "beta2": beta2, "eps": k["eps"],
        "scale": k["lr"] / (1 - beta1 ** k["step"]),
    }  # fmt: skip


def _nadam(k: Mapping[str, Any]) -> Numbers:
    now, ahead = nadam_scales(k["lr"], k["mu"], k["mu_next"], k["mu_product"])
    return {
        **_decay_either(k), **_moments(k), "now": now, "ahead": ahead, "eps": k["eps"],
        "correction": 1 - k["betas"][1] ** k["step"],
    }  # fmt: skip


def _radam(k: Mapping[str, Any]) -> Numbers:
    scale, trusted = radam_scale(k["lr"], k["betas"], k["step"])
    return {
        **_decay_either(k), **_moments(k), "scale": scale, "trusted": float(trusted),
        "eps": k["eps"],
    }  # fmt: skip


def _lion(k: Mapping[str, Any]) -> Numbers:
    now, later = k["betas"]
    kept = 1 - k["lr"] * k["weight_decay"]
    return {**_decay(k), "kept": kept, "lr": k["lr"], "now": 1 - now, "later": 1 - later}


def _rmsprop(k: Mapping[str, Any]) -> Numbers:
    return {
        **_decay(k), "lr": k["lr"], "alpha": k["alpha"], "rest": 1 - k["alpha"], "eps": k["eps"],
        "momentum": k["momentum"],
    }  # fmt: skip


def _adagrad(k: Mapping[str, Any]) -> Numbers:
    scale = k["lr"] / (1 + (k["step"] - 1) * k["lr_decay"])
    return {**_decay(k), "scale": scale, "eps": k["eps"]}


def _adadelta(k: Mapping[str, Any]) -> Numbers:
    return {**_decay(k), "lr": k["lr"], "rho": k["rho"], "rest": 1 - k["rho"], "eps": k["eps"]}


def _rprop(k: Mapping[str, Any]) -> Numbers:
    (shrinks, grows), (low, high) = k["etas"], k["step_sizes"]
    return {"maximize": float(k["maximize"]), "shrinks": shrinks, "grows": grows, "low": low,
            "high": high}  # fmt: skip


def _asgd(k: Mapping[str, Any]) -> Numbers:
    return {**_decay(k), "kept": 1 - k["lambd"] * k["eta"], "eta": k["eta"], "mu": k["mu"]}


RULES = {
    "sgd_step": Rule((), {"buffer": lambda k, n: n > 0}, _sgd, _DECAY + """
        if (has_buffer != 0) {
            buffer = first != 0 ? g : momentum * buffer + rest * g;
            g = nesterov != 0 ? g + momentum * buffer : buffer;
        }
        p = p - lr * g;"""),
    "adam_step": Rule(("m", "v"), {"largest": lambda k, n: n > 2}, _adam, _EITHER + _MOMENTS + """
        largest = has_largest != 0 ? greatest(largest, v) : v;
        p = p - scale * m / (sqrt(largest) + tail);"""),
    "adamax_step": Rule(("m", "u"), {}, _adamax, _DECAY + """
        m = m + (g - m) * rest1;
        u = greatest(beta2 * u, fabs(g) + eps);
        p = p - scale * m / u;"""),
    "nadam_step": Rule(("m", "v"), {}, _nadam, _EITHER + _MOMENTS + """
        p = p - (now * g + ahead * m) / (sqrt(v / correction) + eps);"""),
    "radam_step": Rule(("m", "v"), {}, _radam, _EITHER + _MOMENTS + """
        p = trusted != 0 ? p - scale * m / (sqrt(v) + eps) : p - scale * m;"""),
    "lion_step": Rule(("m",), {}, _lion, _DECOUPLED + """
        p = p - lr * sign_of(m + (g - m) * now);
        m = m + (g - m) * later;"""),
    "rmsprop_step": Rule(("square",), {
        "buffer": lambda k, n: k["momentum"] > 0, "mean": lambda k, n: k["centered"],
    }, _rmsprop, _DECAY + """
        square = alpha * square + rest * (g * g);
        A variance = square;
        if (has_mean != 0) {
            mean = mean + (g - mean) * rest;
            variance = square - mean * mean;
        }
        g = g / (sqrt(variance) + eps);
        if (has_buffer != 0) g = buffer = momentum * buffer + g;
        p = p - lr * g;"""),
    "adagrad_step": Rule(("total",), {}, _adagrad, _DECAY + """
        total = total + g * g;
        p = p - scale * g / (sqrt(total) + eps);"""),
    "adadelta_step": Rule(("square", "moved"), {}, _adadelta, _DECAY + """
        square = rho * square + rest * (g * g);
        g = sqrt(moved + eps) / sqrt(square + eps) * g;
        moved = rho * moved + rest * (g * g);
        p = p - lr * g;"""),
    "rprop_step": Rule(("before", "length"), {}, _rprop, _GRADIENT + """
        A agreement = g * before;
        bool shrink = agreement < 0;
        length = agreement > 0 ? length * grows : shrink ? length * shrinks : length;
        length = least(greatest(length, low), high);
        if (shrink) g = 0;
        before = g;
        p = p - sign_of(g) * length;"""),
    "asgd_step": Rule(("mean",), {}, _asgd, _DECAY + """
        p = p * kept - eta * g;
        mean = mu == 1 ? p : mean + (p - mean) * mu;"""),
}  # fmt: skip


# ---- kernels from rules ----------------------------------------------------------------------
class _Names(dict[str, Any]):
    """Keywords of any rule: so the names of its numbers can be asked for without values."""

    def __missing__(self, key: str) -> Any:
        return (0.5, 0.25) if key in ("betas", "etas", "step_sizes") else 0.5


def _names(rule: Rule) -> tuple[str, ...]:
    """The numbers of a rule, as its kernel takes them."""
    return (*rule.numbers(_Names(step=3)), *(f"has_{slot}" for slot in rule.optional))


def _text(name: str, rule: Rule) -> str:
    slots, numbers, line = (*rule.slots, *rule.optional), _names(rule), "\n        "

    def told(slot: str, then: str) -> str:
        return f"if (has_{slot} != 0) {then}" if slot in rule.optional else then

    return _KERNEL.format(
        name=name,
        slots="".join(f", T* {slot}s" for slot in slots),
        numbers="".join(f", double {number}_" for number in numbers),
        casts="\n    ".join(
            f"A {number} = (A)(told ? table[{i}] : {number}_);" for i, number in enumerate(numbers)
        ),
        loads=line.join(
            f"A {slot} = 0;{line}{told(slot, f'{slot} = wide({slot}s[i]);')}" for slot in slots
        ),
        body=rule.body,
        stores=line.join(told(slot, f"{slot}s[i] = narrow({slot});") for slot in slots),
    )


def _given(rule: Rule, state: Sequence[Array], keywords: dict[str, Any]) -> dict[str, Array]:
    """The state by name; of optional state, what there is."""
    names = [*rule.slots, *(s for s, there in rule.optional.items() if there(keywords, len(state)))]
    return dict(zip(names, state, strict=True))


def _launch(
    gpu: Launcher, name: str, p: Array, g: Array, parts: Array, count: int,
    state: Sequence[Array], keywords: dict[str, Any],
) -> tuple[Array, ...]:  # fmt: skip
    """The rule on C-ordered arrays; its results."""
    rule = RULES[name]
    given = {slot: gpu.contiguous(a) for slot, a in _given(rule, state, keywords).items()}
    out, size = gpu.empty(p.shape, p.dtype), p.size
    has = [float(slot in given) for slot in rule.optional]

    def reckon(keywords: Mapping[str, Any]) -> list[float]:
        return [*map(float, rule.numbers(keywords).values()), *has]

    numbers = reckon(keywords)
    slots = [given.get(slot, out) for slot in (*rule.slots, *rule.optional)]
    gpu.run(
        FAMILY, name, p.dtype, blocks_for(size, THREADS * STEPS), THREADS,
        p, g, parts, count, out, *slots, size, *gpu.numbers(reckon, numbers), *numbers,
    )  # fmt: skip
    return (out, *given.values())


def _single(name: str) -> Any:
    """The rule on one parameter."""

    def call(
        gpu: Launcher, F: Kernels, p: Array, g: Array, *state: Array, **keywords: Any
    ) -> tuple[Array, ...]:
        if not p.size or g.dtype != p.dtype or g.shape != p.shape:
            found: tuple[Array, ...] = forward(name, F, p, g, *state, **keywords)
            return found
        p, g = gpu.contiguous(p), gpu.contiguous(g)
        return _launch(gpu, name, p, g, gpu.nothing(), 0, state, keywords)

    return call


def _of_parts(name: str) -> Any:
    """The rule on parameters end to end, whose gradients are in parts."""

    def call(
        gpu: Launcher, F: Kernels, p: Array, gs: list[Array], *state: Array, **keywords: Any
    ) -> tuple[Array, ...]:
        if any(g.dtype != p.dtype for g in gs) or sum(g.size for g in gs) != p.size:
            g = F.xp.concat([F.cast(g) for g in gs], axis=None)
            found: tuple[Array, ...] = forward(name, F, p, g, *state, **keywords)
            return found
        gs = [gpu.contiguous(g) for g in gs if g.size]
        if not gs:
            return (p, *state)
        starts = itertools.accumulate((g.size for g in gs[:-1]), initial=0)
        table = np.array([*starts, *map(gpu.address, gs)], np.uint64).view(np.int64)
        return _launch(gpu, name, p, p, gpu.uploaded(table), len(gs), state, keywords)

    return call


FAMILY = Family(
    "updates",
    HELPERS + "".join(_text(name, rule) for name, rule in RULES.items()),
    (
        *(Row(name, _single(name), REALS, (name,)) for name in RULES),
        *(Row(f"{name}_of_parts", _of_parts(name), REALS, (name,)) for name in RULES),
    ),
)
