"""Every algorithm against loops over its published pseudo-code, on every device."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.registry import find_backend, find_device
from polygrad.testing import assert_close
from polygrad.testing.compare import host


class Reference:
    """One array and its state; `step(g)` is the pseudo-code of the algorithm's documentation."""

    defaults: ClassVar = {}

    def __init__(self, p, **options):
        self.p, self.t = p.astype(np.float64), 0
        self.o = {"weight_decay": 0.0, "maximize": False, **self.defaults, **options}
        for name in ("m", "v", "u", "d", "b", "a"):
            setattr(self, name, np.zeros_like(self.p))

    def step(self, g):
        self.t += 1
        o = self.o
        g = -g if o["maximize"] else g.astype(np.float64)
        if o.get("decoupled_weight_decay"):
            self.p = self.p - o["lr"] * o["weight_decay"] * self.p
        else:
            g = g + o["weight_decay"] * self.p
        self.update(g, o, self.t)


class SGD(Reference):
    defaults: ClassVar = {"momentum": 0.0, "dampening": 0.0, "nesterov": False}

    def update(self, g, o, t):
        if o["momentum"]:
            self.b = g if t == 1 else o["momentum"] * self.b + (1 - o["dampening"]) * g
            g = g + o["momentum"] * self.b if o["nesterov"] else self.b
        self.p = self.p - o["lr"] * g


