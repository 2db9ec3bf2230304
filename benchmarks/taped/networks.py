"""Training steps: a network, its loss, its optimiser."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.problems import Classification, Encoder, Images, Recurrence


def classifier(lib: Any, problem: Classification) -> Any:
    """Linear maps with an activation between them."""
    layers = []
    for fan_in, fan_out in pairwise(problem.sizes):
        layers += [lib.nn.Linear(fan_in, fan_out), getattr(lib.nn, problem.activation)()]
    return lib.nn.Sequential(*layers[:-1])


def convolutional(lib: Any, problem: Images) -> Any:
    """Two convolutions, each with ReLU and pooling, and a linear map."""
    nn, (first, second, third) = lib.nn, problem.channels
    return nn.Sequential(
        nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(second, third, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(third * (problem.side // 4) ** 2, problem.classes),
    )  # fmt: skip


def encoder(lib: Any, problem: Encoder) -> Any:
    """One layer of a transformer's encoder."""
    return lib.nn.TransformerEncoderLayer(
        problem.width, problem.heads, problem.hidden, dropout=0.0, batch_first=True
    )


def recurrent(lib: Any, problem: Recurrence) -> Any:
    """An LSTM cell that reads a sequence: its last state."""

    class Reader(lib.nn.LSTMCell):
        def forward(self, sequence):
            state = None
            for x in sequence:
                state = super().forward(x, state)
            return state[0]

    return Reader(problem.features, problem.hidden)


NETWORKS: dict[type, Callable[[Any, Any], Any]] = {
    Classification: classifier, Images: convolutional, Encoder: encoder, Recurrence: recurrent,
}  # fmt: skip


def network(lib: Any, device: str, problem: Any) -> Any:
    """The network of `problem` with its initial weights."""
    model = NETWORKS[type(problem)](lib, problem)
    model.load_state_dict({k: lib.tensor(p) for k, p in problem.parameters().items()})
    return model.to(device)


def training(lib: Any, device: str, problem: Any) -> Callable[[], float]:
    """One training step of `problem`."""
    how = problem.training
    model = network(lib, device, problem)
    loss_of = getattr(lib.nn.functional, how.loss)
    optimizer = getattr(lib.optim, how.optimizer)(model.parameters(), lr=how.learning_rate)
    x, y = (lib.tensor(array, device=device) for array in problem.data())

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach().item()

    return step
