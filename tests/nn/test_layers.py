"""Every layer: its examples run, differentiate, move and survive copying; some by hand."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import InvalidArgumentError, ShapeError
from polygrad.registry import default_integer, find_device
from polygrad.testing import assert_close, floating
from polygrad.testing.compare import host

LAYERS = sorted(
    name
    for name in nn.__all__
    if inspect.isclass(getattr(nn, name))
    and issubclass(getattr(nn, name), nn.Module)
    and getattr(nn, name).examples
)
ALIKE = {
    "Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential",
    "TransformerDecoder", "TransformerEncoder",  # within Transformer
}  # fmt: skip


def draw(spec, args, random):
    """An input of an example: a shape, or ("index", shape, bound), ("unit" or "sign", shape)."""
    if spec and spec[0] == "index":
        return np.asarray(random.integers(0, spec[2] if len(spec) > 2 else args[0], spec[1]))
    if spec and spec[0] == "unit":
        return random.uniform(0.05, 0.95, spec[1])
    if spec and spec[0] == "sign":
        return np.asarray(random.choice([-1, 1], spec[1]))
    return random.standard_normal(spec)


def examples(name):
    return getattr(nn, name).examples


def test_every_layer_has_examples():
    without = {
        name for name in nn.__all__
        if inspect.isclass(getattr(nn, name)) and issubclass(getattr(nn, name), nn.Module)
    } - set(LAYERS)  # fmt: skip
    assert without == ALIKE


@pytest.mark.parametrize("name", LAYERS)
def test_gradients_against_differences(name):
    random = np.random.default_rng(0)
    for args, kwargs, shapes in examples(name):
        layer = getattr(nn, name)(*args, **kwargs).double()
        arrays = [draw(s, args, random) for s in shapes]
        real = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
        parameters = list(layer.parameters())
        state = layer.state_dict()
        if kwargs.get("max_norm"):
            continue  # writes to its table

        def function(*tensors, layer=layer, arrays=arrays, real=real, state=state):
            layer.load_state_dict(state)  # running statistics start anew
            given = [pg.tensor(a) for a in arrays]
            for i, t in zip(real, tensors, strict=False):
                given[i] = t
            for (_, p), t in zip(layer.named_parameters(), tensors[len(real) :], strict=True):
                with pg.no_grad():
                    p[...] = t
            return floating(layer(*given))

        inputs = [pg.tensor(arrays[i], requires_grad=True) for i in real]
        if inputs:
            frozen = [p.detach() for p in parameters]
            assert pg.autograd.gradcheck(
                lambda *xs, f=function, frozen=frozen: f(*xs, *frozen), inputs, fast_mode=True
            ), (name, args, kwargs)


@pytest.mark.parametrize("name", LAYERS)
def test_copies_and_state_reproduce_the_layer(name):
    random = np.random.default_rng(1)
    for args, kwargs, shapes in examples(name):
        layer = getattr(nn, name)(*args, **kwargs).eval()
        inputs = [
            pg.tensor(a if a.dtype.kind == "i" else a.astype(np.float32))
            for a in (draw(s, args, random) for s in shapes)
        ]
        want = floating(layer(*inputs))
        other = getattr(nn, name)(*args, **kwargs).eval()
        other.load_state_dict(layer.state_dict())
        for twin in (copy.deepcopy(layer), other):
            for got, value in zip(floating(twin(*inputs)), want, strict=True):
                assert_close(got, value)
        assert repr(layer).startswith(name + "(")


@pytest.mark.parametrize("name", ["Linear", "Conv2d", "BatchNorm2d", "Embedding", "LayerNorm"])
def test_made_on_a_device_with_the_same_bits(name, device):
    args, kwargs, shapes = examples(name)[0]
    pg.manual_seed(3)
    want = getattr(nn, name)(*args, **kwargs)
    pg.manual_seed(3)
    layer = getattr(nn, name)(*args, **kwargs, device=device)
    for key, value in layer.state_dict().items():
        assert value.device == device
        np.testing.assert_array_equal(host(value), host(want.state_dict()[key]))
    random = np.random.default_rng(0)
    array = draw(shapes[0], args, random)
    kind = array.dtype.kind
    dtype = pg.float32 if kind == "f" else default_integer(find_device(device))
    got = layer(pg.tensor(array.astype(dtype), device=device))
    assert_close(got, want(pg.tensor(array.astype("float32") if kind == "f" else array)))


def test_initial_values_have_the_documented_bounds():
    layer = nn.Linear(100, 50)
    bound = 1 / np.sqrt(100)
    for p in layer.parameters():
        values = host(p)
        assert np.abs(values).max() <= bound
        assert np.abs(values).max() > 0.9 * bound
    conv = nn.Conv2d(4, 8, 3, groups=2)
    assert np.abs(host(conv.weight)).max() <= 1 / np.sqrt(2 * 9)
    assert not host(nn.Embedding(4, 3, padding_idx=1).weight)[1].any()


def test_in_place_activations_write_their_input():
    x = pg.tensor([-1.0, 2.0])
    nn.ReLU(inplace=True)(x)
    assert host(x).tolist() == [0.0, 2.0]
    assert "inplace" in repr(nn.ReLU(inplace=True))


def test_transposed_convolution_reaches_an_output_size():
    conv = nn.Conv2d(1, 2, 3, stride=2, padding=1)
    back = nn.ConvTranspose2d(2, 1, 3, stride=2, padding=1)
    for size in ((7, 8), (8, 7)):
        x = pg.ones((1, 1, *size))
        assert back(conv(x), output_size=size).shape == x.shape
    with pytest.raises(ShapeError, match="no output padding"):
        back(conv(pg.ones((1, 1, 7, 7))), output_size=(20, 20))


def test_batch_norm_follows_the_batches_only_in_training():
    layer = nn.BatchNorm1d(2)
    x = pg.tensor([[1.0, 2.0], [3.0, 6.0]])
    layer(x)
    assert int(layer.num_batches_tracked) == 1
    assert_close(layer.running_mean, np.array([0.2, 0.4], np.float32))
    layer.eval()(x)
    assert int(layer.num_batches_tracked) == 1
    layer.reset_running_stats()
    assert host(layer.running_var).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "groups"),
        (lambda: nn.Conv2d(2, 4, (3, 3, 3)), "kernel_size"),
        (lambda: nn.Conv2d(2, 4, 3, padding="same", stride=2), "same"),
        (lambda: nn.Conv2d(2, 4, 3, padding_mode="mirror"), "padding_mode"),
        (lambda: nn.ConvTranspose2d(2, 4, 3, padding_mode="reflect"), "padding_mode"),
        (lambda: nn.GroupNorm(3, 4), "groups"),
        (lambda: nn.Dropout(1.5), "probability"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), "padding_idx"),
        (lambda: nn.BatchNorm2d(3)(pg.ones((2, 3))), "axes"),
        (lambda: nn.Flatten(2, 1)(pg.ones((2, 3, 4))), "start_axis"),
        (lambda: nn.Unflatten(1, (4, -1))(pg.ones((2, 6))), "divided"),
        (lambda: nn.Embedding.from_pretrained(pg.ones(3)), "rows"),
    ],
)
def test_arguments_out_of_their_domain(make, word):
    with pytest.raises((InvalidArgumentError, ShapeError), match=word):
        make()


def test_embedding_from_a_table():
    table = pg.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad
    assert_close(layer(pg.tensor([1, 0])), np.array([[3, 4], [1, 2]], np.float32))
    assert nn.Embedding.from_pretrained(table, freeze=False).weight.requires_grad
