"""`nn.utils` and what moves a module: clipping, vectors, parametrizations, fusion, dtypes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn.utils import parametrizations as torch_made
from torch.nn.utils import parametrize as torch_parametrize

import polygrad as pg
from polygrad.nn.utils import parametrizations, parametrize
from pytorch_parity.report import Report, host

__all__ = ["run"]

DTYPES = ("float32", "float64")
TORCH = {
    "float16": torch.float16, "float32": torch.float32, "float64": torch.float64,
    "complex64": torch.complex64, "complex128": torch.complex128, "int64": torch.int64,
}  # fmt: skip


def run(report: Report, wanted: Callable[[str], Any]) -> None:
    """All subjects whose names are wanted."""
    for subject in (
        norms, clipping, clipping_values, clipping_with_norm, vectors, weight_norm, spectral_norm,
        orthogonal, assigned_orthogonal, own_parametrizations, removal, fused_convolutions,
        fused_linear_layers, places,
    ):  # fmt: skip
        if wanted(subject.__name__):
            subject(report)


def numbers(*shape: int, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    """Normal numbers."""
    rng = np.random.default_rng([seed, *shape])
    made = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        made = made + 1j * rng.standard_normal(shape)
    return made.astype(dtype)


def outcome(call: Callable[[], Any]) -> Any:
    """A result, or that there was an error."""
    try:
        return call()
    except Exception:  # noqa: BLE001  whether both refuse is what is compared
        return "error"


def both(report: Report, subject: str, arguments: Any, got: Any, expected: Any) -> None:
    """Compare results, either of which may be an error."""
    if "error" in (str(got), str(expected)):
        if str(got) != str(expected):
            report.fail(subject, arguments, f"{got!r}, expected {expected!r}")
        else:
            report.equal(subject, arguments, 0, 0)
        return
    report.equal(subject, arguments, got, expected)


# ---- gradients together ---------------------------------------------------------------------
GRADIENTS: dict[str, list[np.ndarray | None]] = {
    "several": [numbers(3, 2), None, numbers(4), numbers(2, 2, 2)],
    "with a 0-d one": [numbers(), numbers(3)],
    "zeros": [np.zeros(3), np.zeros(2)],
    "with zeros": [np.array([0.0, 3.0]), np.array([4.0])],
    "huge": [np.array([1e30, 2e30])],
    "infinite": [np.array([1.0, math.inf]), np.array([2.0])],
    "NaN": [np.array([1.0, math.nan]), np.array([2.0])],
    "none": [None, None],
    "no parameters": [],
}
ORDERS = (2.0, 1.0, 3.0, 0.5, math.inf, -math.inf, -1.0, "inf")


def with_gradients(name: str, dtype: str) -> tuple[list[Any], list[Any]]:
    """Parameters of both libraries with these gradients."""
    ours, theirs = [], []
    for g in GRADIENTS[name]:
        shape = () if g is None else g.shape
        ours.append(pg.nn.Parameter(pg.zeros(shape, dtype=dtype)))
        theirs.append(torch.nn.Parameter(torch.zeros(shape, dtype=TORCH[dtype])))
        if g is not None:
            ours[-1].grad = pg.tensor(g.astype(dtype))
            theirs[-1].grad = torch.tensor(g.astype(dtype))
    return ours, theirs


def grads(parameters: list[Any]) -> list[Any]:
    """What is in .grad."""
    return [p.grad for p in parameters]


def norms(report: Report) -> None:
    """get_total_norm."""
    for name, dtype, order, strict in itertools.product(
        GRADIENTS, DTYPES, ORDERS, (False, True)
    ):  # fmt: skip
        ours, theirs = with_gradients(name, dtype)
        arguments = (name, dtype, order, strict)
        if name == "huge" and dtype == "float32" and order in (2.0, 3.0, 0.5):
            report.leave("get_total_norm", "PyTorch's powers overflow")
            continue
        mine = [g for g in grads(ours) if g is not None]
        torchs = [g for g in grads(theirs) if g is not None]
        both(
            report, "get_total_norm", arguments,
            outcome(lambda m=mine, o=order, s=strict: pg.nn.utils.get_total_norm(m, o, s)),
            outcome(lambda t=torchs, o=order, s=strict: torch.nn.utils.get_total_norm(t, o, s)),
        )  # fmt: skip


def clipping(report: Report) -> None:
    """clip_grad_norm_: the norm returned, and the gradients."""
    for name, dtype, order, bound, strict, form in itertools.product(
        GRADIENTS, DTYPES, ORDERS, (0.0, 0.5, 100.0), (False, True), (list, tuple, iter)
    ):  # fmt: skip
        if name == "huge" and dtype == "float32" and order in (2.0, 3.0, 0.5):
            report.leave("clip_grad_norm_", "PyTorch's powers overflow")
            continue
        ours, theirs = with_gradients(name, dtype)
        made = [
            outcome(lambda: clip(form(ps), bound, order, strict))  # noqa: B023  called at once
            for clip, ps in (
                (pg.nn.utils.clip_grad_norm_, ours), (torch.nn.utils.clip_grad_norm_, theirs),
            )
        ]  # fmt: skip
        both(report, "clip_grad_norm_", (name, dtype, order, bound, strict), *made)
        report.equal("clip_grad_norm_, gradients", (name, dtype, order, bound, strict),
                     grads(ours), grads(theirs))  # fmt: skip


def clipping_values(report: Report) -> None:
    """clip_grad_value_."""
    for name, dtype, bound in itertools.product(GRADIENTS, DTYPES, (0, 0.5, 1, math.inf)):
        ours, theirs = with_gradients(name, dtype)
        if all(g is None for g in GRADIENTS[name]):
            report.leave("clip_grad_value_", "PyTorch raises where there is no gradient")
            continue
        pg.nn.utils.clip_grad_value_(ours, bound)
        torch.nn.utils.clip_grad_value_(theirs, bound)
        report.equal("clip_grad_value_", (name, dtype, bound), grads(ours), grads(theirs))


def clipping_with_norm(report: Report) -> None:
    """clip_grads_with_norm_."""
    for name, dtype, bound, total in itertools.product(
        GRADIENTS, DTYPES, (0.0, 0.5, 10.0), (0.0, 1.0, 20.0, math.inf, math.nan)
    ):  # fmt: skip
        ours, theirs = with_gradients(name, dtype)
        pg.nn.utils.clip_grads_with_norm_(ours, bound, pg.tensor(total, dtype=dtype))
        torch.nn.utils.clip_grads_with_norm_(
            theirs, bound, torch.tensor(total, dtype=TORCH[dtype])
        )
        report.equal("clip_grads_with_norm_", (name, dtype, bound, total),
                     grads(ours), grads(theirs))  # fmt: skip


def vectors(report: Report) -> None:
    """parameters_to_vector with its gradient, vector_to_parameters."""
    for shapes in ([(3,)], [(2, 3), (4,)], [(), (2,), (1, 2, 3)], [(0,), (2,)]):
        for dtype in DTYPES:
            data = [numbers(*s, dtype=dtype) for s in shapes]
            ours = [pg.nn.Parameter(pg.tensor(d)) for d in data]
            theirs = [torch.nn.Parameter(torch.tensor(d)) for d in data]
            mine = pg.nn.utils.parameters_to_vector(ours)
            torchs = torch.nn.utils.parameters_to_vector(theirs)
            report.equal("parameters_to_vector", (shapes, dtype), mine, torchs)
            pg.sum(mine * mine).backward()
            (torchs * torchs).sum().backward()
            report.equal("parameters_to_vector, gradients", (shapes, dtype),
                         grads(ours), grads(theirs))  # fmt: skip
            new = numbers(mine.size, seed=1, dtype=dtype)
            pg.nn.utils.vector_to_parameters(pg.tensor(new), ours)
            torch.nn.utils.vector_to_parameters(torch.tensor(new), theirs)
            report.equal("vector_to_parameters", (shapes, dtype), ours, theirs)


# ---- parametrizations -----------------------------------------------------------------------
LAYERS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "Linear": ((4, 3), (5, 4)),
    "Conv1d": ((2, 3, 2), (2, 2, 5)),
    "Conv2d": ((2, 3, (2, 3)), (1, 2, 4, 5)),
    "Conv3d": ((1, 2, 2), (1, 1, 3, 3, 3)),
    "ConvTranspose1d": ((2, 3, 2), (2, 2, 4)),
    "ConvTranspose2d": ((2, 3, 2), (1, 2, 3, 3)),
}


def layers(name: str, dtype: str) -> tuple[Any, Any, np.ndarray]:
    """The same layer of both libraries, and an input."""
    arguments, shape = LAYERS[name]
    ours = getattr(pg.nn, name)(*arguments, dtype=dtype)
    theirs = getattr(torch.nn, name)(*arguments, dtype=TORCH[dtype])
    copy_state(ours, theirs)
    return ours, theirs, numbers(*shape, dtype=dtype)


def copy_state(ours: Any, theirs: Any) -> None:
    """PyTorch's state, in polygrad's module."""
    ours.load_state_dict({name: host(t).copy() for name, t in theirs.state_dict().items()})


def compare_models(
    report: Report,
    subject: str,
    arguments: Any,
    ours: Any,
    theirs: Any,
    x: np.ndarray,
    second_order: str = "",
) -> None:
    """State, output, gradients, those of their squares (or why not), and what two steps make."""
    report.equal(f"{subject}, state", arguments, ours.state_dict(), theirs.state_dict())
    mine, torchs = ours(pg.tensor(x)), theirs(torch.tensor(x))
    report.equal(f"{subject}, output", arguments, mine, torchs)
    parameters = dict(ours.named_parameters())
    other = dict(theirs.named_parameters())
    first = pg.autograd.grad(
        pg.sum(abs(mine) ** 3), list(parameters.values()), create_graph=True, allow_unused=True
    )
    second = torch.autograd.grad(
        (torchs.abs() ** 3).sum(), list(other.values()), create_graph=True, allow_unused=True
    )
    report.equal(f"{subject}, gradients", arguments, list(first), list(second))
    if second_order:
        report.leave(f"{subject}, second order", second_order)
    else:
        square = [pg.sum(abs(g) ** 2) for g in first if g is not None]
        squares = [(g.abs() ** 2).sum() for g in second if g is not None]
        a = pg.autograd.grad(sum(square), list(parameters.values()), allow_unused=True)
        b = torch.autograd.grad(sum(squares), list(other.values()), allow_unused=True)
        report.equal(f"{subject}, second order", arguments, list(a), list(b))
    step(report, subject, arguments, ours, theirs, x)


def step(report: Report, subject: str, arguments: Any, ours: Any, theirs: Any, x: Any) -> None:
    """Two steps of an optimizer over the parameters."""
    mine = pg.optim.SGD(ours.parameters(), lr=0.01, momentum=0.9)
    torchs = torch.optim.SGD(theirs.parameters(), lr=0.01, momentum=0.9)
    for _ in range(2):
        mine.zero_grad()
        torchs.zero_grad()
        pg.sum(abs(ours(pg.tensor(x))) ** 2).backward()
        (theirs(torch.tensor(x)).abs() ** 2).sum().backward()
        mine.step()
        torchs.step()
    report.equal(f"{subject}, after steps", arguments, ours.state_dict(), theirs.state_dict())


def weight_norm(report: Report) -> None:
    """parametrizations.weight_norm; PyTorch takes dim=-1 for None."""
    fault = "PyTorch's own gradgradcheck fails"
    for name, dtype in itertools.product(LAYERS, DTYPES):
        for axis in (0, 1, None):
            ours, theirs, x = layers(name, dtype)
            parametrizations.weight_norm(ours, "weight", axis)
            torch_made.weight_norm(theirs, "weight", axis)
            compare_models(report, "weight_norm", (name, dtype, axis), ours, theirs, x, fault)
        ours, theirs, x = layers(name, dtype)
        parametrizations.weight_norm(ours, "bias")
        torch_made.weight_norm(theirs, "bias")
        compare_models(report, "weight_norm", (name, dtype, "bias"), ours, theirs, x, fault)
        ours, theirs, x = layers(name, dtype)
        parametrizations.weight_norm(ours)
        torch_made.weight_norm(theirs)
        v, g = host(theirs.weight) * 2, host(theirs.parametrizations.weight.original0) * 3
        old = {"bias": host(theirs.bias), "weight_g": g, "weight_v": v}
        ours.load_state_dict(old)
        theirs.load_state_dict({key: torch.tensor(value) for key, value in old.items()})
        report.equal("weight_norm, old names", (name, dtype), ours.state_dict(),
                     theirs.state_dict())  # fmt: skip


def spectral_norm(report: Report) -> None:
    """parametrizations.spectral_norm, from PyTorch's vectors on."""
    for name, dtype, iterations, axis, training in itertools.product(
        LAYERS, DTYPES, (1, 3), (None, 0, 1), (True, False)
    ):
        ours, theirs, x = layers(name, dtype)
        parametrizations.spectral_norm(ours, "weight", iterations, 1e-12, axis)
        torch_made.spectral_norm(theirs, "weight", iterations, 1e-12, axis)
        copy_state(ours.train(training), theirs.train(training))
        arguments = (name, dtype, iterations, axis, training)
        compare_models(report, "spectral_norm", arguments, ours, theirs, x)
        if iterations == 1 and axis is None:
            if "Transpose" in name:
                report.leave("spectral_norm", "PyTorch raises for vectors of transposed ones")
                continue
            ours, theirs, x = layers(name, dtype)
            parametrizations.spectral_norm(ours, "bias")
            torch_made.spectral_norm(theirs, "bias")
            compare_models(report, "spectral_norm", (*arguments, "bias"), ours, theirs, x)


