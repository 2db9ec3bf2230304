"""What every contender starts from: the same sizes, seeded weights and data, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

# The chain z = z*k + k has the fixed point k / (1 - k), and the gradient k**CHAIN_LENGTH in z:
# with this k neither leaves the range in which float32 is fast.
CHAIN_LENGTH = 1000
CHAIN_K = 0.999
CHAIN_SIZE = 10

# Calls of one operation that are timed together.
CALLS = 1000

# Elements of the arrays whose passes through memory cost more than anything else.
LARGE = 4_000_000

Parameters = dict[str, np.ndarray]
Batch = tuple[np.ndarray, np.ndarray]


def chain_start() -> np.ndarray:
    """Where the chain starts, shape (CHAIN_SIZE,)."""
    return np.linspace(-1, 1, CHAIN_SIZE, dtype=np.float32)


def chain_factor() -> np.ndarray:
    """The chain's k as an array, shape (CHAIN_SIZE,)."""
    return np.full(CHAIN_SIZE, CHAIN_K, dtype=np.float32)


def large_array(size: int = LARGE) -> np.ndarray:
    """Normal numbers, shape (size,)."""
    return np.random.default_rng(0).standard_normal(size, dtype=np.float32)


def uniform(shapes: Mapping[str, tuple[int, ...]], seed: int) -> Parameters:
    """An array for each name, uniform up to one over the root of what a weight sums over.

    A vector gets the bounds of the weight before it; that of a normalisation, between 0.5 and 1.5.
    """
    rng = np.random.default_rng(seed)
    found, bound = {}, 1.0
    for name, shape in shapes.items():
        if len(shape) > 1:
            bound = float(np.prod(shape[1:])) ** -0.5
        array = rng.uniform(-1, 1, shape) * bound
        if "norm" in name and name.endswith("weight"):
            array = rng.uniform(0.5, 1.5, shape)
        found[name] = array.astype(np.float32)
    return found


def pair_of_normal(shape: tuple[int, ...], seed: int) -> Batch:
    """Two arrays of normal numbers."""
    rng = np.random.default_rng(seed)
    first, second = (rng.standard_normal(shape, dtype=np.float32) for _ in range(2))
    return first, second


@dataclass(frozen=True)
class Training:
    """How a problem is trained: names of a function of nn.functional and of a class of optim."""

    loss: str
    optimizer: str
    learning_rate: float


@dataclass(frozen=True)
class Classification:
    """A classifier of fully connected layers, and one batch to train it on."""

    batch: int
    sizes: tuple[int, ...]
    activation: str  # the name of a class of nn
    training: Training
    seed: int = 0

    def parameters(self) -> Parameters:
        """Weight (out, in) and bias (out,) of each layer in turn, as nn.Sequential calls them."""
        shapes = {}
        for k, (fan_in, fan_out) in enumerate(pairwise(self.sizes)):
            shapes[f"{2 * k}.weight"] = (fan_out, fan_in)
            shapes[f"{2 * k}.bias"] = (fan_out,)
        return uniform(shapes, self.seed)

    def data(self) -> Batch:
        """Inputs (batch, sizes[0]), float32, and labels (batch,), int64."""
        rng = np.random.default_rng(self.seed + 1)
        x = rng.standard_normal((self.batch, self.sizes[0]), dtype=np.float32)
        return x, rng.integers(self.sizes[-1], size=self.batch)


