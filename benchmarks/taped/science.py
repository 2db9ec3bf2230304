"""Bodies that attract each other, a differential equation, and a network that solves one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.problems import Bodies, Equation, Flow


def energy(lib: Any, problem: Bodies, x: Any, masses: Any) -> Any:
    """Half the sum of -m_i m_j / sqrt(|x_i - x_j|^2 + softening^2) over all i and j."""
    between = x[:, None, :] - x[None, :, :]
    squares = (between * between).sum(-1) + problem.softening**2
    return -0.5 * (masses[:, None] * masses / lib.sqrt(squares)).sum()


def bodies(lib: Any, device: str, problem: Bodies) -> Callable[[], object]:
    """The energy of the bodies, and its gradient in their places."""
    places, masses = (lib.tensor(array, device=device) for array in problem.data())
    places.requires_grad_()

    def step():
        total = energy(lib, problem, places, masses)
        (gradient,) = lib.autograd.grad(total, places)
        return total.detach().item(), gradient

    return step


def flow(lib: Any, problem: Flow) -> Any:
    """Where dz/dt = tanh(z W' + b) takes z in a time of 1, by the rule of Runge and Kutta."""

    class Solver(lib.nn.Linear):
        def rate(self, z):
            return lib.tanh(super().forward(z))

        def forward(self, z):
            h = 1 / problem.steps
            for _ in range(problem.steps):
                k1 = self.rate(z)
                k2 = self.rate(z + h / 2 * k1)
                k3 = self.rate(z + h / 2 * k2)
                k4 = self.rate(z + h * k3)
                z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            return z

    return Solver(problem.width, problem.width)


def equation(lib: Any, problem: Equation) -> Any:
    """u'' + u for u a network, of its input: two backwards inside the forward."""
    nn = lib.nn

    class Oscillator(nn.Sequential):
        def forward(self, x):
            x = x.detach().requires_grad_()
            u = super().forward(x)
            (slope,) = lib.autograd.grad(u.sum(), x, create_graph=True)
            return lib.autograd.grad(slope.sum(), x, create_graph=True)[0] + u

    layers = []
    for fan_in, fan_out in pairwise(problem.sizes):
        layers += [nn.Linear(fan_in, fan_out), nn.Tanh()]
    return Oscillator(*layers[:-1])