class Holding(pg.nn.Module):
    """A matrix, or a stack of them, times the input."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        self.weight = pg.nn.Parameter(pg.tensor(weight))

    def forward(self, x: Any) -> Any:
        """The product."""
        return self.weight @ x


class TorchHolding(torch.nn.Module):
    """The same."""

    def __init__(self, weight: np.ndarray) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(weight))

    def forward(self, x: Any) -> Any:
        """The product."""
        return self.weight @ x


SHAPES = ((3, 3), (5, 3), (3, 5), (2, 4, 3), (2, 3, 4), (1, 1), (4, 1))
MAPS = (None, "matrix_exp", "cayley", "householder")


def orthogonal(report: Report) -> None:
    """parametrizations.orthogonal, from PyTorch's base on, at a point that is not the start."""
    for shape, chosen, trivialize, dtype in itertools.product(
        SHAPES, MAPS, (True, False), (*DTYPES, "complex128")
    ):
        arguments = (shape, chosen, trivialize, dtype)
        made = _orthogonal_pair(numbers(*shape, dtype=dtype), chosen, trivialize)
        if "error" in made:
            both(report, "orthogonal", arguments, *made)
            continue
        ours, theirs = made
        copy_state(ours, theirs)
        report.equal("orthogonal, start", arguments, ours.weight, theirs.weight)
        move = 0.3 * numbers(*shape, seed=1, dtype=dtype)
        if chosen == "householder" or (chosen is None and "complex" not in dtype):
            move = move * (np.tri(*shape[-2:], -1) + np.tri(*shape[:-3:-1], -1).T * (
                shape[-2] < shape[-1]))  # fmt: skip
            move = np.tril(move, -1) if shape[-2] >= shape[-1] else np.triu(move, 1)
        with pg.no_grad(), torch.no_grad():
            ours.parametrizations.weight.original[...] += pg.tensor(move.astype(dtype))
            theirs.parametrizations.weight.original.add_(torch.tensor(move.astype(dtype)))
        x = numbers(shape[-1], 2, dtype=dtype)
        exponential = ours.parametrizations.weight[0].orthogonal_map == "matrix_exp"
        fault = "PyTorch's, of matrix_exp in float32, is off by up to 1e-4 (polygrad: 1e-6)"
        fault = fault if exponential and dtype == "float32" else ""
        compare_models(report, "orthogonal", arguments, ours, theirs, x, fault)