class Adam(Reference):
    defaults: ClassVar = {"betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False}

    def moments(self, g, o, t):
        b1, b2 = o["betas"]
        self.m = b1 * self.m + (1 - b1) * g
        self.v = b2 * self.v + (1 - b2) * g * g
        return self.m / (1 - b1**t), self.v / (1 - b2**t)

    def update(self, g, o, t):
        m, v = self.moments(g, o, t)
        if o["amsgrad"]:
            self.u = np.maximum(self.u, self.v)
            v = self.u / (1 - o["betas"][1] ** t)
        self.p = self.p - o["lr"] * m / (np.sqrt(v) + o["eps"])


class AdamW(Adam):
    defaults: ClassVar = {**Adam.defaults, "weight_decay": 0.01, "decoupled_weight_decay": True}


class Adamax(Adam):
    def update(self, g, o, t):
        m, _ = self.moments(g, o, t)
        self.u = np.maximum(o["betas"][1] * self.u, np.abs(g) + o["eps"])
        self.p = self.p - o["lr"] * m / self.u


class NAdam(Adam):
    defaults: ClassVar = {**Adam.defaults, "momentum_decay": 4e-3}
    product = 1.0

    def update(self, g, o, t):
        _, v = self.moments(g, o, t)
        mu, after = (
            o["betas"][0] * (1 - 0.5 * 0.96 ** (s * o["momentum_decay"])) for s in (t, t + 1)
        )
        self.product *= mu
        m = after * self.m / (1 - self.product * after) + (1 - mu) * g / (1 - self.product)
        self.p = self.p - o["lr"] * m / (np.sqrt(v) + o["eps"])


class RAdam(Adam):
    def update(self, g, o, t):
        m, _ = self.moments(g, o, t)
        b2 = o["betas"][1]
        full = 2 / (1 - b2) - 1
        rho = full - 2 * t * b2**t / (1 - b2**t)
        if rho > 5:
            r = math.sqrt((rho - 4) * (rho - 2) * full / ((full - 4) * (full - 2) * rho))
            m = m * r * math.sqrt(1 - b2**t) / (np.sqrt(self.v) + o["eps"])
        self.p = self.p - o["lr"] * m


class Lion(Reference):
    defaults: ClassVar = {"betas": (0.9, 0.99), "decoupled_weight_decay": True}

    def update(self, g, o, t):
        b1, b2 = o["betas"]
        self.p = self.p - o["lr"] * np.sign(b1 * self.m + (1 - b1) * g)
        self.m = b2 * self.m + (1 - b2) * g


class RMSprop(Reference):
    defaults: ClassVar = {"alpha": 0.99, "eps": 1e-8, "momentum": 0.0, "centered": False}

    def update(self, g, o, t):
        a = o["alpha"]
        self.v = a * self.v + (1 - a) * g * g
        v = self.v
        if o["centered"]:
            self.a = a * self.a + (1 - a) * g
            v = v - self.a**2
        step = g / (np.sqrt(v) + o["eps"])
        self.b = o["momentum"] * self.b + step
        self.p = self.p - o["lr"] * (self.b if o["momentum"] else step)


class Adagrad(Reference):
    defaults: ClassVar = {"lr_decay": 0.0, "initial_accumulator_value": 0.0, "eps": 1e-10}

    def update(self, g, o, t):
        if t == 1:
            self.v = self.v + o["initial_accumulator_value"]
        self.v = self.v + g * g
        rate = o["lr"] / (1 + (t - 1) * o["lr_decay"])
        self.p = self.p - rate * g / (np.sqrt(self.v) + o["eps"])


class Adadelta(Reference):
    defaults: ClassVar = {"rho": 0.9, "eps": 1e-6}

    def update(self, g, o, t):
        self.v = o["rho"] * self.v + (1 - o["rho"]) * g * g
        step = np.sqrt(self.d + o["eps"]) / np.sqrt(self.v + o["eps"]) * g
        self.d = o["rho"] * self.d + (1 - o["rho"]) * step**2
        self.p = self.p - o["lr"] * step


class Rprop(Reference):
    defaults: ClassVar = {"etas": (0.5, 1.2), "step_sizes": (1e-6, 50.0)}

    def update(self, g, o, t):
        if t == 1:
            self.u = np.full_like(self.p, o["lr"])
        sign = np.sign(g * self.b)
        factor = np.where(sign > 0, o["etas"][1], np.where(sign < 0, o["etas"][0], 1.0))
        self.u = np.clip(self.u * factor, *o["step_sizes"])
        g = np.where(sign < 0, 0.0, g)
        self.p = self.p - np.sign(g) * self.u
        self.b = g


class ASGD(Reference):
    defaults: ClassVar = {"lambd": 1e-4, "alpha": 0.75, "t0": 1e6}
    mu = 1.0

    def update(self, g, o, t):
        if t == 1:
            self.eta = o["lr"]
        self.p = self.p * (1 - o["lambd"] * self.eta) - self.eta * g
        self.a = self.a + (self.p - self.a) * self.mu
        self.eta = o["lr"] / (1 + o["lambd"] * o["lr"] * t) ** o["alpha"]
        self.mu = 1 / max(1, t - o["t0"])


OPTIONS = [
    ("SGD", {}), ("SGD", {"momentum": 0.9, "dampening": 0.2, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}), ("Adam", {"weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    ("Adam", {"betas": (0.5, 0.7), "eps": 1e-3, "weight_decay": 0.1,
              "decoupled_weight_decay": True}),
    ("AdamW", {}), ("AdamW", {"amsgrad": True, "weight_decay": 0.2}),
    ("Adamax", {}), ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("NAdam", {}), ("NAdam", {"momentum_decay": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("RAdam", {}), ("RAdam", {"betas": (0.8, 0.9), "weight_decay": 0.1}),
    ("Lion", {}), ("Lion", {"betas": (0.5, 0.7), "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}), ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"centered": True, "alpha": 0.5}),
    ("Adagrad", {}), ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {}), ("Adadelta", {"rho": 0.5, "weight_decay": 0.1}),
    ("Rprop", {}), ("Rprop", {"etas": (0.3, 2.0), "step_sizes": (1e-3, 0.1)}),
    ("ASGD", {}), ("ASGD", {"lambd": 0.1, "t0": 5, "weight_decay": 0.1}),
]  # fmt: skip
SHAPES = [(3, 4), (4,), (), (2, 1, 3)]


def skipped(step, i):
    """Which parameters have no gradient in which step: membership of buckets changes."""
    return (step + i) % 5 == 3


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_against_the_pseudo_code(name, options, device):
    place = find_device(device)
    wide = find_backend(place.kind).supports(pg.float64, place)
    dtype, steps = (pg.float64, 50) if device == "cpu" else (pg.float64 if wide else pg.float32, 12)
    random = np.random.default_rng(3)
    start = [np.asarray(random.standard_normal(s)) for s in SHAPES]
    params = [pg.nn.Parameter(pg.tensor(a, dtype=dtype, device=device)) for a in start]
    wanted = [globals()[name](a, lr=0.05, **options) for a in start]
    optimizer = getattr(pg.optim, name)(params, lr=0.05, **options)
    for step in range(steps):
        for i, (p, w) in enumerate(zip(params, wanted, strict=True)):
            if skipped(step, i):
                p.grad = None
                continue
            g = np.asarray(random.standard_normal(p.shape))
            p.grad = pg.tensor(g, dtype=dtype, device=device)
            w.step(g)
        optimizer.step()
    for p, w in zip(params, wanted, strict=True):
        assert p.device == device and p.dtype == dtype and p.is_leaf and p.requires_grad
        assert_close(p, w.p, dtype=dtype, what=name)


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_complex_parameters_are_pairs_of_real_ones(name, options):
    random = np.random.default_rng(4)

    def draw(shape):
        return random.standard_normal(shape) + 1j * random.standard_normal(shape)

    start = [np.asarray(draw(s)) for s in SHAPES]
    whole = [pg.nn.Parameter(pg.tensor(a)) for a in start]
    pairs = [[pg.nn.Parameter(pg.tensor(x)) for x in (a.real, a.imag)] for a in start]
    first = getattr(pg.optim, name)(whole, lr=0.05, **options)
    second = getattr(pg.optim, name)([p for pair in pairs for p in pair], lr=0.05, **options)
    for _ in range(5):
        for p, (re, im) in zip(whole, pairs, strict=True):
            g = np.asarray(draw(p.shape))
            p.grad, re.grad, im.grad = pg.tensor(g), pg.tensor(g.real), pg.tensor(g.imag)
        first.step()
        second.step()
    for p, (re, im) in zip(whole, pairs, strict=True):
        assert_close(p, host(re) + 1j * host(im))
    for tensors in first.state.values():
        for value in tensors.values():
            assert not isinstance(value, pg.Tensor) or value.dtype == pg.complex128


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_large_parameters_and_small_ones_alike(name):
    random = np.random.default_rng(5)
    shapes = [(200, 100), (3,), (17000,)]
    start = [random.standard_normal(s) for s in shapes]
    params = [pg.nn.Parameter(pg.tensor(a)) for a in start]
    wanted = [globals()[name](a, lr=0.1, weight_decay=0.1) for a in start]
    optimizer = getattr(pg.optim, name)(params, lr=0.1, weight_decay=0.1)
    for _ in range(3):
        for p, w in zip(params, wanted, strict=True):
            g = random.standard_normal(p.shape)
            p.grad = pg.tensor(g)
            w.step(g)
        optimizer.step()
    for p, w in zip(params, wanted, strict=True):
        assert_close(p, w.p)


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda p: pg.optim.SGD(p, lr=-1.0), "lr"),
        (lambda p: pg.optim.SGD(p, momentum=-1.0), "momentum"),
        (lambda p: pg.optim.SGD(p, nesterov=True), "Nesterov"),
        (lambda p: pg.optim.Adam(p, betas=(0.9, 1.0)), r"betas\[1\]"),
        (lambda p: pg.optim.Adam(p, eps=-1e-8), "eps"),
        (lambda p: pg.optim.NAdam(p, momentum_decay=-1.0), "momentum_decay"),
        (lambda p: pg.optim.RMSprop(p, alpha=-1.0), "alpha"),
        (lambda p: pg.optim.Adagrad(p, lr_decay=-1.0), "lr_decay"),
        (lambda p: pg.optim.Adadelta(p, rho=1.5), "rho"),
        (lambda p: pg.optim.Rprop(p, etas=(1.5, 2.0)), "etas"),
        (lambda p: pg.optim.ASGD(p, weight_decay=-1.0), "weight_decay"),
        (lambda p: pg.optim.Adam(p, lr=math.nan), "lr"),
    ],
)
def test_options_out_of_their_domain(make, word):
    with pytest.raises(InvalidArgumentError, match=word):
        make([pg.nn.Parameter(pg.zeros(1))])
    with pytest.raises(InvalidTypeError, match="lr"):
        pg.optim.SGD([pg.nn.Parameter(pg.zeros(1))], lr="fast")


# ---- the learning rate in a tensor --------------------------------------------------------------
@pytest.mark.parametrize("name", [
    "SGD", "Adam", "NAdam", "Lion", "RMSprop", "Rprop", "ASGD", "Adafactor", "Muon", "LBFGS",
])  # fmt: skip
@pytest.mark.parametrize("shape", [(), (1,)])
def test_a_rate_in_a_tensor(name, shape):
    start = np.linspace(-1, 1, 6).reshape(2, 3)
    results = []
    for rate in (0.125, pg.full(shape, 0.125)):
        p = pg.nn.Parameter(pg.tensor(start))
        optimizer = getattr(pg.optim, name)([p], lr=rate)

        def closure(p=p, optimizer=optimizer):
            optimizer.zero_grad()
            loss = pg.sum((p - 3) ** 2)
            loss.backward()
            return loss

        optimizer.step(closure)
        group = optimizer.param_groups[0]
        if isinstance(rate, pg.Tensor):
            rate[...] = 0.0625  # the next step sees it
        else:
            group["lr"] = 0.0625
        optimizer.step(closure)
        assert group["lr"] is rate or not isinstance(rate, pg.Tensor)
        results.append(host(p))
    np.testing.assert_array_equal(*results)


def test_rates_in_tensors_that_are_refused():
    p = [pg.nn.Parameter(pg.zeros(1))]
    with pytest.raises(InvalidArgumentError, match=r"shape \(2,\)"):
        pg.optim.SGD(p, lr=pg.ones(2))
    with pytest.raises(InvalidArgumentError, match="not recorded on the tape"):
        pg.optim.SGD(p, lr=pg.ones(()).requires_grad_())
    with pytest.raises(InvalidArgumentError, match="lr is -1"):
        pg.optim.Adam(p, lr=pg.tensor(-1.0))
    with pytest.raises(InvalidTypeError, match="momentum"):
        pg.optim.SGD(p, momentum=pg.tensor(0.9))
    assert pg.optim.SGD(p, lr=np.float32(0.5)).param_groups[0]["lr"] == 0.5
