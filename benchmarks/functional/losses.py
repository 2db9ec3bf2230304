"""Losses as functions of a namespace, a list of parameters (in the problem's order) and a batch."""

from __future__ import annotations

from benchmarks.problems import Classification, Encoder, Flow, Recurrence


def bump(np, parameters):
    """The sum of e^(-x tanh(x/2 + 1/4))."""
    (x,) = parameters
    return np.sum(np.exp(-(x * np.tanh(x * 0.5 + 0.25))))


def chain(np, parameters, k, length):
    """The sum of z after z = z*k + k, `length` times."""
    (z,) = parameters
    for _ in range(length):
        z = z * k + k
    return np.sum(z)


def squared_error(np, y, target):
    difference = y - target
    return np.mean(difference * difference)


def cross_entropy(np, logits, chosen):
    """`chosen` has a one for the label of each row, and zeros."""
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - np.sum(shifted * chosen, axis=1))


def relu(np, x):
    return np.maximum(x, 0.0)


def classifier(np, problem: Classification, parameters, x, chosen):
    """Linear maps with an activation between them."""
    weights, biases = parameters[0::2], parameters[1::2]
    for k, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        x = np.matmul(x, weight.T) + bias
        if k < len(weights) - 1:
            x = relu(np, x) if problem.activation == "ReLU" else np.tanh(x)
    return cross_entropy(np, x, chosen)


def recurrent(np, problem: Recurrence, parameters, sequence, target):
    """An LSTM cell through a sequence."""
    weight_ih, weight_hh, bias_ih, bias_hh = parameters
    n = problem.hidden
    h = c = None
    for t in range(problem.steps):
        z = np.matmul(sequence[t], weight_ih.T) + bias_ih + bias_hh
        if h is not None:
            z = z + np.matmul(h, weight_hh.T)
        i, f, o = (0.5 * np.tanh(0.5 * z[:, k * n : (k + 1) * n]) + 0.5 for k in (0, 1, 3))
        new = i * np.tanh(z[:, 2 * n : 3 * n])
        c = new if c is None else f * c + new
        h = o * np.tanh(c)
    return squared_error(np, h, target)


def normalize(np, x, weight, bias):
    """LayerNorm over the last axis."""
    x = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(x * x, axis=-1, keepdims=True)
    return x / np.sqrt(variance + 1e-5) * weight + bias


def encoder(np, problem: Encoder, parameters, x, target):
    """A layer of a transformer's encoder."""
    (w_in, b_in, w_out, b_out, w1, b1, w2, b2, norm1, shift1, norm2, shift2) = parameters
    width, size = problem.width, problem.width // problem.heads
    packed = np.matmul(x, w_in.T) + b_in
    q, k, v = (
        np.transpose(
            np.reshape(packed[..., j * width : (j + 1) * width],
                       (problem.batch, problem.length, problem.heads, size)),
            (0, 2, 1, 3),
        )
        for j in range(3)
    )  # fmt: skip
    scores = np.matmul(q, np.transpose(k, (0, 1, 3, 2))) * size**-0.5
    scores = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    scores = scores / np.sum(scores, axis=-1, keepdims=True)
    attended = np.reshape(np.transpose(np.matmul(scores, v), (0, 2, 1, 3)), x.shape)
    u = normalize(np, x + (np.matmul(attended, w_out.T) + b_out), norm1, shift1)
    hidden = relu(np, np.matmul(u, w1.T) + b1)
    return squared_error(
        np, normalize(np, u + (np.matmul(hidden, w2.T) + b2), norm2, shift2), target
    )


def energy(np, parameters, masses, softening):
    """Half the sum of -m_i m_j / sqrt(|x_i - x_j|^2 + softening^2) over all i and j."""
    (x,) = parameters
    between = x[:, None, :] - x[None, :, :]
    squares = np.sum(between * between, axis=-1) + softening**2
    return -0.5 * np.sum(masses[:, None] * masses / np.sqrt(squares))


def flow(np, problem: Flow, parameters, z, target):
    """Runge and Kutta's rule for dz/dt = tanh(z W' + b)."""
    weight, bias = parameters
    h = 1 / problem.steps

    def rate(z):
        return np.tanh(np.matmul(z, weight.T) + bias)

    for _ in range(problem.steps):
        k1 = rate(z)
        k2 = rate(z + h / 2 * k1)
        k3 = rate(z + h / 2 * k2)
        k4 = rate(z + h * k3)
        z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return squared_error(np, z, target)


# Of the problems that can be said in these namespaces; NumPy's has no convolution.
LOSSES = {Classification: classifier, Encoder: encoder, Recurrence: recurrent, Flow: flow}