def _orthogonal_pair(weight: np.ndarray, chosen: Any, trivialize: bool) -> tuple[Any, Any]:
    return (
        outcome(lambda: parametrizations.orthogonal(
            Holding(weight), "weight", chosen, use_trivialization=trivialize)),
        outcome(lambda: torch_made.orthogonal(
            TorchHolding(weight), "weight", chosen, use_trivialization=trivialize)),
    )  # fmt: skip


def assigned_orthogonal(report: Report) -> None:
    """What an assignment to an orthogonal weight makes, orthogonal or not."""
    for shape, chosen, trivialize, dtype in itertools.product(
        SHAPES, MAPS, (True, False), DTYPES
    ):  # fmt: skip
        for given in ("orthogonal", "any"):
            ours, theirs = _orthogonal_pair(numbers(*shape, dtype=dtype), chosen, trivialize)
            value = numbers(*shape, seed=2)
            if given == "orthogonal":
                q, _ = np.linalg.qr(value if shape[-2] >= shape[-1] else np.swapaxes(value, -1, -2))
                value = q if shape[-2] >= shape[-1] else np.swapaxes(q, -1, -2)
            value = value.astype(dtype)
            made = (
                outcome(lambda m=ours, v=value: setattr(m, "weight", pg.tensor(v))),
                outcome(lambda m=theirs, v=value: setattr(m, "weight", torch.tensor(v))),
            )
            arguments = (shape, chosen, trivialize, dtype, given)
            if "error" in made:
                both(report, "orthogonal, assigned", arguments, *made)
            else:
                report.equal("orthogonal, assigned", arguments, ours.weight, theirs.weight)


