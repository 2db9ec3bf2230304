"""Every optimiser over the argument combinations of PyTorch's own tests, 50 steps each.

`torch.testing._internal.common_optimizers.optim_db` has the arguments, and those that must raise.
Both libraries train the same small network with their own gradients, in double precision, and what
they come to is compared: parameters, losses and state, by PyTorch's names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import polygrad as pg
from pytorch_parity.report import Report, host

STEPS, FEW = 50, 2
SHAPES = {"w": (5, 4), "b": (4,), "v": (4, 6), "s": (), "k": (2, 3, 2), "e": (0, 3)}
MATRICES = ("w", "v")
# Arguments that say how PyTorch computes, not what.
IMPLEMENTATION = {"foreach", "fused", "capturable", "differentiable"}
# Scratch space that PyTorch keeps in the state.
SCRATCH = {"al"}
# Arguments beside those of the database.
MORE: dict[str, list[dict[str, Any]]] = {
    "SGD": [{"momentum": 0.9, "maximize": True, "nesterov": True}],
    "Adam": [{"betas": (0.5, 0.7), "eps": 1e-3}, {"decoupled_weight_decay": True,
             "weight_decay": 0.1}, {"amsgrad": True, "maximize": True}],
    "AdamW": [{"betas": (0.5, 0.7), "eps": 1e-3}, {"weight_decay": 0.0}],
    "Adamax": [{"betas": (0.5, 0.7), "eps": 1e-3}],
    "NAdam": [{"betas": (0.5, 0.7), "eps": 1e-3}],
    "RAdam": [{"betas": (0.5, 0.7)}, {"betas": (0.9, 0.9), "weight_decay": 0.1, "maximize": True}],
    "RMSprop": [{"alpha": 0.5, "eps": 1e-3}, {"momentum": 0.9}],
    "Adagrad": [{"eps": 1e-3, "lr_decay": 0.1, "maximize": True}],
    "Adadelta": [{"rho": 0.5, "eps": 1e-3}],
    "ASGD": [{"t0": 5, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}],
    "Rprop": [{"etas": (0.3, 2.0), "step_sizes": (1e-3, 0.1)}],
    "Adafactor": [{"eps": (1e-3, 1e-2), "weight_decay": 0.1}, {"lr": 0.05, "d": 2.0}],
    "Muon": [{"adjust_lr_fn": "match_rms_adamw"}, {"adjust_lr_fn": "original"},
             {"nesterov": False, "weight_decay": 0.0}],
    "LBFGS": [{"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7},
              {"line_search_fn": "strong_wolfe", "max_eval": 4, "max_iter": 10},
              {"line_search_fn": "strong_wolfe", "lr": 0.5, "tolerance_change": 1e-5},
              {"lr": 0.1, "history_size": 2, "max_iter": 4}],
}  # fmt: skip


class Polygrad:
    """The calls of this library."""

    library, tanh, optimizers = pg, pg.tanh, pg.optim

    @staticmethod
    def parameter(array: np.ndarray) -> Any:
        return pg.nn.Parameter(pg.tensor(array))

    tensor = staticmethod(pg.tensor)

    @staticmethod
    def mean_square(x: Any) -> Any:
        return pg.mean(pg.real(x * pg.conj(x)))


class PyTorch:
    """The same calls of PyTorch."""

    library, tanh, optimizers = torch, torch.tanh, torch.optim

    @staticmethod
    def parameter(array: np.ndarray) -> Any:
        return torch.nn.Parameter(torch.tensor(array))

    tensor = staticmethod(torch.tensor)

    @staticmethod
    def mean_square(x: Any) -> Any:
        return torch.mean(torch.real(x * torch.conj(x)))


class Problem:
    """A small network with parameters of several shapes, in one of the libraries."""

    def __init__(self, side: type, dtype: str, names: tuple[str, ...], sign: int = 1) -> None:
        # A complex tanh has poles, near which roundings grow without bound.
        self.bend = side.tanh if dtype == "float64" else lambda x: x
        self.side, self.sign = side, sign
        random = np.random.default_rng(4)

        def draw(*shape: int) -> np.ndarray:
            made = 0.5 * random.standard_normal(shape)
            if dtype == "complex128":
                made = made + 0.5j * random.standard_normal(shape)
            return np.asarray(made).astype(dtype)

        start = {name: draw(*shape) for name, shape in SHAPES.items()}
        self.x, self.y, self.t = (side.tensor(draw(*s)) for s in ((8, 5), (8, 6), (2, 3, 2)))
        self.all = {
            name: side.parameter(a) if name in names else side.tensor(a)
            for name, a in start.items()
        }
        self.params = {name: self.all[name] for name in names}

    def loss(self) -> Any:
        p, side = self.all, self.side
        hidden = self.bend(self.x @ p["w"] + p["b"])
        fit = side.mean_square((hidden @ p["v"]) * p["s"] - self.y)
        nothing = side.library.sum(side.library.real(p["e"] * p["e"]))
        # Without these, products of parameters count, not they themselves: L-BFGS runs far away.
        ties = sum(side.mean_square(p[name]) for name in ("w", "b", "v", "s"))
        return self.sign * (fit + side.mean_square(p["k"] - self.t) + nothing + 0.1 * ties)

    def closure(self, optimizer: Any) -> Callable[[], Any]:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = self.loss()
            loss.backward()
            return loss

        return closure


def groups_of(problem: Problem, kind: str) -> Any:
    """Parameters in a list, in named pairs, or in two groups with rates of their own."""
    if kind == "named":
        return list(problem.params.items())
    params = list(problem.params.values())
    if kind == "groups":
        half = len(params) // 2
        return [{"params": params[:half]}, {"params": params[half:], "lr": 3e-3}]
    return params


def arguments_of(side: type, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Keywords with their tensors, in double precision, in the library of `side`.

    With a rate in single precision PyTorch computes `1 - lr * weight_decay` in it too.
    """
    return {
        k: side.tensor(host(v).astype("float64")) if torch.is_tensor(v) else v
        for k, v in kwargs.items()
    }


