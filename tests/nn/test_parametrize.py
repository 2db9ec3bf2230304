"""Parametrizations: registering, chains, removal, states, copies, caches, and the ready ones."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import (
    DtypeError,
    InvalidArgumentError,
    InvalidTypeError,
    OutOfRangeError,
    ShapeError,
    UnsupportedOperationError,
)
from polygrad.nn.utils import parametrizations, parametrize
from polygrad.testing import assert_close
from polygrad.testing.compare import host


class Symmetric(nn.Module):
    def forward(self, x):
        return pg.triu(x) + pg.triu(x, k=1).mT

    def right_inverse(self, x):
        return pg.triu(x)


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2.0


class Halving(Doubled):
    def right_inverse(self, x):
        return x / 2.0


class Shifted(nn.Module):
    def forward(self, x):
        return x + 1.0

    def right_inverse(self, x):
        return x - 1.0


class Outer(nn.Module):
    def forward(self, x, y):
        return x[:, None] * y[None, :]

    def right_inverse(self, z):
        return z[:, 0], z[0, :] / z[0, 0]


def square(**options):
    return nn.Linear(3, 3, **options)


# ---- registering ----------------------------------------------------------------------------
def test_the_tensor_is_made_from_the_original():
    m = square()
    weight = m.weight
    assert parametrize.register_parametrization(m, "weight", Symmetric()) is m
    assert m.parametrizations.weight.original is weight
    assert_close(m.weight, m.weight.T)
    assert type(m).__name__ == "ParametrizedLinear" and isinstance(m, nn.Linear)
    assert parametrize.type_before_parametrizations(m) is nn.Linear
    assert parametrize.is_parametrized(m) and parametrize.is_parametrized(m, "weight")
    assert not parametrize.is_parametrized(m, "bias") and not parametrize.is_parametrized(square())
    assert list(m.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert m(pg.ones((2, 3))).requires_grad


def test_a_chain_is_applied_in_order_and_inverted_in_reverse():
    m = square()
    start = host(m.weight).copy()
    parametrize.register_parametrization(m, "weight", Symmetric())
    parametrize.register_parametrization(m, "weight", Halving())
    symmetric = np.triu(start) + np.triu(start, 1).T
    assert_close(m.weight, 2 * symmetric)
    assert len(m.parametrizations.weight) == 2
    m.weight = pg.asarray(symmetric)
    assert_close(m.weight, symmetric)
    assert_close(m.parametrizations.weight.original, np.triu(symmetric) / 2)
    parametrize.register_parametrization(m, "weight", Shifted())
    assert_close(m.weight, symmetric + 1)
    m.weight = pg.asarray(symmetric)
    assert_close(m.weight, symmetric)


def test_several_originals():
    m = square()
    parametrize.register_parametrization(m, "weight", Outer())
    entry = m.parametrizations.weight
    assert not entry.is_tensor and entry.ntensors == 2
    assert list(m.state_dict()) == [
        "bias", "parametrizations.weight.original0", "parametrizations.weight.original1",
    ]  # fmt: skip
    assert all(isinstance(t, nn.Parameter) for t in entry.originals().values())
    rank_one = np.outer([1.0, 2.0, 3.0], [2.0, 1.0, 0.5]).astype(np.float32)
    m.weight = pg.asarray(rank_one)
    assert_close(m.weight, rank_one)


def test_buffers_stay_what_they_are():
    for persistent in (True, False):
        m = nn.Module()
        m.register_buffer("b", pg.eye(2), persistent=persistent)
        parametrize.register_parametrization(m, "b", Doubled())
        assert_close(m.b, 2 * np.eye(2, dtype=np.float32))
        assert not list(m.parameters()) and len(list(m.buffers())) == 1
        assert list(m.state_dict()) == ["parametrizations.b.original"] * persistent
        parametrize.remove_parametrizations(m, "b")
        assert list(m.state_dict()) == ["b"] * persistent
        assert_close(m.b, 2 * np.eye(2, dtype=np.float32))


def test_frozen_parameters_stay_frozen():
    m = square().requires_grad_(False)
    parametrize.register_parametrization(m, "weight", Outer())
    assert not any(p.requires_grad for p in m.parameters())
    parametrize.remove_parametrizations(m, "weight")
    assert isinstance(m.weight, nn.Parameter) and not m.weight.requires_grad


def test_the_mode_of_the_module_is_taken():
    made = Symmetric()
    parametrize.register_parametrization(square().eval(), "weight", made)
    assert not made.training


class Wrong(nn.Module):
    """Returns something else, or changes what it may not."""

    def __init__(self, forward=lambda x: x, right_inverse=lambda x: x):
        super().__init__()
        self.run, self.right_inverse = forward, right_inverse

    def forward(self, *x):
        return self.run(*x)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: Wrong(lambda x: None), InvalidTypeError),
        (lambda: Wrong(lambda x: x.to(pg.float64)), DtypeError),
        (lambda: Wrong(lambda x: x[0]), ShapeError),
        (lambda: Wrong(right_inverse=lambda x: None), InvalidTypeError),
        (lambda: Wrong(right_inverse=lambda x: (x, 3)), InvalidTypeError),
        (lambda: Wrong(right_inverse=lambda x: ()), InvalidTypeError),
        (lambda: Wrong(right_inverse=lambda x: x.to(pg.float64)), DtypeError),
    ],
)
@pytest.mark.parametrize("already", [False, True])
def test_what_is_refused_leaves_all_as_it_was(wrong, error, already):
    m = square()
    if already:
        parametrize.register_parametrization(m, "weight", Symmetric())
    before, weight, made = m.state_dict(), m.weight, wrong()
    m.eval()
    with pytest.raises(error):
        parametrize.register_parametrization(m, "weight", made)
    assert made.training
    assert parametrize.is_parametrized(m) == already
    assert list(m.state_dict()) == list(before)
    assert_close(m.weight, weight)


def test_wrong_names_and_things():
    m = square()
    with pytest.raises(InvalidArgumentError, match="it has weight, bias"):
        parametrize.register_parametrization(m, "scale", Symmetric())
    with pytest.raises(InvalidTypeError, match="no Module"):
        parametrize.register_parametrization(m, "weight", lambda x: x)
    with pytest.raises(InvalidArgumentError, match="not parametrized"):
        parametrize.remove_parametrizations(m, "weight")
    parametrize.register_parametrization(m, "weight", Doubled())
    with pytest.raises(UnsupportedOperationError, match="Doubled has no right_inverse"):
        m.weight = pg.zeros((3, 3))
    with pytest.raises(RuntimeError):  # PyTorch's class
        m.weight = pg.zeros((3, 3))


def test_what_is_assigned_has_the_shape_of_the_tensor():
    for register in (parametrizations.weight_norm, parametrizations.spectral_norm):
        m = register(square())
        before = m.state_dict()
        with pytest.raises(ShapeError, match=r"shape \(2, 3\) for a tensor of shape \(3, 3\)"):
            m.weight = pg.ones((2, 3))
        with pytest.raises(InvalidTypeError, match="a float for a tensor of shape"):
            m.weight = 1.0
        for name, t in m.state_dict().items():
            assert_close(t, before[name])
        m.weight = nn.Parameter(pg.eye(3))
        assert m.weight.shape == (3, 3) and not host(m.weight)[0, 1:].any()


def test_unsafe_ones_may_change_dtype_and_shape():
    m = square()
    made = Wrong(lambda x: x[:2].to(pg.float64), right_inverse=lambda x: x)
    parametrize.register_parametrization(m, "weight", made, unsafe=True)
    assert m.weight.shape == (2, 3) and m.weight.dtype == pg.float64
    assert m.parametrizations.weight.unsafe
    m.weight = pg.ones((4, 3))
    assert m.parametrizations.weight.original.shape == (4, 3)
    with pytest.raises(DtypeError):
        parametrize.remove_parametrizations(m, "weight")
    parametrize.remove_parametrizations(m, "weight", leave_parametrized=False)
    assert m.weight.shape == (4, 3)


def test_an_inverse_that_a_device_lacks_is_no_refusal():
    def lacking(x):
        raise UnsupportedOperationError("no such operation", "here", "elsewhere")

    with pytest.raises(UnsupportedOperationError):
        parametrize.register_parametrization(square(), "weight", Wrong(right_inverse=lacking))


# ---- removing -------------------------------------------------------------------------------
@pytest.mark.parametrize("leave", [True, False])
def test_removal(leave):
    m = square()
    weight = m.weight
    parametrize.register_parametrization(m, "weight", Symmetric())
    value, original = host(m.weight), host(weight).copy()
    assert parametrize.remove_parametrizations(m, "weight", leave) is m
    assert type(m) is nn.Linear and m.weight is weight
    assert list(m.state_dict()) == ["bias", "weight"]
    assert_close(m.weight, value if leave else original)
    assert not hasattr(m, "parametrizations")


def test_removal_of_one_of_two_tensors():
    m = square()
    parametrize.register_parametrization(m, "weight", Symmetric())
    parametrize.register_parametrization(m, "bias", Doubled())
    parametrize.remove_parametrizations(m, "weight")
    assert parametrize.is_parametrized(m, "bias") and not parametrize.is_parametrized(m, "weight")
    with pytest.raises(InvalidArgumentError, match="2 originals"):
        parametrize.remove_parametrizations(
            parametrize.register_parametrization(m, "weight", Outer()), "weight", False
        )


def test_transfer_shares_the_originals():
    a, b = square(), nn.Module()
    parametrize.register_parametrization(a, "weight", Symmetric())
    parametrize.register_parametrization(a, "weight", Halving())
    assert parametrize.transfer_parametrizations_and_params(a, b) is b
    assert b.parametrizations.weight.original is a.parametrizations.weight.original
    assert_close(a.weight, b.weight)
    c = parametrize.transfer_parametrizations_and_params(
        parametrize.register_parametrization(square(), "weight", Outer()), square(), "weight"
    )
    assert c.parametrizations.weight.ntensors == 2
    with pytest.raises(InvalidArgumentError, match="these are: weight"):
        parametrize.transfer_parametrizations_and_params(a, b, "bias")
    assert parametrize.transfer_parametrizations_and_params(square(), b) is b


# ---- living with them -----------------------------------------------------------------------
def test_a_cache_computes_once_and_sees_assignments():
    calls = []
    m = square()
    made = Wrong(lambda x: calls.append(1) or x * 2.0, right_inverse=lambda x: x / 2.0)
    parametrize.register_parametrization(m, "weight", made)
    calls.clear()
    with parametrize.cached():
        first = m.weight
        with parametrize.cached():
            assert m.weight is first
        assert m.weight is first and len(calls) == 1
        with pg.no_grad():
            constant = m.weight
        assert constant is not first and not constant.requires_grad
        with pg.amp.autocast("cpu", dtype=pg.float16):
            assert m.weight is not first and m.weight is m.weight
        assert m.weight is first and len(calls) == 3
        m.weight = pg.zeros((3, 3))
        assert m.weight is not first and not host(m.weight).any()
    assert m.weight is not m.weight


def test_copies_and_pickles_are_independent():
    m = parametrizations.weight_norm(square())
    parametrizations.spectral_norm(m, "bias")
    for made in (copy.deepcopy(m), pickle.loads(pickle.dumps(m))):  # noqa: S301
        assert type(made) is type(m)
        assert_close(made.weight, m.weight)
        parametrize.remove_parametrizations(made, "weight")
        assert parametrize.is_parametrized(m, "weight") and m.weight.requires_grad
        assert not parametrize.is_parametrized(made, "weight")


def test_a_base_that_copies_in_its_own_way_still_does():
    class Own(nn.Linear):
        def __reduce__(self):
            return Own, (3, 3)

    class Stateful(nn.Linear):
        def __getstate__(self):
            return {**self.__dict__, "seen": True}

    m = parametrizations.weight_norm(Stateful(3, 3))
    assert copy.copy(m).seen and type(copy.copy(m)) is type(m)
    assert type(copy.copy(parametrizations.weight_norm(Own(3, 3)))) is Own


def test_files(tmp_path):
    m = parametrizations.orthogonal(square())
    pg.save(m.state_dict(), tmp_path / "m.safetensors")
    other = parametrizations.orthogonal(square())
    other.load_state_dict(pg.load(tmp_path / "m.safetensors"))
    assert_close(other.weight, m.weight)


def test_optimizers_learn_the_originals_before_and_after():
    m = square()
    optimizer = pg.optim.Adam(m.parameters(), lr=0.1)
    parametrize.register_parametrization(m, "weight", Symmetric())
    for _ in range(3):
        optimizer.zero_grad()
        pg.sum((m(pg.ones((2, 3))) - 1.0) ** 2).backward()
        optimizer.step()
    assert_close(m.weight, m.weight.T)
    parametrize.remove_parametrizations(m, "weight")
    before = host(m.weight).copy()
    pg.sum(m(pg.ones((2, 3)))).backward()
    optimizer.step()
    assert (host(m.weight) != before).all()


def test_moving(device):
    m = parametrizations.weight_norm(nn.Sequential(square())[0])
    original = m.parametrizations.weight.original0
    x = pg.ones((2, 3))
    want = m(x)
    m.to(device)
    assert m.parametrizations.weight.original0 is original
    assert m.weight.device == device
    assert_close(m(x.to(device)), want)
    assert m.cpu().double().weight.dtype == pg.float64


def test_double_backward():
    for register in (
        parametrizations.weight_norm, parametrizations.orthogonal,
        lambda m: parametrizations.orthogonal(m, orthogonal_map="householder"),
        lambda m: parametrizations.orthogonal(m, orthogonal_map="cayley"),
        lambda m: parametrizations.spectral_norm(m).eval(),
    ):  # fmt: skip
        m = register(square(dtype=pg.float64))
        originals = list(m.parametrizations.weight.originals().values())
        entry = m.parametrizations.weight[0]
        with pg.no_grad():
            for t in originals:
                t[...] += pg.random.normal(t.shape, dtype=t.dtype) * 0.1
        made = [t.detach().requires_grad_() for t in originals]
        assert pg.autograd.gradcheck(entry, made)
        assert pg.autograd.gradgradcheck(entry, made)


# ---- weight normalization -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("axis", "shape"), [(0, (4, 1, 1)), (1, (1, 2, 1)), (-1, (1, 1, 3)), (None, ())]
)
def test_weight_norm_keeps_the_weight(device, axis, shape):
    m = nn.Conv1d(2, 4, 3, device=device)
    weight = host(m.weight).copy()
    parametrizations.weight_norm(m, axis=axis)
    assert m.parametrizations.weight.original0.shape == shape
    assert_close(m.weight, weight)
    assert "axis=" in repr(m)
    with pg.no_grad():
        m.parametrizations.weight.original0[...] *= 2.0
        m.parametrizations.weight.original1[...] *= 5.0
    assert_close(m.weight, 2 * weight)


def test_weight_norm_reads_the_names_of_old_files():
    m = parametrizations.weight_norm(square())
    g, v = pg.full((3, 1), 2.0), pg.eye(3)
    m.load_state_dict({"weight_g": g, "weight_v": v, "bias": pg.zeros(3)})
    assert_close(m.weight, 2 * np.eye(3, dtype=np.float32))
    outer = nn.Sequential(parametrizations.weight_norm(square()))
    outer.load_state_dict({"0.weight_g": g, "0.weight_v": v, "0.bias": pg.zeros(3)})
    assert_close(outer[0].weight, m.weight)
    parametrize.remove_parametrizations(m, "weight")
    with pytest.raises(RuntimeError, match="weight_g"):
        m.load_state_dict({"weight_g": g, "weight_v": v, "bias": pg.zeros(3)})


def test_the_old_functions_say_where_the_new_ones_are():
    with pytest.raises(AttributeError, match=r"write pg\.nn\.utils\.parametrizations\.weight_norm"):
        nn.utils.weight_norm  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'pruning'$"):
        nn.utils.pruning  # noqa: B018


def test_weight_norm_of_recurrent_layers_and_of_mistakes():
    m = parametrizations.weight_norm(nn.LSTM(2, 3), "weight_hh_l0")
    y, _ = m(pg.ones((4, 1, 2)))
    pg.sum(y).backward()
    assert m.parametrizations.weight_hh_l0.original0.grad is not None
    with pytest.raises(OutOfRangeError):
        parametrizations.weight_norm(square(), axis=2)
    with pytest.raises(InvalidArgumentError, match="it has weight, bias"):
        parametrizations.weight_norm(square(), "scale")


# ---- spectral normalization -------------------------------------------------------------------
def test_spectral_norm_brings_the_largest_singular_value_to_one(device):
    for layer in (nn.Linear(4, 3, device=device), nn.ConvTranspose1d(2, 4, 3, device=device)):
        m = parametrizations.spectral_norm(layer, n_power_iterations=20)
        for _ in range(3):
            weight = m.weight
        matrix = host(weight)
        if matrix.ndim == 3:
            assert m.parametrizations.weight[0]._u.shape == (4,)
            matrix = np.moveaxis(matrix, 1, 0).reshape(4, -1)
        assert_close(pg.asarray(np.linalg.norm(matrix, 2)), np.float32(1.0))


def test_spectral_norm_moves_its_vectors_in_training_only():
    m = parametrizations.spectral_norm(square())
    entry = m.parametrizations.weight[0]
    u = entry._u
    with pg.no_grad():
        m.parametrizations.weight.original[...] += pg.random.normal((3, 3))
    m.eval()
    before = host(u).copy()
    _ = m.weight
    np.testing.assert_array_equal(host(entry._u), before)
    m.train()
    first = m.weight
    saved = pg.sum(first**2)
    assert entry._u is u and (host(u) != before).any()
    _ = m.weight  # moves them again: what the first reading saved stays
    saved.backward()
    assert m.parametrizations.weight.original.grad is not None


def test_spectral_norm_of_vectors_and_of_complex_matrices():
    m = parametrizations.spectral_norm(nn.ConvTranspose1d(1, 3, 2), "bias")
    assert_close(pg.linalg.vector_norm(m.bias), np.float32(1.0))
    holder = nn.Module()
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))
    holder.weight = nn.Parameter(pg.tensor(weight))
    parametrizations.spectral_norm(holder, n_power_iterations=200)
    assert_close(pg.asarray(np.linalg.norm(host(holder.weight), 2)), np.float64(1.0))
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        parametrizations.spectral_norm(square(), n_power_iterations=0)
    with pytest.raises(OutOfRangeError):
        parametrizations.spectral_norm(square(), axis=2)


# ---- orthogonal matrices ------------------------------------------------------------------------
MAPS = ("matrix_exp", "cayley", "householder")


def holding(shape, dtype=pg.float64, device="cpu"):
    m = nn.Module()
    m.weight = nn.Parameter(pg.random.normal(shape, dtype=dtype, device=device))
    return m


def assert_orthogonal(q):
    q = host(q)
    tall = q if q.shape[-2] >= q.shape[-1] else np.swapaxes(q, -1, -2)
    product = np.swapaxes(tall, -1, -2).conj() @ tall
    assert_close(pg.asarray(product), np.broadcast_to(np.eye(tall.shape[-1]), product.shape))


@pytest.mark.parametrize("trivialize", [True, False])
@pytest.mark.parametrize("chosen", MAPS)
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (2, 3, 5), (1, 1), (0, 0), (3, 0)])
def test_weights_are_orthogonal_and_stay_so(shape, chosen, trivialize):
    m = parametrizations.orthogonal(
        holding(shape), orthogonal_map=chosen, use_trivialization=trivialize
    )
    optimizer = pg.optim.SGD(m.parameters(), lr=0.1, weight_decay=0.1)
    for _ in range(4):
        assert m.weight.shape == shape
        assert_orthogonal(m.weight)
        optimizer.zero_grad()
        pg.sum(m.weight**3).backward()
        optimizer.step()
    assert_orthogonal(m.weight)


def test_orthogonal_weights_on_every_device(device):
    for chosen in MAPS:
        m = parametrizations.orthogonal(nn.Linear(4, 3, device=device), orthogonal_map=chosen)
        pg.sum(m(pg.ones((2, 4), device=device)) ** 2).backward()
        assert m.parametrizations.weight.original.grad.device == device
        q = host(m.weight)
        assert_close(pg.asarray(q @ q.T), np.eye(3, dtype=np.float32))


@pytest.mark.parametrize("chosen", MAPS)
def test_an_orthogonal_matrix_is_kept_and_can_be_assigned(chosen):
    q = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0][:, :3]
    for value in (q, q.T):
        m = holding(value.shape)
        with pg.no_grad():
            m.weight[...] = value
        parametrizations.orthogonal(m, orthogonal_map=chosen)
        assert_close(m.weight, value)
        m.weight = pg.asarray(-value)
        assert_close(m.weight, -value)
        with pytest.raises(ShapeError, match="for one of"):
            m.weight = pg.zeros((2, 2))


def test_reflections_have_an_inverse_without_trivialization():
    m = holding((4, 3))
    parametrizations.orthogonal(m, orthogonal_map="householder", use_trivialization=False)
    assert "parametrizations.weight.0.base" not in m.state_dict()
    for value in (np.eye(4)[:, :3], np.linalg.qr(np.arange(12.0).reshape(4, 3) ** 2)[0]):
        m.weight = pg.asarray(value)
        assert_close(m.weight, value)
    m = holding((3, 3))
    parametrizations.orthogonal(m, use_trivialization=False)
    with pytest.raises(NotImplementedError, match="no inverse"):
        m.weight = pg.eye(3, dtype=pg.float64)


def test_a_singular_matrix_becomes_orthogonal_too():
    for shape in ((3, 3), (4, 2), (2, 4)):
        m = holding(shape)
        with pg.no_grad():
            m.weight[...] = 0.0
        parametrizations.orthogonal(m)
        assert_orthogonal(m.weight)


def test_unitary_matrices():
    rng = np.random.default_rng(0)
    for shape, chosen in (((3, 3), None), ((4, 2), "cayley"), ((2, 4), "matrix_exp")):
        m = nn.Module()
        m.weight = nn.Parameter(
            pg.tensor(rng.standard_normal(shape) + 1j * rng.standard_normal(shape))
        )
        parametrizations.orthogonal(m, orthogonal_map=chosen)
        with pg.no_grad():
            m.parametrizations.weight.original[...] += 0.3j
        assert_orthogonal(m.weight)
    with pytest.raises(DtypeError, match="real matrices"):
        parametrizations.orthogonal(m, orthogonal_map="householder")


def test_the_map_is_chosen_by_the_shape():
    def chosen(shape):
        return parametrizations.orthogonal(holding(shape)).parametrizations.weight[0]

    assert chosen((3, 3)).orthogonal_map == "matrix_exp"
    assert chosen((3, 2)).orthogonal_map == "householder"
    with pytest.raises(InvalidArgumentError, match="matrix_exp, cayley, householder"):
        parametrizations.orthogonal(square(), orthogonal_map="qr")
    with pytest.raises(ShapeError, match="no matrix"):
        parametrizations.orthogonal(square(), "bias")