class Symmetric(pg.nn.Module):
    """The upper triangle, twice."""

    def forward(self, x: Any) -> Any:
        """Symmetric."""
        return pg.triu(x) + pg.triu(x, k=1).mT

    def right_inverse(self, x: Any) -> Any:
        """The upper triangle."""
        return pg.triu(x)


class TorchSymmetric(torch.nn.Module):
    """The same."""

    def forward(self, x: Any) -> Any:
        """Symmetric."""
        return x.triu() + x.triu(1).mT

    def right_inverse(self, x: Any) -> Any:
        """The upper triangle."""
        return x.triu()


class Scaled(pg.nn.Module):
    """Twice, with a parameter of its own; the inverse declines or divides."""

    def __init__(self, *, inverse: bool) -> None:
        super().__init__()
        self.factor = pg.nn.Parameter(pg.tensor(2.0, dtype="float64"))
        self.inverse = inverse

    def forward(self, x: Any) -> Any:
        """Scale."""
        return x * self.factor

    def right_inverse(self, x: Any) -> Any:
        """Scale back."""
        if not self.inverse:
            raise NotImplementedError
        return x / self.factor


class TorchScaled(torch.nn.Module):
    """The same."""

    def __init__(self, *, inverse: bool) -> None:
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(2.0, dtype=torch.float64))
        self.inverse = inverse

    def forward(self, x: Any) -> Any:
        """Scale."""
        return x * self.factor

    def right_inverse(self, x: Any) -> Any:
        """Scale back."""
        if not self.inverse:
            raise NotImplementedError
        return x / self.factor