@dataclass(frozen=True)
class Images:
    """Two convolutions of 3x3, each with ReLU and a max pooling of 2x2, then a linear map."""

    batch: int
    channels: tuple[int, int, int]
    side: int
    classes: int
    training: Training
    seed: int = 0

    def parameters(self) -> Parameters:
        """Weight and bias of layers 0 and 3 (convolutions) and 7 (linear) of an nn.Sequential."""
        first, second, third = self.channels
        features = third * (self.side // 4) ** 2
        return uniform({
            "0.weight": (second, first, 3, 3), "0.bias": (second,),
            "3.weight": (third, second, 3, 3), "3.bias": (third,),
            "7.weight": (self.classes, features), "7.bias": (self.classes,),
        }, self.seed)  # fmt: skip

    def data(self) -> Batch:
        """Images (batch, channels, side, side), float32, and labels (batch,), int64."""
        rng = np.random.default_rng(self.seed + 1)
        shape = (self.batch, self.channels[0], self.side, self.side)
        return rng.standard_normal(shape, dtype=np.float32), rng.integers(
            self.classes, size=self.batch
        )


@dataclass(frozen=True)
class Encoder:
    """A layer of a transformer's encoder (ReLU, normalised after each part, without dropout)."""

    batch: int
    length: int
    width: int
    heads: int
    hidden: int
    training: Training
    seed: int = 0

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Those of nn.TransformerEncoderLayer."""
        width, hidden = self.width, self.hidden
        return {
            "self_attn.in_proj_weight": (3 * width, width), "self_attn.in_proj_bias": (3 * width,),
            "self_attn.out_proj.weight": (width, width), "self_attn.out_proj.bias": (width,),
            "linear1.weight": (hidden, width), "linear1.bias": (hidden,),
            "linear2.weight": (width, hidden), "linear2.bias": (width,),
            "norm1.weight": (width,), "norm1.bias": (width,),
            "norm2.weight": (width,), "norm2.bias": (width,),
        }  # fmt: skip

    def parameters(self) -> Parameters:
        """An array of each shape."""
        return uniform(self.shapes(), self.seed)

    def data(self) -> Batch:
        """What goes in and what shall come out, both (batch, length, width), float32."""
        return pair_of_normal((self.batch, self.length, self.width), self.seed + 1)


@dataclass(frozen=True)
class Residual:
    """A block of a residual network: two convolutions of 3x3 with normalisation, and a sum."""

    batch: int
    channels: int
    side: int
    training: Training
    seed: int = 0

    def parameters(self) -> Parameters:
        """Weights of two convolutions, and weight and bias of the normalisation after each."""
        n, shapes = self.channels, {}
        for k in (1, 2):
            shapes[f"conv{k}.weight"] = (n, n, 3, 3)
            shapes[f"norm{k}.weight"] = shapes[f"norm{k}.bias"] = (n,)
        return uniform(shapes, self.seed)

    def data(self) -> Batch:
        """What goes in and what shall come out, both (batch, channels, side, side), float32."""
        return pair_of_normal((self.batch, self.channels, self.side, self.side), self.seed + 1)


@dataclass(frozen=True)
class Letters:
    """A transformer that guesses the next letter: layers as in `Encoder` that look back only."""

    batch: int
    length: int
    letters: int
    width: int
    heads: int
    hidden: int
    layers: int
    training: Training
    seed: int = 0

    def layer(self) -> Encoder:
        """One of the layers."""
        return Encoder(
            self.batch, self.length, self.width, self.heads, self.hidden, self.training
        )

    def parameters(self) -> Parameters:
        """Vectors of letters and places; the layers; the map to scores."""
        shapes = {"letter.weight": (self.letters, self.width)}
        shapes["place.weight"] = (self.length, self.width)
        for k in range(self.layers):
            for name, shape in self.layer().shapes().items():
                shapes[f"layers.{k}.{name}"] = shape
        shapes |= {"out.weight": (self.letters, self.width), "out.bias": (self.letters,)}
        return uniform(shapes, self.seed)

    def data(self) -> Batch:
        """Letters and those that follow, both (batch, length), int64."""
        rng = np.random.default_rng(self.seed + 1)
        text = rng.integers(self.letters, size=(self.batch, self.length + 1))
        return np.ascontiguousarray(text[:, :-1]), np.ascontiguousarray(text[:, 1:])


@dataclass(frozen=True)
class Bags:
    """Bags of words: the mean of their vectors, and a linear map to classes."""

    batch: int
    words_in_bag: int
    words: int
    width: int
    classes: int
    training: Training
    seed: int = 0

    def parameters(self) -> Parameters:
        """The vectors of the words, then weight and bias."""
        return uniform({
            "bag.weight": (self.words, self.width),
            "out.weight": (self.classes, self.width), "out.bias": (self.classes,),
        }, self.seed)  # fmt: skip

    def data(self) -> Batch:
        """Bags (batch, words_in_bag) and labels (batch,), int64."""
        rng = np.random.default_rng(self.seed + 1)
        return (
            rng.integers(self.words, size=(self.batch, self.words_in_bag)),
            rng.integers(self.classes, size=self.batch),
        )


@dataclass(frozen=True)
class Recurrence:
    """An LSTM cell, taken through `steps` steps; the last state shall be the target."""

    batch: int
    steps: int
    features: int
    hidden: int
    training: Training
    seed: int = 0

    def parameters(self) -> Parameters:
        """Names and shapes of nn.LSTMCell."""
        blocks, hidden = 4 * self.hidden, self.hidden
        return uniform({
            "weight_ih": (blocks, self.features), "weight_hh": (blocks, hidden),
            "bias_ih": (blocks,), "bias_hh": (blocks,),
        }, self.seed)  # fmt: skip

    def data(self) -> Batch:
        """Inputs (steps, batch, features) and the target (batch, hidden), float32."""
        rng = np.random.default_rng(self.seed + 1)
        return (
            rng.standard_normal((self.steps, self.batch, self.features), dtype=np.float32),
            rng.standard_normal((self.batch, self.hidden), dtype=np.float32),
        )


@dataclass(frozen=True)
class Bodies:
    """Bodies in space that attract each other, from a distance of `softening` on."""

    bodies: int
    softening: float
    seed: int = 0

    def data(self) -> Batch:
        """Places (bodies, 3) and masses (bodies,), float32."""
        rng = np.random.default_rng(self.seed)
        places = rng.standard_normal((self.bodies, 3), dtype=np.float32)
        return places, rng.uniform(0.5, 1.5, self.bodies).astype(np.float32)


@dataclass(frozen=True)
class Flow:
    """A differential equation whose rates are a layer of a network, solved in `steps` steps."""

    batch: int
    width: int
    steps: int
    training: Training
    seed: int = 0

    def parameters(self) -> Parameters:
        """Those of nn.Linear."""
        shapes = {"weight": (self.width, self.width), "bias": (self.width,)}
        return uniform(shapes, self.seed)

    def data(self) -> Batch:
        """Where it begins and where it shall end, both (batch, width), float32."""
        return pair_of_normal((self.batch, self.width), self.seed + 1)


@dataclass(frozen=True)
class Equation:
    """u'' + u = (1 - pi^2) sin(pi x), u a network with tanh between its layers, somewhere."""

    batch: int
    sizes: tuple[int, ...]
    training: Training
    seed: int = 0

    def parameters(self) -> Parameters:
        """Those of a classifier with these sizes."""
        return Classification(self.batch, self.sizes, "Tanh", self.training, self.seed).parameters()

    def data(self) -> Batch:
        """Places and the right-hand side there, both (batch, 1), float32."""
        rng = np.random.default_rng(self.seed + 1)
        x = rng.uniform(-1, 1, (self.batch, 1))
        return x.astype(np.float32), ((1 - np.pi**2) * np.sin(np.pi * x)).astype(np.float32)


@dataclass(frozen=True)
class Table:
    """Samples for estimators of scikit-learn: `clusters` clouds in `features` dimensions."""

    samples: int
    features: int
    clusters: int
    seed: int = 0

    def data(self) -> np.ndarray:
        """(samples, features), float32; each feature with a scale of its own."""
        rng = np.random.default_rng(self.seed)
        centres = 4 * rng.standard_normal((self.clusters, self.features))
        x = centres[rng.integers(self.clusters, size=self.samples)]
        x += rng.standard_normal(x.shape) * np.linspace(1, 2, self.features)
        return x.astype(np.float32)


TINY = Classification(16, (4, 16, 16, 3), "Tanh", Training("cross_entropy", "Adam", 1e-3))
MLP_SGD = Classification(
    128, (784, 256, 128, 10), "ReLU", Training("cross_entropy", "SGD", 1e-2)
)
MLP_ADAM = Classification(
    128, (784, 256, 128, 10), "ReLU", Training("cross_entropy", "Adam", 1e-3)
)
# For devices that a call costs more.
WIDE_SGD = Classification(512, (784, 1024, 10), "ReLU", Training("cross_entropy", "SGD", 1e-2))
WIDE_ADAM = Classification(512, (784, 1024, 10), "ReLU", Training("cross_entropy", "Adam", 1e-3))
# For cards that take thousands of threads to fill.
LARGE_MLP = Classification(
    4096, (1024, 8192, 8192, 1000), "ReLU", Training("cross_entropy", "Adam", 1e-4)
)
LARGE_CNN = Images(512, (1, 64, 128), 28, 10, Training("cross_entropy", "SGD", 1e-2))
LARGE_ENCODER = Encoder(32, 512, 1024, 16, 4096, Training("mse_loss", "AdamW", 1e-4))
CNN = Images(32, (1, 16, 32), 28, 10, Training("cross_entropy", "SGD", 1e-2))
ENCODER = Encoder(8, 128, 256, 4, 1024, Training("mse_loss", "AdamW", 1e-3))
RESNET = Residual(16, 32, 16, Training("mse_loss", "SGD", 1e-2))
LETTERS = Letters(16, 64, 80, 64, 4, 256, 2, Training("cross_entropy", "AdamW", 1e-3))
BAGS = Bags(256, 20, 10_000, 64, 4, Training("cross_entropy", "SGD", 1e-1))
LSTM = Recurrence(16, 50, 64, 64, Training("mse_loss", "SGD", 1e-2))
BODIES = Bodies(256, 0.1)
FLOW = Flow(64, 16, 40, Training("mse_loss", "SGD", 1e-2))
EQUATION = Equation(256, (1, 32, 32, 1), Training("mse_loss", "Adam", 1e-3))
# The size of scikit-learn's digits.
DIGITS = Table(1797, 64, 10)
CLOUDS = Table(500, 8, 4)
