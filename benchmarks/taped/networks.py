"""Training steps: a network, its loss, its optimiser."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from benchmarks.problems import (
    Bags,
    Classification,
    Encoder,
    Equation,
    Flow,
    Images,
    Letters,
    Recurrence,
    Residual,
)
from benchmarks.taped.science import equation, flow


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


def residual(lib: Any, problem: Residual) -> Any:
    """A block of a residual network."""
    nn, n = lib.nn, problem.channels

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(n, n, 3, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(n, track_running_stats=False)
            self.conv2 = nn.Conv2d(n, n, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(n, track_running_stats=False)

        def forward(self, x):
            inner = nn.functional.relu(self.norm1(self.conv1(x)))
            return nn.functional.relu(x + self.norm2(self.conv2(inner)))

    return Block()


def letters(lib: Any, problem: Letters) -> Any:
    """A transformer that looks back: the scores of the next letter, a row for each place."""
    nn, p = lib.nn, problem

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.letter = nn.Embedding(p.letters, p.width)
            self.place = nn.Embedding(p.length, p.width)
            self.layers = nn.ModuleList([encoder(lib, p.layer()) for _ in range(p.layers)])
            self.out = nn.Linear(p.width, p.letters)

        def forward(self, x):
            hidden = nn.Transformer.generate_square_subsequent_mask(p.length, device=x.device)
            h = self.letter(x) + self.place(lib.arange(p.length, device=x.device))
            for layer in self.layers:
                h = layer(h, hidden, is_causal=True)
            return self.out(h).reshape(-1, p.letters)

    return Reader()


def bags(lib: Any, problem: Bags) -> Any:
    """The mean of the vectors of words, and a linear map."""
    nn, p = lib.nn, problem

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.bag = nn.EmbeddingBag(p.words, p.width, mode="mean")
            self.out = nn.Linear(p.width, p.classes)

        def forward(self, x):
            return self.out(self.bag(x))

    return Classifier()


NETWORKS: dict[type, Callable[[Any, Any], Any]] = {
    Classification: classifier, Images: convolutional, Encoder: encoder, Recurrence: recurrent,
    Residual: residual, Letters: letters, Bags: bags,
    Flow: flow, Equation: equation,
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
    if y.dtype == lib.int64:
        y = y.reshape(-1)

    def step():
        optimizer.zero_grad()
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach().item()

    return step