class Outer(pg.nn.Module):
    """A matrix of rank one, of two originals."""

    def forward(self, x: Any, y: Any) -> Any:
        """The product."""
        return x[:, None] * y[None, :]

    def right_inverse(self, z: Any) -> Any:
        """The first column and the first row."""
        return z[:, 0], z[0, :] / z[0, 0]


class TorchOuter(Outer, torch.nn.Module):
    """The same."""

    __init__ = torch.nn.Module.__init__
    __call__ = torch.nn.Module.__call__
    __setattr__ = torch.nn.Module.__setattr__
    __getattr__ = torch.nn.Module.__getattr__
    __delattr__ = torch.nn.Module.__delattr__
    train = torch.nn.Module.train


CHAINS: dict[str, tuple[list[Callable[[], Any]], list[Callable[[], Any]]]] = {
    "one": ([Symmetric], [TorchSymmetric]),
    "two": (
        [Symmetric, lambda: Scaled(inverse=True)],
        [TorchSymmetric, lambda: TorchScaled(inverse=True)],
    ),
    "declining": ([lambda: Scaled(inverse=False)], [lambda: TorchScaled(inverse=False)]),
    "inverse": ([lambda: Scaled(inverse=True)] * 3, [lambda: TorchScaled(inverse=True)] * 3),
}


def chains(name: str, *, unsafe: bool = False) -> tuple[Any, Any, np.ndarray]:
    """Holders of a square matrix with a chain of parametrizations."""
    weight = numbers(3, 3)
    ours, theirs = Holding(weight), TorchHolding(weight)
    for module, made, register in (
        (ours, CHAINS[name][0], parametrize.register_parametrization),
        (theirs, CHAINS[name][1], torch_parametrize.register_parametrization),
    ):
        for make in made:
            register(module, "weight", make(), unsafe=unsafe)
    return ours, theirs, numbers(3, 2, seed=3)


