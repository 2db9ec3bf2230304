"""Bodies that attract each other, a differential equation, and a network that solves one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.handwritten.layers import Scratch, squared_error
from benchmarks.problems import Bodies, Equation, Flow


class Energy:
    """-sum m_i m_j / r_ij / 2; its gradient sum_j w_ij (x_i - x_j), w = m_i m_j / r_ij^3.

    The differences themselves, three for each pair, are not needed: w x does with them.
    """

    def __init__(self, problem: Bodies) -> None:
        n = problem.bodies
        self.softening = problem.softening
        self.spare, self.squares, self.weights = (np.empty((n, n), np.float32) for _ in range(3))

    def __call__(self, x, masses):
        spare, squares, weights = self.spare, self.squares, self.weights
        squares[...] = self.softening**2
        for column in x.T:
            np.subtract(column[:, None], column, out=spare)
            spare *= spare
            squares += spare
        np.sqrt(squares, out=spare)
        np.divide(masses[:, None], spare, out=weights)
        weights *= masses
        total = -0.5 * weights.sum()
        weights /= squares
        np.fill_diagonal(weights, 0)  # else two large numbers of which nothing shall remain
        return total, weights.sum(axis=1)[:, None] * x - weights @ x


def bodies(problem: Bodies) -> Callable[[], tuple[float, np.ndarray]]:
    """The energy of the bodies, and its gradient in their places."""
    places, masses = problem.data()
    gradients = Energy(problem)

    def step():
        total, gradient = gradients(places, masses)
        return float(total), gradient

    return step


class Solver:
    """Runge and Kutta's rule for dz/dt = tanh(z W' + b), and back through all its stages.

    The gradient of W is one product for all stages: of the cotangents before tanh, and their z.
    """

    def __init__(self, problem: Flow) -> None:
        self.problem, self.scratch = problem, Scratch()

    def __call__(self, parameters, x, target):
        weight, bias = parameters
        steps, h, scratch = self.problem.steps, 1 / self.problem.steps, self.scratch
        stages = (steps, 4, *x.shape)
        inputs, rates = scratch("inputs", stages), scratch("rates", stages)
        z, spare = scratch("z", x.shape), scratch("spare", x.shape)
        z[...] = x
        for s, k in zip(inputs, rates, strict=True):
            s[0] = z
            for stage, ahead in enumerate((h / 2, h / 2, h, None)):
                np.matmul(s[stage], weight.T, out=k[stage])
                k[stage] += bias
                np.tanh(k[stage], out=k[stage])
                if ahead is not None:
                    np.multiply(k[stage], ahead, out=s[stage + 1])
                    s[stage + 1] += z
            np.add(k[1], k[2], out=spare)
            spare *= 2
            spare += k[0]
            spare += k[3]
            spare *= h / 6
            z += spare
        loss, g = squared_error(z, target)

        slopes, d = scratch("slopes", stages), scratch("d", stages)
        np.multiply(rates, rates, out=slopes)
        np.subtract(1, slopes, out=slopes)
        later = scratch("later", x.shape)
        for slope, e in zip(slopes[::-1], d[::-1], strict=True):
            total = spare
            total[...] = 0
            for stage, share, ahead in ((3, h / 6, 0), (2, h / 3, h), (1, h / 3, h / 2),
                                        (0, h / 6, h / 2)):  # fmt: skip
                np.multiply(g, share, out=e[stage])
                if ahead:
                    later *= ahead
                    e[stage] += later
                e[stage] *= slope[stage]
                np.matmul(e[stage], weight, out=later)
                total += later
            g += total
        rows = d.reshape(-1, d.shape[-1])
        in_weight = np.matmul(rows.T, inputs.reshape(rows.shape), out=scratch("in", weight.shape))
        return loss, [in_weight, rows.sum(axis=0)]


class Oscillator:
    """u'' + u for u a network, its derivatives in its input carried along with its value.

    A layer has z = a W' + b, z' = a' W', z'' = a'' W', then t = tanh z, s = 1 - t^2:
    a = t, a' = s z', a'' = s z'' - 2 t s z'^2. Backwards, with cotangents g, g', g'' of these:
    of z'' s g''; of z' s g' - 4 t s z' g'';
    of z s (g - 2 t z' g' - 2 (t z'' + (1 - 3 t^2) z'^2) g'').
    The three are kept below each other in one matrix: one product for all.
    """

    def __init__(self, problem: Equation) -> None:
        self.problem = problem

    def __call__(self, parameters, x, target):
        weights, n = parameters[0::2], len(x)
        biases = parameters[1::2]
        a = np.zeros((3 * n, 1), np.float32)
        a[:n], a[n : 2 * n] = x, 1
        inputs, kept = [a], []
        for k, weight in enumerate(weights[:-1]):
            z = inputs[-1] @ weight.T
            z[:n] += biases[k]
            t = np.tanh(z[:n], out=z[:n])
            s = 1 - t * t
            a = np.empty_like(z)
            a[:n] = t
            np.multiply(s, z[n : 2 * n], out=a[n : 2 * n])
            square = z[n : 2 * n] * z[n : 2 * n]
            curved = a[2 * n :]
            np.multiply(t, square, out=curved)
            curved *= -2
            curved += z[2 * n :]
            curved *= s
            kept.append((z, s, square))
            inputs.append(a)
        both = inputs[-1][:n] + inputs[-1][2 * n :]
        y = both @ weights[-1].T
        y += biases[-1]
        loss, last = squared_error(y, target)

        gradients = [last.T @ both, last.sum(axis=0)]
        g = np.zeros_like(inputs[-1])
        np.matmul(last, weights[-1], out=g[2 * n :])
        g[:n] = g[2 * n :]
        for k in range(len(weights) - 2, -1, -1):
            self.backward(g, n, *kept[k])
            gradients = [g.T @ inputs[k], g[:n].sum(axis=0), *gradients]
            if k:
                g = g @ weights[k]
        return loss, gradients

    def backward(self, g, n, z, s, square):
        """From the cotangents of a, a' and a'' to those of z, z' and z'', in place."""
        t, slope, curved = z[:n], z[n : 2 * n], z[2 * n :]
        g0, g1, g2 = g[:n], g[n : 2 * n], g[2 * n :]
        of_t = t * t
        of_t *= -3
        of_t += 1
        of_t *= square
        curved *= t
        of_t += curved
        of_t *= g2
        both = t * slope
        of_t += both * g1
        of_t *= 2
        g0 -= of_t
        g0 *= s
        both *= 4
        both *= g2
        g1 -= both
        g1 *= s
        g2 *= s
