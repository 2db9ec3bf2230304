"""Muon and Adafactor against their definitions: singular values, and sums by row and by column."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.registry import find_backend, find_device
from polygrad.testing import assert_close
from polygrad.testing.compare import host

COEFFICIENTS = (3.4445, -4.7750, 2.0315)


def dtype_of(device):
    place = find_device(device)
    return pg.float64 if find_backend(place.kind).supports(pg.float64, place) else pg.float32


class Muon:
    """The iteration is an odd polynomial of the matrix: it acts on each singular value alone."""

    def __init__(self, p, **options):
        self.p, self.m = p, np.zeros_like(p)
        self.o = {"lr": 1e-3, "weight_decay": 0.1, "momentum": 0.95, "nesterov": True,
                  "ns_coefficients": COEFFICIENTS, "ns_steps": 5, "adjust_lr_fn": None,
                  **options}  # fmt: skip

    def step(self, g):
        o = self.o
        self.m = o["momentum"] * self.m + (1 - o["momentum"]) * g
        x = (1 - o["momentum"]) * g + o["momentum"] * self.m if o["nesterov"] else self.m
        u, s, vt = np.linalg.svd(x, full_matrices=False)
        s = s / max(math.sqrt((s**2).sum()), 1e-7)
        for _ in range(o["ns_steps"]):
            s = sum(c * s**power for c, power in zip(o["ns_coefficients"], (1, 3, 5), strict=True))
        rows, columns = x.shape
        rate = o["lr"] * math.sqrt(max(1, rows / columns))
        if o["adjust_lr_fn"] == "match_rms_adamw":
            rate = o["lr"] * 0.2 * math.sqrt(max(rows, columns))
        self.p = self.p * (1 - o["lr"] * o["weight_decay"]) - rate * (u * s) @ vt


class Adafactor:
    """The paper's algorithm 4, with sums in the place of means: the product needs no mean."""

    def __init__(self, p, **options):
        self.p, self.t = p, 0
        self.rows = self.columns = self.square = 0.0
        self.o = {"lr": 1e-2, "beta2_decay": -0.8, "eps": (None, 1e-3), "d": 1.0,
                  "weight_decay": 0.0, "maximize": False, **options}  # fmt: skip

    def step(self, g):
        self.t += 1
        o, p = self.o, self.p
        beta = 1 - self.t ** o["beta2_decay"]
        rate = max(o["eps"][1], math.sqrt((p**2).mean())) * min(o["lr"], self.t**-0.5)
        g = -g if o["maximize"] else g
        if g.ndim > 1:
            self.rows = beta * self.rows + (1 - beta) * (g**2).sum(axis=-1)
            self.columns = beta * self.columns + (1 - beta) * (g**2).sum(axis=-2)
            total = self.rows.sum(axis=-1)[..., None, None]
            square = self.rows[..., :, None] * self.columns[..., None, :] / total
        else:
            square = self.square = beta * self.square + (1 - beta) * g**2
        move = g / np.sqrt(square)
        move = move / max(1.0, math.sqrt((move**2).mean()) / o["d"])
        self.p = p * (1 - o["lr"] * o["weight_decay"]) - rate * move


CASES = [
    ("Muon", {}), ("Muon", {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw"}),
    ("Muon", {"lr": 0.1, "nesterov": False, "momentum": 0.5, "weight_decay": 0.0}),
    ("Muon", {"lr": 0.1, "ns_coefficients": (2.0, -1.5, 0.5), "ns_steps": 9}),
    ("Muon", {"lr": 0.1, "ns_steps": 0, "adjust_lr_fn": "original"}),
    ("Adafactor", {}), ("Adafactor", {"lr": 0.3, "d": 1.5, "weight_decay": 0.1}),
    ("Adafactor", {"beta2_decay": -0.3, "maximize": True, "eps": (1e-30, 0.5)}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), CASES)
def test_against_the_definition(name, options, device):
    dtype = dtype_of(device)
    random = np.random.default_rng(1)
    shapes = [(3, 4), (5, 2), (1, 3)] + ([(2, 3, 4), (4,), ()] if name == "Adafactor" else [])
    start = [np.asarray(random.standard_normal(shape)) for shape in shapes]
    params = [pg.nn.Parameter(pg.tensor(a, dtype=dtype, device=device)) for a in start]
    wanted = [globals()[name](a, **options) for a in start]
    optimizer = getattr(pg.optim, name)(params, **options)
    for step in range(8):
        for i, (p, w) in enumerate(zip(params, wanted, strict=True)):
            if (step + i) % 5 == 3:
                p.grad = None
                continue
            g = np.asarray(random.standard_normal(p.shape))
            p.grad = pg.tensor(g, dtype=dtype, device=device)
            w.step(g)
        optimizer.step()
    for p, w in zip(params, wanted, strict=True):
        assert p.device == device and p.dtype == dtype
        assert_close(p, w.p, dtype=dtype, what=f"{name} {p.shape}")


def test_the_step_of_muon_is_nearly_orthogonal():
    """The coefficients of 2024 bring singular values into a band around 1, not to 1."""
    w = pg.nn.Parameter(pg.zeros((20, 6), dtype=pg.float64))
    w.grad = pg.tensor(np.random.default_rng(0).standard_normal((20, 6)))
    pg.optim.Muon([w], lr=1.0).step()
    values = np.linalg.svd(host(w), compute_uv=False) / math.sqrt(20 / 6)
    assert values.min() > 0.65 and values.max() < 1.25


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1)])
def test_matrices_without_elements_or_with_one(shape):
    p = pg.nn.Parameter(pg.ones(shape))
    optimizer = pg.optim.Muon([p], lr=0.1)
    for gradient in (pg.ones(shape), pg.zeros(shape)):
        p.grad = gradient
        optimizer.step()
    assert p.shape == shape and np.isfinite(host(p)).all()