def own_parametrizations(report: Report) -> None:
    """Chains, their states, values, gradients and assignments."""
    for name, unsafe in itertools.product(CHAINS, (False, True)):
        arguments = (name, unsafe)
        ours, theirs, x = chains(name, unsafe=unsafe)
        compare_models(report, "parametrizations", arguments, ours, theirs, x)
        value = numbers(3, 3, seed=4)
        made = (
            outcome(lambda m=ours, v=value: setattr(m, "weight", pg.tensor(v))),
            outcome(lambda m=theirs, v=value: setattr(m, "weight", torch.tensor(v))),
        )
        if "error" in made:
            both(report, "parametrizations, assigned", arguments, *made)
        else:
            report.equal("parametrizations, assigned", arguments, ours.state_dict(),
                         theirs.state_dict())  # fmt: skip
        with parametrize.cached(), torch_parametrize.cached():
            report.equal("parametrizations, cached", arguments, ours.weight is ours.weight,
                         theirs.weight is theirs.weight)  # fmt: skip


def removal(report: Report) -> None:
    """remove_parametrizations."""
    for name, leave in itertools.product(CHAINS, (True, False)):
        ours, theirs, x = chains(name)
        parametrize.remove_parametrizations(ours, "weight", leave_parametrized=leave)
        torch_parametrize.remove_parametrizations(theirs, "weight", leave_parametrized=leave)
        compare_models(report, "remove_parametrizations", (name, leave), ours, theirs, x)
        names = (type(ours).__name__, type(theirs).__name__)
        if names != ("Holding", "TorchHolding"):
            report.fail("remove_parametrizations", (name, leave), str(names))
    for leave in (True, False):
        ours, theirs, x = layers("Linear", "float64")
        parametrizations.weight_norm(ours)
        torch_made.weight_norm(theirs)
        made = (
            outcome(lambda m=ours, e=leave: parametrize.remove_parametrizations(m, "weight", e)),
            outcome(
                lambda m=theirs, e=leave: torch_parametrize.remove_parametrizations(m, "weight", e)
            ),
        )
        if "error" in made:
            both(report, "remove_parametrizations", ("weight_norm", leave), *made)
        else:
            compare_models(
                report, "remove_parametrizations", ("weight_norm", leave), *made, x
            )


# ---- fusion -------------------------------------------------------------------------------------
def norm_pair(kind: str, features: int, affine: bool, dtype: str) -> tuple[Any, Any]:
    """Batch normalizations with statistics."""
    ours = getattr(pg.nn, kind)(features, affine=affine, eps=1e-3, dtype=dtype)
    theirs = getattr(torch.nn, kind)(features, affine=affine, eps=1e-3, dtype=TORCH[dtype])
    state = theirs.state_dict()
    for i, (name, t) in enumerate(state.items()):
        if t.dtype.is_floating_point:
            new = numbers(*t.shape, seed=i, dtype=dtype)
            state[name] = torch.tensor(np.abs(new) + 0.5 if "var" in name else new)
    theirs.load_state_dict(state)
    copy_state(ours, theirs)
    return ours.eval(), theirs.eval()


def fused_convolutions(report: Report) -> None:
    """fuse_conv_bn_eval and fuse_conv_bn_weights."""
    for axes, transposed, bias, affine, groups, dtype in itertools.product(
        (1, 2, 3), (False, True), (True, False), (True, False), (1, 2), DTYPES
    ):
        arguments = (axes, transposed, bias, affine, groups, dtype)
        name = f"Conv{'Transpose' if transposed else ''}{axes}d"
        if transposed and groups > 1:
            report.leave("fuse_conv_bn_eval", "PyTorch cannot fuse transposed ones of groups")
            continue
        keywords: dict[str, Any] = {"bias": bias, "groups": groups}
        ours = getattr(pg.nn, name)(4, 6, 2, dtype=dtype, **keywords).eval()
        theirs = getattr(torch.nn, name)(4, 6, 2, dtype=TORCH[dtype], **keywords).eval()
        copy_state(ours, theirs)
        mine, torchs = norm_pair(f"BatchNorm{axes}d", 6, affine, dtype)
        made = pg.nn.utils.fuse_conv_bn_eval(ours, mine, transposed)
        other = torch.nn.utils.fuse_conv_bn_eval(theirs, torchs, transposed)
        report.equal("fuse_conv_bn_eval", arguments, made.state_dict(), other.state_dict())
        x = numbers(2, 4, *(3,) * axes, dtype=dtype)
        report.equal("fuse_conv_bn_eval, output", arguments, made(pg.tensor(x)),
                     theirs_then(theirs, torchs, x))  # fmt: skip
        report.equal("fuse_conv_bn_eval, requires_grad", arguments,
                     [p.requires_grad for p in made.parameters()],
                     [p.requires_grad for p in other.parameters()])  # fmt: skip


