"""Names that PyTorch users try first: the error says what to write here."""

from __future__ import annotations

import copy
import functools
import importlib
import re

import pytest

import polygrad as pg
from polygrad import hints
from polygrad.hint_tables import CALLED, METHODS, SAY, SUBMODULES

TEXTS = {**SAY, **METHODS, **SUBMODULES}


def names_of(text):
    """The dotted names under pg that a text mentions, and the methods of x."""
    return re.findall(r"\bpg\.((?:\w+\.)*\w+)", text), re.findall(r"\bx\.(\w+)", text)


@pytest.mark.parametrize("name", sorted(CALLED))
def test_every_other_name_is_one_that_exists(name):
    functools.reduce(getattr, CALLED[name].split("."), pg)
    with pytest.raises(AttributeError, match=f"'{name}': write pg.{re.escape(CALLED[name])}"):
        getattr(pg, name)


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_what_is_to_be_written_exists(name):
    functions, methods = names_of(TEXTS[name])
    for path in functions:
        functools.reduce(getattr, path.split("."), pg)
    assert not [m for m in methods if not hasattr(pg.Tensor, m)]


def test_a_name_has_one_entry_and_is_not_there():
    tables = [set(CALLED), set(SAY), set(SUBMODULES)]
    assert len(set.union(*tables)) == sum(map(len, tables))
    assert not set.union(*tables) & set(dir(pg))
    assert not [name for name in METHODS if hasattr(pg.Tensor, name)]


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        ("polygrad", "sigmoid", "it is pg.nn.functional.sigmoid"),
        ("polygrad", "svd", "it is pg.linalg.svd"),
        ("polygrad", "AdamW", "it is pg.optim.AdamW"),
        ("polygrad", "exp_", "write x[...] = x.exp(...)"),
        ("polygrad", "FloatTensor", "write pg.tensor(data, dtype=...)"),
        ("polygrad", "sparse_coo_tensor", "tensors are dense"),
        ("polygrad.nn", "LazyLinear", "say the sizes: nn.Linear"),
        ("polygrad.nn", "softmax", "it is pg.softmax"),
        ("polygrad.nn.functional", "relu_", "write F.relu(x, inplace=True)"),
        ("polygrad.nn.functional", "Linear", "it is pg.nn.Linear"),
        ("polygrad.nn.init", "normal", "it is pg.nn.init.normal_"),
        ("polygrad.nn.init", "orthogonal", "it is pg.nn.init.orthogonal_"),
        ("polygrad.nn.utils", "weight_norm", "write pg.nn.utils.parametrizations.weight_norm"),
        ("polygrad.optim", "StepLR", "it is pg.optim.lr_scheduler.StepLR"),
        ("polygrad.optim.lr_scheduler", "AdamW", "it is pg.optim.AdamW"),
        ("polygrad.data", "IterDataPipe", "derive from pg.data.IterableDataset"),
        ("polygrad.random", "rand", "write pg.random.uniform"),
        ("polygrad.linalg", "multi_dot", "write a @ b @ c"),
        ("polygrad.fft", "fft2", "write pg.fft.fftn(x, axes=(-2, -1))"),
        ("polygrad.special", "bessel_j0", "write pg.special.j0"),
        ("polygrad.autograd", "functional", "pg.nn.functional; jacobian, hessian, jvp, vjp, hvp "),
        ("polygrad.amp", "custom_fwd", "leave it out"),
    ],
)
def test_modules_know_each_other_s_names(module, name, advice):
    with pytest.raises(AttributeError) as error:
        getattr(importlib.import_module(module), name)
    assert str(error.value).startswith(f"module {module!r} has no attribute {name!r}: {advice}")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("unsqueeze", "write x.expand_dims(...)"),
        ("cat", "write pg.concat(x, ...)"),
        ("roll", "write pg.roll(x, ...)"),
        ("inverse", "write pg.linalg.inv(x, ...)"),
        ("add_", "write x += y"),
        ("sigmoid_", "write x[...] = pg.nn.functional.sigmoid(x, ...)"),
        ("rsqrt_", "write x[...] = values; for these write 1 / pg.sqrt(x)"),
        ("float", "write x.to(pg.float32)"),
        ("to_sparse_csr", "tensors are dense"),
    ],
)
def test_methods(name, advice):
    with pytest.raises(AttributeError) as error:
        getattr(pg.ones(2), name)
    assert str(error.value) == f"'Tensor' object has no attribute {name!r}: {advice}"


def test_python_does_not_guess_where_there_is_advice():
    x = pg.ones(2)
    for name, owner in (("float", None), ("shap", x)):
        with pytest.raises(AttributeError) as error:
            getattr(x, name)
        assert f"no attribute {name!r}" in str(error.value)
        assert error.value.obj is owner  # "Did you mean: 'floor'?" is made from it


def test_devices():
    with pytest.raises(AttributeError, match=r"no attribute 'type': write device.kind"):
        pg.ones(2).device.type  # noqa: B018  the look-up is the test


@pytest.mark.parametrize("owner", [pg, pg.nn, pg.nn.functional, pg.ones(2), pg.Device("cpu")])
def test_unknown_names(owner):
    with pytest.raises(AttributeError, match=r"no attribute 'nonsense'$"):
        getattr(owner, "nonsense")  # noqa: B009  the look-up is the test
    assert not hasattr(owner, "__nonsense__")


def test_asking_whether_a_name_is_there_looks_nowhere_else(monkeypatch):
    monkeypatch.setattr(hints, "_found", lambda name: pytest.fail(f"looked for {name}"))
    assert not hasattr(pg, "iloc")
    assert not hasattr(pg.ones(2), "iloc")
    assert not hasattr(pg.nn.functional, "iloc")


def test_the_error_can_be_pickled():
    with pytest.raises(AttributeError) as error:
        pg.ones(2).float()
    assert str(copy.copy(error.value)) == str(error.value)