def train(side: type, name: str, kwargs: dict[str, Any], kind: str, dtype: str,
          names: tuple[str, ...]) -> Any:  # fmt: skip
    """(losses, parameters, state by parameter) after the steps of one library."""
    problem = Problem(side, dtype, names, -1 if kwargs.get("maximize") else 1)
    late = "k" if kind == "late" else None
    first = [p for n, p in problem.params.items() if n != late]
    given = first if late else groups_of(problem, kind)
    optimizer = getattr(side.optimizers, name)(given, **arguments_of(side, kwargs))
    closure, losses = problem.closure(optimizer), []
    for step in range(FEW if kind.startswith("few") else STEPS):
        if late and step == STEPS // 2:
            optimizer.add_param_group({"params": [problem.params[late]], "lr": 2e-3})
        if kind == "missing":  # each parameter lacks its gradient once in a while
            closure()
            for i, p in enumerate(problem.params.values()):
                if (step + i) % 5 == 3:
                    p.grad = None
            optimizer.step()
            losses.append(problem.loss())
        elif (kind, step) in (("resumed", STEPS // 2), ("few, resumed", 1)):
            losses.append(optimizer.step(closure))
            optimizer = resumed(side, name, kwargs, problem, optimizer)
            closure = problem.closure(optimizer)
        else:
            losses.append(optimizer.step(closure))
    return losses, list(problem.params.values()), [
        optimizer.state.get(p, {}) for p in problem.params.values()
    ]


def resumed(side: type, name: str, kwargs: dict[str, Any], problem: Problem, old: Any) -> Any:
    """A new optimiser from a state that PyTorch's would save."""
    made = getattr(side.optimizers, name)(
        groups_of(problem, "one"), **arguments_of(side, kwargs)
    )
    made.load_state_dict(old.state_dict())
    return made


@contextlib.contextmanager
def in_full_precision() -> Iterator[None]:
    """Let PyTorch compute in double precision throughout.

    Its Muon rounds to bfloat16 before it iterates, and its NAdam and ASGD keep their coefficients
    in the default dtype.
    """
    real = torch.Tensor.bfloat16
    torch.Tensor.bfloat16 = lambda self: self.clone()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.Tensor.bfloat16 = real
        torch.set_default_dtype(torch.float32)


def compare_training(report: Report, info: Any) -> None:
    name = info.name
    names = MATRICES if name == "Muon" else tuple(
        n for n in SHAPES if not (n == "e" and name == "Adafactor")
    )  # fmt: skip
    kinds = ["few", "few, resumed", "led"] if name == "LBFGS" else [
        "one", "groups", "named", "missing", "late", "resumed"
    ]  # fmt: skip
    if name == "Muon":
        kinds.remove("late")
    seen = [i.kwargs for i in info.optim_inputs_func("cpu")] + MORE.get(name, [])
    if "lr" not in {k for kwargs in seen for k, v in kwargs.items() if torch.is_tensor(v)}:
        seen.append({"lr": torch.tensor(1e-3, dtype=torch.float64), "weight_decay": 0.1}
                    if name != "Rprop" else {"lr": torch.tensor([1e-3])})  # fmt: skip
    if name == "LBFGS":
        seen = [{"max_iter": 5, **kwargs} for kwargs in seen]
    for kwargs in seen:
        if IMPLEMENTATION & kwargs.keys():
            report.leave(name, "arguments that say how PyTorch computes")
            continue
        dtypes = ["float64"]
        if info.supports_complex and name not in ("Muon", "Adafactor"):
            dtypes.append("complex128")
        for dtype in dtypes:
            for kind in kinds if dtype == "float64" or name == "LBFGS" else ("one", "missing"):
                compare = compare_led if kind == "led" else compare_one
                compare(report, name, kwargs, kind, dtype, names)
    for flag in info.supported_impls:
        report.leave(name, f"{flag}=")


def compare_one(report: Report, name: str, kwargs: dict[str, Any], kind: str, dtype: str,
                names: tuple[str, ...]) -> None:  # fmt: skip
    what = f"{kwargs}, {kind}, {dtype}"
    with in_full_precision():
        expected = train(PyTorch, name, kwargs, kind, dtype, names)
    try:
        got = train(Polygrad, name, kwargs, kind, dtype, names)
    except (pg.PolygradError, ValueError, TypeError, KeyError) as error:
        report.fail(name, what, f"{type(error).__name__}: {error}")
        return
    wanted = [{k: v for k, v in s.items() if k not in SCRATCH} for s in expected[2]]
    states = [
        {k: mine.get(k) for k in theirs} for mine, theirs in zip(got[2], wanted, strict=True)
    ]
    report.equal(name, what, (got[0], got[1], states), (expected[0], expected[1], wanted))


def compare_led(report: Report, name: str, kwargs: dict[str, Any], kind: str, dtype: str,
                names: tuple[str, ...]) -> None:  # fmt: skip
    """Each step from where PyTorch's optimiser is, with its state.

    L-BFGS magnifies roundings, about tenfold in ten iterations: after 50 steps of
    their own both are somewhere else.
    """
    what = f"{kwargs}, {kind}, {dtype}"
    sides = (Polygrad, PyTorch)
    problems = [Problem(side, dtype, names) for side in sides]
    mine, theirs = (
        getattr(s.optimizers, name)(list(p.params.values()), **arguments_of(s, kwargs))
        for s, p in zip(sides, problems, strict=True)
    )
    got, expected = [], []
    for _ in range(STEPS):
        with pg.no_grad():
            for p, q in zip(problems[0].params.values(), problems[1].params.values(), strict=True):
                p[...] = pg.tensor(host(q))
        mine.load_state_dict(moved(theirs.state_dict()))
        both = ((got, mine, problems[0]), (expected, theirs, problems[1]))
        for found, optimizer, problem in both:
            loss = optimizer.step(problem.closure(optimizer))
            state = optimizer.state[next(iter(problem.params.values()))]
            params = [host(p).copy() for p in problem.params.values()]
            found.append((loss, params, state["func_evals"], state["n_iter"]))
    report.equal(name, what, got, expected)


def moved(value: Any) -> Any:
    """A state dictionary with copies of PyTorch's tensors as arrays."""
    if isinstance(value, dict):
        return {k: moved(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(map(moved, value))
    return host(value).copy() if torch.is_tensor(value) else value


# ---- what must raise ---------------------------------------------------------------------------
def translated(value: Any, known: dict[int, Any]) -> Any:
    """Parameters of PyTorch, and all that holds them, as polygrad's; each once."""
    if torch.is_tensor(value):
        return known.setdefault(id(value), pg.nn.Parameter(pg.tensor(host(value))))
    if isinstance(value, dict):
        return {k: translated(v, known) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translated(v, known) for v in value)
    return value


def compare_refusals(report: Report, info: Any) -> None:
    if info.optim_error_inputs_func is None:
        return
    for error in info.optim_error_inputs_func("cpu", torch.float64):
        given = error.optimizer_error_input
        if IMPLEMENTATION & given.kwargs.keys():
            report.leave(info.name, "arguments that say how PyTorch computes")
            continue
        what = f"refuses {given.desc}"
        params = translated(given.params, {})
        if given.params is None:
            params = [pg.nn.Parameter(pg.ones((2, 2)))]
        kwargs = {k: tuple(map(plain, v)) if isinstance(v, tuple) else plain(v)
                  for k, v in given.kwargs.items()}  # fmt: skip
        try:
            optimizer = getattr(pg.optim, info.name)(params, **kwargs)
            if error.error_on is OptimizerErrorEnum.STEP_ERROR:
                for p in params:
                    p.grad = pg.ones(p.shape, dtype=p.dtype)
                optimizer.step()
        except (ValueError, TypeError):
            report.equal(info.name, what, "raises", "raises")
        else:
            report.fail(info.name, what, "does not raise")


def plain(value: Any) -> Any:
    return pg.tensor(host(value)) if torch.is_tensor(value) else value


def run(report: Report, wanted: Callable[[str], Any]) -> None:
    """Compare the optimisers whose names are wanted."""
    for info in optim_db:
        if not wanted(info.name):
            continue
        if not hasattr(pg.optim, info.name):
            report.leave(info.name, "an optimiser for sparse tensors")
            continue
        compare_training(report, info)
        compare_refusals(report, info)