def theirs_then(layer: Any, norm: Any, x: np.ndarray) -> Any:
    """PyTorch's layer and normalization, one after the other."""
    return norm(layer(torch.tensor(x)))


def fused_linear_layers(report: Report) -> None:
    """fuse_linear_bn_eval and fuse_linear_bn_weights."""
    for bias, features, affine, dtype in itertools.product(
        (True, False), (3, 1), (True, False), DTYPES
    ):
        arguments = (bias, features, affine, dtype)
        if not affine or (features == 1 and not bias):
            report.leave("fuse_linear_bn_eval", "PyTorch needs affine, and a bias for one feature")
            continue
        ours = pg.nn.Linear(4, 3, bias=bias, dtype=dtype).eval()
        theirs = torch.nn.Linear(4, 3, bias=bias, dtype=TORCH[dtype]).eval()
        copy_state(ours, theirs)
        mine, torchs = norm_pair("BatchNorm1d", features, affine, dtype)
        made = pg.nn.utils.fuse_linear_bn_eval(ours, mine)
        other = torch.nn.utils.fuse_linear_bn_eval(theirs, torchs)
        report.equal("fuse_linear_bn_eval", arguments, made.state_dict(), other.state_dict())


# ---- places -------------------------------------------------------------------------------------
MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "float": lambda m, d: m.float(),
    "double": lambda m, d: m.double(),
    "half": lambda m, d: m.half(),
    "cpu": lambda m, d: m.cpu(),
    "to(device)": lambda m, d: m.to("cpu"),
    "to(dtype)": lambda m, d: m.to(d["float64"]),
    "to(device, dtype)": lambda m, d: m.to("cpu", d["float16"]),
    "to(device, dtype, non_blocking)": lambda m, d: m.to("cpu", d["float64"], True),
    "to(dtype=)": lambda m, d: m.to(dtype=d["float64"]),
    "to(device=)": lambda m, d: m.to(device="cpu", non_blocking=True),
    "to(complex)": lambda m, d: m.to(d["complex64"]),
    "to(int)": lambda m, d: m.to(d["int64"]),
    "type(float64)": lambda m, d: m.type(d["float64"]),
    "type(int64)": lambda m, d: m.requires_grad_(False).type(d["int64"]),
    "to_empty": lambda m, d: m.to_empty(device="cpu"),
    "requires_grad_": lambda m, d: m.requires_grad_(False),
}


def places(report: Report) -> None:
    """dtypes, identity and requires_grad of parameters and buffers after a move."""
    ours_of = {name: getattr(pg, name) for name in TORCH}
    for name, move in MOVES.items():
        ours = pg.nn.Sequential(pg.nn.Linear(2, 3), pg.nn.BatchNorm1d(3))
        theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
        copy_state(ours, theirs)
        before, torchs = list(ours.parameters()), list(theirs.parameters())
        made = outcome(lambda m=ours, f=move: f(m, ours_of))
        other = outcome(lambda m=theirs, f=move: f(m, TORCH))
        if "error" in (str(made), str(other)):
            both(report, "Module, moved", name, made, other)
            continue
        for what, got, expected in (
            ("dtypes", described(ours), described(theirs)),
            ("identity", same(ours, before), same(theirs, torchs)),
            ("itself", made is ours, other is theirs),
        ):
            if got != expected:
                report.fail("Module, moved", (name, what), f"{got}, expected {expected}")
        if name != "to_empty":
            report.equal("Module, moved", name, ours.state_dict(), theirs.state_dict())


def described(module: Any) -> list[tuple[str, str, bool]]:
    """Name, dtype and requires_grad."""
    tensors = [*module.named_parameters(), *module.named_buffers()]
    return [(n, str(t.dtype).removeprefix("torch."), t.requires_grad) for n, t in tensors]


def same(module: Any, before: list[Any]) -> list[bool]:
    """Whether the parameters are the objects that they were."""
    return [a is b for a, b in zip(module.parameters(), before, strict=True)]