def test_state_of_adafactor_by_shape_and_resumed():
    params = [pg.nn.Parameter(pg.ones(shape)) for shape in ((2, 3, 4), (5,))]
    optimizer = pg.optim.Adafactor(params)
    for p in params:
        p.grad = pg.full(p.shape, 0.5)
    optimizer.step()
    assert {k: v.shape for k, v in optimizer.state[params[0]].items() if k != "step"} == {
        "row_var": (2, 3, 1), "col_var": (2, 1, 4),
    }  # fmt: skip
    assert {k: v.shape for k, v in optimizer.state[params[1]].items() if k != "step"} == {
        "variance": (5,)
    }
    others = [pg.nn.Parameter(p.detach()) for p in params]
    again = pg.optim.Adafactor(others)
    again.load_state_dict(optimizer.state_dict())
    for p, q in zip(params, others, strict=True):
        p.grad = q.grad = pg.full(p.shape, -1.0)
    optimizer.step()
    again.step()
    for p, q in zip(params, others, strict=True):
        np.testing.assert_array_equal(host(p), host(q))


def test_a_gradient_of_zero_with_a_tiny_eps():
    """The root is taken before eps, which squared would be 0 in float32."""
    p = pg.nn.Parameter(pg.ones((2, 2)))
    p.grad = pg.zeros((2, 2))
    pg.optim.Adafactor([p], eps=(1e-30, 1e-3)).step()
    assert host(p).tolist() == [[1.0, 1.0], [1.0, 1.0]]


@pytest.mark.parametrize(("make", "word", "error"), [
    (lambda p: pg.optim.Muon([pg.nn.Parameter(pg.ones(3))]), r"\(3,\)", ShapeError),
    (lambda p: pg.optim.Muon([pg.nn.Parameter(pg.ones((2, 2), dtype=pg.complex64))]), "complex64",
     DtypeError),
    (lambda p: pg.optim.Muon([p], ns_steps=100), "below 100", InvalidArgumentError),
    (lambda p: pg.optim.Muon([p], ns_steps=2.5), "ns_steps", InvalidTypeError),
    (lambda p: pg.optim.Muon([p], ns_coefficients=(1.0, 2.0)), "3 numbers", InvalidArgumentError),
    (lambda p: pg.optim.Muon([p], adjust_lr_fn="x"), "adjust_lr_fn", InvalidArgumentError),
    (lambda p: pg.optim.Muon([p], momentum=-0.1), "momentum", InvalidArgumentError),
    (lambda p: pg.optim.Muon([p], eps=-1.0), "eps", InvalidArgumentError),
    (lambda p: pg.optim.Adafactor([p], d=0.5), "d is 0.5", InvalidArgumentError),
    (lambda p: pg.optim.Adafactor([p], beta2_decay=0.8), "beta2_decay", InvalidArgumentError),
    (lambda p: pg.optim.Adafactor([p], eps=(-1.0, 1e-3)), r"eps\[0\]", InvalidArgumentError),
    (lambda p: pg.optim.Adafactor([p], eps=(None, -1.0)), r"eps\[1\]", InvalidArgumentError),
    (lambda p: pg.optim.Adafactor([pg.nn.Parameter(pg.ones(1, dtype=pg.complex64))]), "complex64",
     DtypeError),
    (lambda p: pg.optim.Lion([p], betas=(0.9, 1.0)), r"betas\[1\]", InvalidArgumentError),
    (lambda p: pg.optim.Lion([p], weight_decay=-1.0), "weight_decay", InvalidArgumentError),
])  # fmt: skip
def test_refusals(make, word, error):
    with pytest.raises(error, match=word):
        make(pg.nn.Parameter(pg.ones((2, 2))))
    optimizer = pg.optim.Muon([pg.nn.Parameter(pg.ones((2, 2)))])
    with pytest.raises(ShapeError, match="no matrix"):
        optimizer.add_param_group({"params": pg.nn.Parameter(pg.ones(3))})
    assert len(optimizer.param_groups) == 1


@pytest.mark.parametrize("size", [1e-6, 1e-4, 1.0, 300.0, 60000.0])
def test_muon_in_half_precision_takes_gradients_of_all_sizes(size):
    """Their squares vanish or overflow: the step was NaN, or none."""
    g = np.random.default_rng(0).standard_normal((70, 60)).clip(-1, 1) * size
    p = pg.nn.Parameter(pg.zeros((70, 60), dtype=pg.float16))
    p.grad = pg.tensor(g, dtype=pg.float16)
    pg.optim.Muon([p], lr=1.0, momentum=0.0, weight_decay=0.0, ns_steps=20,
                  ns_coefficients=(2.0, -1.5, 0.5)).step()  # fmt: skip
    step = p.detach().numpy().astype("float64")
    singular = np.linalg.svd(step / math.sqrt(70 / 60), compute_uv=False)
    assert singular.min() > 0.9
    assert singular.max() < 1.1
