"""How each peer differentiates a loss, and trains with it."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.contenders import Setup, Step
from benchmarks.functional.losses import LOSSES
from benchmarks.handwritten.optimizers import OPTIMIZERS
from benchmarks.problems import Classification, Training


def with_autograd(loss):
    """A function to loss and gradients."""
    import autograd
    import autograd.numpy

    return autograd.value_and_grad(partial(loss, autograd.numpy))


def with_mygrad(loss):
    """A function to loss and gradients."""
    import mygrad

    def value_and_gradients(parameters, *batch):
        tensors = [mygrad.tensor(p, copy=False) for p in parameters]
        value = loss(mygrad, tensors, *batch)
        value.backward()
        return value.data, [t.grad for t in tensors]

    return value_and_gradients


def with_jax(loss):
    """A function to loss and gradients, compiled."""
    import jax

    return jax.jit(jax.value_and_grad(partial(loss, jax.numpy)))


DIFFERENTIATE = {"JAX": with_jax, "autograd": with_autograd, "MyGrad": with_mygrad}


def gradient(peer: str, loss, parameters, *batch) -> Step:
    """The step that computes value and gradients."""
    differentiate = DIFFERENTIATE[peer](loss)
    if peer == "JAX":
        import jax

        parameters, batch = jax.device_put((parameters, batch))
        return lambda: jax.block_until_ready(differentiate(parameters, *batch))
    return lambda: differentiate(parameters, *batch)


def jax_updated(training: Training, parameters, gradients, means, squares, steps):
    """The parameters and the state of the optimiser after a step, as functions of those before."""
    import jax.numpy as jnp

    if training.optimizer == "SGD":
        pairs = zip(parameters, gradients, strict=True)
        return [p - training.learning_rate * g for p, g in pairs], means, squares
    decay = 0.01 * training.learning_rate if training.optimizer == "AdamW" else 0.0
    means = [0.9 * m + 0.1 * g for m, g in zip(means, gradients, strict=True)]
    squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, gradients, strict=True)]
    size, correction = training.learning_rate / (1 - 0.9**steps), jnp.sqrt(1 - 0.999**steps)
    return [
        p * (1 - decay) - size * m / (jnp.sqrt(s) / correction + 1e-8)
        for p, m, s in zip(parameters, means, squares, strict=True)
    ], means, squares


def jax_training(loss, training: Training, parameters, batch) -> Step:
    """A training step as one compiled function."""
    import jax

    differentiate = with_jax(loss)

    @jax.jit
    def updated(parameters, means, squares, steps, *batch):
        value, gradients = differentiate(parameters, *batch)
        return value, *jax_updated(training, parameters, gradients, means, squares, steps)

    zeros = [np.zeros_like(p) for p in parameters]
    state = jax.device_put((parameters, zeros, zeros))
    batch = jax.device_put(batch)
    steps = 0

    def step():
        nonlocal state, steps
        steps += 1
        value, *state = updated(*state, float(steps), *batch)
        return float(value)

    return step


def training(peer: str, problem) -> Step:
    """One training step of `problem`; where a peer has no optimisers, with those by hand."""
    loss = loss_of(problem)
    parameters = list(problem.parameters().values())
    x, y = problem.data()
    if isinstance(problem, Classification):
        y = np.eye(problem.sizes[-1], dtype=np.float32)[y]
    if peer == "JAX":
        return jax_training(loss, problem.training, parameters, (x, y))
    differentiate = DIFFERENTIATE[peer](loss)
    how = problem.training
    optimizer = OPTIMIZERS[how.optimizer](parameters, how.learning_rate)

    def step():
        value, gradients = differentiate(parameters, x, y)
        optimizer.step([np.array(g) for g in gradients])
        return float(value)

    return step


def loss_of(problem):
    """The loss of a problem: a function of namespace, parameters and batch."""
    function = LOSSES[type(problem)]
    return lambda np, parameters, *batch: function(np, problem, parameters, *batch)


def setups(step_of) -> dict[str, Setup]:
    """The setups of all peers, `step_of` being called with the name of each."""
    return {peer: lambda _device, peer=peer: step_of(peer) for peer in DIFFERENTIATE}
