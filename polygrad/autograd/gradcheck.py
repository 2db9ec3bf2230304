"""`gradcheck` and `gradgradcheck`: gradients against central differences.

For an output o and a cotangent v the scalar L = Re(sum conj(v) o) is differentiated: the gradient
is dL/dRe(x) + i dL/dIm(x), compared with (L(x + eps) - L(x - eps)) / (2 eps) for every element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from polygrad.config import enable_grad, no_grad
from polygrad.errors import DtypeError, GradientError, InvalidArgumentError
from polygrad.gradients import grad
from polygrad.tensor import Tensor, new_tensor, raw
from polygrad.views import clone, detach

__all__ = ["gradcheck", "gradgradcheck"]

Host = np.ndarray[Any, Any]


def _inputs(inputs: Any) -> tuple[Any, ...]:
    return (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)


def _host(t: Tensor) -> Host:
    return np.array(t.kernels.backend.to_numpy(raw(t)))


def _outputs(function: Callable[..., Any], inputs: Sequence[Any]) -> list[Tensor]:
    made = function(*inputs)
    found = [made] if isinstance(made, Tensor) else list(made)
    return [o for o in found if isinstance(o, Tensor) and o.kernels.inexact]


def _checked(inputs: tuple[Any, ...]) -> list[int]:
    """Which inputs are differentiated."""
    chosen = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad]
    if not chosen:
        raise InvalidArgumentError(
            "no input requires grad", "gradcheck, argument inputs",
            "make the inputs to check with requires_grad=True",
        )  # fmt: skip
    for i in chosen:
        if inputs[i].dtype.name not in ("float64", "complex128"):
            raise DtypeError(
                f"input {i} is {inputs[i].dtype}: central differences need double precision",
                "gradcheck, argument inputs", "use pg.float64 or pg.complex128",
            )  # fmt: skip
    return chosen


def _numerical(
    function: Callable[..., Any], inputs: tuple[Any, ...], i: int, eps: float
) -> list[Host]:
    """d outputs / d input i as arrays (input directions, output elements); imaginary steps last."""
    x = inputs[i]
    base = _host(x)
    directions = [1.0, 1j] if x.kernels.is_complex else [1.0]
    rows: list[list[Host]] = []
    for step in directions:
        for place in np.ndindex(*base.shape):
            values = []
            for sign in (1, -1):
                moved = base.copy()
                moved[place] += sign * eps * step
                with no_grad():
                    given = list(inputs)
                    given[i] = new_tensor(x.kernels.from_numpy(moved), x.kernels)
                    values.append([_host(o).reshape(-1) for o in _outputs(function, given)])
            rows.append([(a - b) / (2 * eps) for a, b in zip(*values, strict=True)])
    count = len(rows[0]) if rows else 0
    return [np.array([row[k] for row in rows]) for k in range(count)]


def _analytical(output: Tensor, xs: list[Tensor], v: Host) -> list[Host]:
    """The gradients for one cotangent."""
    weight = new_tensor(output.kernels.from_numpy(v.reshape(output.shape)), output.kernels)
    found: Any = grad([output], xs, [weight], retain_graph=True, materialize_grads=True)
    return [_host(g) for g in found]


def _compare_output(
    output: Tensor, xs: list[Tensor], numerical: list[Host], k: int, atol: float, rtol: float
) -> str:
    """An account of the first element of output k whose gradient is wrong, or an empty string."""
    units = [1.0, 1j] if output.kernels.is_complex else [1.0]
    for element in range(output.size):
        for unit in units:
            v = np.zeros(output.size, dtype=output.dtype)
            v[element] = unit
            for i, (x, g) in enumerate(zip(xs, _analytical(output, xs, v), strict=True)):
                column = np.real(np.conj(unit) * numerical[i][:, element])
                want = column[: x.size].reshape(x.shape)
                if x.kernels.is_complex:
                    want = want + 1j * column[x.size :].reshape(x.shape)
                if not np.allclose(g, want, rtol=rtol, atol=atol, equal_nan=False):
                    return (
                        f"output {k}, element {element}, input {i}:\n"
                        f"numerical:\n{want}\nanalytical:\n{g}"
                    )
    return ""


def _random(t: Tensor, generator: np.random.Generator) -> Host:
    """Values between 0.5 and 1.5, complex ones where the tensor is."""
    v = generator.uniform(0.5, 1.5, t.shape)
    return v + 1j * generator.uniform(0.5, 1.5, t.shape) if t.kernels.is_complex else v


def _compare_direction(
    function: Callable[..., Any], given: tuple[Any, ...], chosen: list[int], outputs: list[Tensor],
    xs: list[Tensor], eps: float, tolerance: tuple[float, float], seed: int,
) -> str:  # fmt: skip
    """An account of how the derivative along one direction is wrong, or an empty string."""
    generator = np.random.default_rng(seed)
    steps = [_random(x, generator) for x in xs]
    weights = [_random(o, generator) for o in outputs]
    values, sizes = [], []
    for sign in (1, -1):
        moved = list(given)
        for i, x, u in zip(chosen, xs, steps, strict=True):
            moved[i] = new_tensor(x.kernels.from_numpy(_host(x) + sign * eps * u), x.kernels)
        with no_grad():
            made = [_host(o) for o in _outputs(function, moved)]
        terms = [np.real(np.conj(v) * o) for v, o in zip(weights, made, strict=True)]
        values.append(sum(float(t.sum()) for t in terms))
        sizes.append(sum(float(np.abs(t).sum()) for t in terms))
    want = (values[0] - values[1]) / (2 * eps)
    tracked = [(o, v) for o, v in zip(outputs, weights, strict=True) if o.requires_grad]
    got = 0.0
    if tracked:
        cotangents = [new_tensor(o.kernels.from_numpy(v), o.kernels) for o, v in tracked]
        found: Any = grad([o for o, _ in tracked], xs, cotangents, retain_graph=True,
                          materialize_grads=True)  # fmt: skip
        got = sum(float(np.real(np.conj(_host(g)) * u).sum())
                  for g, u in zip(found, steps, strict=True))  # fmt: skip
    atol, rtol = tolerance
    rounding = max(sizes) * 1e-15 / eps
    if not abs(got - want) <= atol + rtol * abs(want) + rounding:
        return f"along a random direction: numerical {want}, analytical {got}"
    return ""


def gradcheck(
    function: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    fast_mode: bool = False,
    seed: int = 0,
) -> bool:
    """Whether the gradients of `function` agree with central differences.

    Parameters
    ----------
    function
        Takes the inputs, returns a Tensor or several.
    inputs
        Tensors and other arguments; those that require grad are checked, and must be float64 or
        complex128.
    eps
        The step of the differences.
    atol, rtol
        Tolerances.
    raise_exception
        Raise with both values instead of returning False.
    fast_mode
        Compare along one random direction and for one random cotangent, instead of every element:
        two calls of the function and one backward. `seed` chooses them.

    Raises
    ------
    GradientError
        They disagree.
    DtypeError, InvalidArgumentError
        An input is not in double precision; no input requires grad.

    Examples
    --------
    >>> import polygrad as pg
    >>> x = pg.tensor([0.5, 2.0], dtype=pg.float64, requires_grad=True)
    >>> pg.autograd.gradcheck(pg.exp, x)
    True
    """
    given = _inputs(inputs)
    chosen = _checked(given)
    with enable_grad():
        fresh = [
            clone.call(detach(x)).requires_grad_() if i in chosen else x
            for i, x in enumerate(given)
        ]
        outputs = _outputs(function, fresh)
    xs = [fresh[i] for i in chosen]
    if fast_mode:
        wrong = _compare_direction(function, given, chosen, outputs, xs, eps, (atol, rtol), seed)
        if wrong and raise_exception:
            raise GradientError("a gradient disagrees with central differences", wrong)
        return not wrong
    numerical = [_numerical(function, given, i, eps) for i in chosen]
    for k, output in enumerate(outputs):
        columns = [n[k] if n else np.zeros((0, output.size)) for n in numerical]
        if not output.requires_grad:
            wrong = "" if all(np.allclose(c, 0, atol=atol) for c in columns) else (
                f"output {k} does not require grad, but changes with the inputs"
            )  # fmt: skip
        else:
            wrong = _compare_output(output, xs, columns, k, atol, rtol)
        if wrong:
            if raise_exception:
                raise GradientError("a gradient disagrees with central differences", wrong)
            return False
    return True


def gradgradcheck(
    function: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    fast_mode: bool = False,
    seed: int = 0,
) -> bool:
    """Whether the second derivatives of `function` agree with differences of its gradients.

    Parameters
    ----------
    function, inputs, eps, atol, rtol, raise_exception, fast_mode, seed
        As in `gradcheck`.
    grad_outputs
        The cotangents of the outputs; random ones, from `seed`, if not given.

    Raises
    ------
    GradientError, DtypeError, InvalidArgumentError
        As `gradcheck`.
    """
    given = _inputs(inputs)
    chosen = _checked(given)
    with enable_grad():
        outputs = [o for o in _outputs(function, given) if o.requires_grad]
    generator = np.random.default_rng(seed)
    if grad_outputs is None:
        weights = [
            new_tensor(o.kernels.from_numpy(_random(o, generator)), o.kernels).requires_grad_()
            for o in outputs
        ]
    else:
        weights = list(_inputs(grad_outputs))
    count = len(given)

    def gradient(*arguments: Any) -> Any:
        # Central differences run without grad: the inner gradient must be recorded all the same.
        with enable_grad():
            xs = [
                (x if x.requires_grad else clone.call(detach(x)).requires_grad_())
                if i in chosen else x
                for i, x in enumerate(arguments[:count])
            ]  # fmt: skip
            made = [o for o in _outputs(function, xs) if o.requires_grad]
            return grad(made, [xs[i] for i in chosen], list(arguments[count:]),
                        create_graph=True, materialize_grads=True)  # fmt: skip

    return gradcheck(
        gradient, (*given, *weights), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, fast_mode=fast_mode, seed=seed,
    )  # fmt: skip
