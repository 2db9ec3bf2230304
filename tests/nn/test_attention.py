"""Attention against loops written out, and what masks and the transformer promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad import nn
from polygrad.errors import DtypeError, InvalidArgumentError, ShapeError
from polygrad.testing import assert_close
from polygrad.testing.compare import host

attend = nn.functional.scaled_dot_product_attention
subsequent = nn.Transformer.generate_square_subsequent_mask
INF = math.inf


def double(*shape, seed=0, grad=False):
    return pg.tensor(np.random.default_rng(seed).standard_normal(shape), requires_grad=grad)


def attended(q, k, v, seen=None, bias=None, scale=None):
    """One head, query by query."""
    out = np.zeros((len(q), v.shape[1]))
    scale = 1 / math.sqrt(q.shape[1]) if scale is None else scale
    for i, query in enumerate(q):
        scores = {
            j: scale * sum(query * k[j]) + (0 if bias is None else bias[i, j])
            for j in range(len(k)) if seen is None or seen[i, j]
        }  # fmt: skip
        total = sum(math.exp(s) for s in scores.values())
        for j, s in scores.items():
            out[i] += math.exp(s) / total * v[j]
    return out


def single(shape, device):
    return double(*shape).to(pg.float32).to(device)


# ---- the function --------------------------------------------------------------------------------
@pytest.mark.parametrize("scale", [None, 0.3])
def test_attention_is_the_loops(scale):
    q, k, v = double(2, 3, 4, 5), double(2, 3, 6, 5, seed=1), double(2, 3, 6, 2, seed=2)
    seen = np.random.default_rng(3).random((2, 1, 4, 6)) < 0.6
    seen[0, 0, 1] = False
    bias = double(3, 4, 6, seed=4)
    for b in range(2):
        for h in range(3):
            parts = [host(t)[b, h] for t in (q, k, v)]
            whole = attend(q, k, v, scale=scale)[b, h]
            assert_close(whole, attended(*parts, scale=scale))
            hidden = attend(q, k, v, pg.tensor(seen), scale=scale)[b, h]
            assert_close(hidden, attended(*parts, seen=seen[b, 0], scale=scale))
            moved = attend(q, k, v, bias, scale=scale)[b, h]
            assert_close(moved, attended(*parts, bias=host(bias)[h], scale=scale))
            causal = attend(q, k, v, is_causal=True, scale=scale)[b, h]
            assert_close(causal, attended(*parts, seen=np.tri(4, 6), scale=scale))


def test_heads_that_share_keys_are_repeated_ones(device):
    q, k, v = (single((2, n, 3, 4), device) for n in (6, 2, 2))
    v = v + 1
    mask = pg.tensor(np.random.default_rng(1).random((6, 3, 3)) < 0.7, device=device)
    got = attend(q, k, v, mask, enable_gqa=True)
    want = attend(q, pg.repeat(k, 3, axis=1), pg.repeat(v, 3, axis=1), mask)
    assert_close(got, want)
    fewer = attend(q, k, v[:, :1], enable_gqa=True, is_causal=True)
    want = attend(q, pg.repeat(k, 3, axis=1), v[:, :1], is_causal=True)
    assert_close(fewer, want)


def test_nothing_of_what_is_later_is_seen():
    x = double(1, 5, 4, grad=True)
    y = attend(x, x, x, is_causal=True)
    for i in range(5):
        (g,) = pg.autograd.grad(pg.sum(y[0, i]), x, retain_graph=True)
        assert (host(g)[0, i + 1 :] == 0).all()
        assert (host(g)[0, : i + 1] != 0).any(axis=-1).all()
    assert_close(attend(x, x, x, subsequent(5, dtype=pg.float64)), y)
    mask = pg.tensor([True, False, True, True, True])
    both = attend(x, x, x, mask, is_causal=True)
    assert_close(both, attend(x, x, x, pg.tensor(np.tri(5).astype(bool)) & mask))


@pytest.mark.parametrize("boolean", [True, False])
def test_a_query_that_sees_nothing_gets_zeros_and_gives_none(boolean, device):
    leaves = [single((3, 2), device).requires_grad_() for _ in range(3)]
    seen = np.array([[True, True, False], [False] * 3, [True] * 3])
    mask = seen if boolean else np.where(seen, 0, -INF).astype(np.float32)
    y = attend(*leaves, pg.tensor(mask, device=device))
    assert (host(y)[1] == 0).all()
    gradients = pg.autograd.grad(pg.sum(y), leaves, create_graph=True)
    assert all(np.isfinite(host(g)).all() for g in gradients)
    assert (host(gradients[0])[1] == 0).all()
    second = pg.autograd.grad(sum(pg.sum(g * g) for g in gradients), leaves)
    assert all(np.isfinite(host(g)).all() for g in second)


@pytest.mark.parametrize("dtype", [pg.float16, pg.float32])
def test_large_scores_do_not_overflow(dtype):
    q = pg.tensor([[200.0, 0.0], [0.0, -200.0]], dtype=dtype)
    assert_close(attend(q, q, q), q)
    assert attend(q, q, q).dtype == dtype
    many = pg.ones((5000, 1), dtype=dtype)
    assert_close(attend(many[:1], many, many), many[:1])


def test_dropout_is_that_of_the_weights(device):
    q, k, v = (single((4, 6, 3), device) for _ in range(3))
    eye = pg.tensor(np.eye(6, dtype=np.float32), device=device)
    pg.manual_seed(3)
    dropped = attend(q, k, eye, dropout_p=0.5)
    weights = host(attend(q, k, eye))
    kept = host(dropped) != 0
    assert 0.3 < kept.mean() < 0.7
    assert_close(dropped, np.where(kept, 2 * weights, 0).astype(np.float32))
    pg.manual_seed(3)
    assert_close(attend(q, k, v, dropout_p=0.5), host(dropped) @ host(v))
    assert (host(attend(q, k, v, dropout_p=1.0)) == 0).all()


def test_derivatives_with_dropout():
    mask = double(3, 4, seed=5, grad=True)
    leaves = [double(2, 3, 2, grad=True), double(2, 4, 2, seed=1, grad=True),
              double(2, 4, 3, seed=2, grad=True), mask]  # fmt: skip

    def function(q, k, v, m):
        pg.manual_seed(1)
        return attend(q, k, v, m, dropout_p=0.4)

    assert pg.autograd.gradcheck(function, leaves)
    assert pg.autograd.gradgradcheck(function, leaves, atol=1e-4, fast_mode=True)


# ---- several heads -------------------------------------------------------------------------------
def test_multihead_attention_is_its_heads_side_by_side():
    layer = nn.MultiheadAttention(6, 3).double()
    nn.init.normal_(layer.in_proj_bias)
    query, key, value = double(4, 2, 6), double(5, 2, 6, seed=1), double(5, 2, 6, seed=2)
    output, weights = layer(query, key, value, average_attn_weights=False)
    w, b = host(layer.in_proj_weight), host(layer.in_proj_bias)
    for n in range(2):
        parts = [
            host(t)[:, n] @ w[6 * k : 6 * k + 6].T + b[6 * k : 6 * k + 6]
            for k, t in enumerate((query, key, value))
        ]
        heads = [[p[:, 2 * h : 2 * h + 2] for p in parts] for h in range(3)]
        joined = np.concatenate([attended(*head) for head in heads], axis=1)
        want = joined @ host(layer.out_proj.weight).T + host(layer.out_proj.bias)
        assert_close(output[:, n], want)
        for h, (q, k, _) in enumerate(heads):
            assert_close(weights[n, h], attended(q, k, np.eye(5)))
    mean = layer(query, key, value)[1]
    assert_close(mean, pg.mean(weights, axis=1))
    assert layer(query, key, value, need_weights=False)[1] is None


def test_one_tensor_is_projected_as_three_are(device):
    layer = nn.MultiheadAttention(4, 2, batch_first=True).to(device)
    x = single((2, 3, 4), device).requires_grad_()
    together, apart = layer(x, x, x)[0], layer(x, x * 1, x * 1)[0]
    assert_close(together, apart)
    leaves = [x, layer.in_proj_weight, layer.in_proj_bias]
    pairs = zip(*(pg.autograd.grad(pg.sum(y * y), leaves) for y in (together, apart)), strict=True)
    for a, b in pairs:
        assert_close(a, b)


def test_layouts_of_batches():
    layer = nn.MultiheadAttention(4, 2, kdim=3, vdim=2).double()
    q, k, v = double(3, 2, 4), double(5, 2, 3), double(5, 2, 2)
    output, weights = layer(q, k, v)
    layer.batch_first = True
    turned = [pg.permute_dims(t, (1, 0, 2)) for t in (q, k, v)]
    assert_close(pg.permute_dims(layer(*turned)[0], (1, 0, 2)), output)
    alone, own = layer(q[:, 1], k[:, 1], v[:, 1])
    assert_close(alone, output[:, 1])
    assert_close(own, weights[1])


@pytest.mark.parametrize("boolean", [True, False])
@pytest.mark.parametrize("extra", [False, True])
def test_padding_is_as_good_as_absent(boolean, extra):
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=extra, add_zero_attn=extra).double()
    q, k = double(3, 2, 4), double(5, 2, 4, seed=1)
    hidden = np.array([[False] * 3 + [True] * 2, [False] * 5])
    mask = pg.tensor(hidden if boolean else np.where(hidden, -INF, 0.0))
    output, weights = layer(q, k, k, key_padding_mask=mask)
    assert_close(output[:, 0], layer(q[:, 0], k[:3, 0], k[:3, 0])[0])
    assert_close(output[:, 1], layer(q[:, 1], k[:, 1], k[:, 1])[0])
    assert (host(weights)[0, :, 3:5] == 0).all()
    assert weights.shape == (2, 3, 5 + 2 * extra)
    assert_close(pg.sum(weights, axis=-1), np.ones((2, 3)))


def test_masks_of_heads_and_of_all_add_up():
    layer = nn.MultiheadAttention(4, 2).double()
    x = double(3, 2, 4)
    rng = np.random.default_rng(1)
    hidden, padding = rng.random((4, 3, 3)) < 0.3, rng.random((2, 3)) < 0.3
    hidden[..., 0] = padding[:, 0] = False
    want = np.where(hidden.reshape(2, 2, 3, 3) | padding[:, None, None], -INF, 0.0)
    full = pg.tensor(want.reshape(4, 3, 3))
    output, weights = layer(x, x, x, attn_mask=full, average_attn_weights=False)
    assert ((host(weights) == 0) == (want < 0)).all()
    for first, second in ((hidden, padding), (np.where(hidden, -INF, 0.0), padding)):
        got = layer(x, x, x, attn_mask=pg.tensor(first), key_padding_mask=pg.tensor(second))[0]
        assert_close(got, output)


def test_a_zero_key_takes_its_share():
    layer = nn.MultiheadAttention(2, 1, bias=False, add_zero_attn=True).double()
    nn.init.eye_(layer.out_proj.weight)
    with pg.no_grad():
        layer.in_proj_weight[:4] = 0.0  # every score is 0
        layer.in_proj_weight[4:] = pg.eye(2)
    x = double(3, 1, 2)
    output, weights = layer(x, x, x)
    assert_close(weights, np.full((1, 3, 4), 0.25))
    assert_close(output, np.broadcast_to(host(x).sum(axis=0) / 4, (3, 1, 2)))


def test_weights_have_gradients_and_dropout():
    layer = nn.MultiheadAttention(4, 2, dropout=0.5).double()
    x = double(6, 2, 4, grad=True)
    weights = layer.eval()(x, x, x)[1]
    assert pg.autograd.gradcheck(lambda t: layer(t, t, t)[1], [x], fast_mode=True)
    pg.manual_seed(0)
    dropped = layer.train()(x, x, x, average_attn_weights=False)[1]
    assert 0.3 < (host(dropped) == 0).mean() < 0.7
    assert abs(host(pg.mean(dropped)) / host(pg.mean(weights)) - 1) < 0.3


def test_initial_values_of_attention():
    layer = nn.MultiheadAttention(64, 4, add_bias_kv=True)
    bound = math.sqrt(6 / (64 + 3 * 64))
    values = np.abs(host(layer.in_proj_weight))
    assert 0.95 * bound < values.max() <= bound
    assert not host(layer.in_proj_bias).any()
    assert not host(layer.out_proj.bias).any()
    assert list(layer.state_dict()) == [
        "in_proj_weight", "in_proj_bias", "bias_k", "bias_v", "out_proj.weight", "out_proj.bias",
    ]  # fmt: skip
    other = nn.MultiheadAttention(4, 2, kdim=3, bias=False)
    assert list(other.state_dict()) == [
        "q_proj_weight", "k_proj_weight", "v_proj_weight", "out_proj.weight",
    ]  # fmt: skip
    assert repr(other).startswith("MultiheadAttention(\n  4, 2, kdim=3\n")


# ---- transformers --------------------------------------------------------------------------------
def normalised(x, norm):
    d = x - x.mean(axis=-1, keepdims=True)
    h = d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + norm.eps)
    return h * host(norm.weight) + host(norm.bias)


@pytest.mark.parametrize("norm_first", [False, True])
def test_an_encoder_layer_is_its_formula(norm_first):
    layer = nn.TransformerEncoderLayer(4, 2, 5, 0.0, pg.tanh, 0.1, norm_first=norm_first).double()
    x = double(3, 2, 4)

    def attention(t):
        t = pg.tensor(t)
        return host(layer.self_attn(t, t, t)[0])

    def forward(t):
        inner = np.tanh(t @ host(layer.linear1.weight).T + host(layer.linear1.bias))
        return inner @ host(layer.linear2.weight).T + host(layer.linear2.bias)

    want = host(x)
    for norm, part in ((layer.norm1, attention), (layer.norm2, forward)):
        if norm_first:
            want = want + part(normalised(want, norm))
        else:
            want = normalised(want + part(want), norm)
    assert_close(layer(x), want)


def test_a_decoder_writes_the_same_whatever_comes_later():
    model = nn.Transformer(4, 2, 1, 2, 6, 0.0).double().eval()
    source, target = double(3, 1, 4), double(5, 1, 4, seed=1)
    whole = model(source, target, tgt_mask=subsequent(5), tgt_is_causal=True)
    for n in (1, 3):
        part = model(source, target[:n], tgt_mask=subsequent(n))
        assert_close(part, whole[:n])
    order = [2, 0, 1]  # nothing says where a source element stands
    assert_close(model(source[order], target, tgt_mask=subsequent(5)), whole)


def test_padded_sources_change_nothing():
    model = nn.Transformer(4, 2, 1, 1, 6, 0.0, batch_first=True).double()
    source, target = double(1, 3, 4), double(1, 2, 4, seed=1)
    padded = pg.concat([source, double(1, 2, 4, seed=2)], axis=1)
    mask = pg.tensor([[False] * 3 + [True] * 2])
    got = model(padded, target, src_key_padding_mask=mask, memory_key_padding_mask=mask)
    assert_close(got, model(source, target))


def test_stacks_copy_their_layer():
    layer = nn.TransformerEncoderLayer(4, 2, 5)
    stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4), enable_nested_tensor=False).eval()
    first, second = stack.layers
    assert first.linear1.weight is not second.linear1.weight
    assert_close(first.linear1.weight, layer.linear1.weight)
    x = single((3, 2, 4), "cpu")
    assert_close(stack(x), stack.norm(second(first(x))))
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 5), 2).eval()
    first, second = decoder.layers
    assert_close(decoder(x, x), second(first(x, x), x))
    again = nn.Transformer(4, 2, custom_encoder=stack, custom_decoder=decoder)
    assert again.encoder is stack
    names = list(again.state_dict())
    assert "encoder.layers.1.self_attn.in_proj_weight" in names
    assert "decoder.layers.0.multihead_attn.out_proj.bias" in names


X = pg.ones((3, 2, 4))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: attend(X, X[..., :2], X), ShapeError, r"\(..., keys, n\)"),
        (lambda: attend(X[0, 0], X, X), ShapeError, r"\(..., queries, n\)"),
        (lambda: attend(X[:2], X, X), ShapeError, "leading axes"),
        (lambda: attend(X, X, X, pg.ones((2, 3))), ShapeError, "it broadcasts to"),
        (lambda: attend(X, X, X, pg.ones((2, 2), dtype=pg.int64)), DtypeError, "boolean mask"),
        (lambda: attend(X, X, X, dropout_p=2), InvalidArgumentError, "probability"),
        (lambda: attend(X, X[:2], X[:2], enable_gqa=True), ShapeError, "multiple of those"),
        (lambda: attend(X[0], X[0], X[0], enable_gqa=True), ShapeError, "heads, queries"),
        (lambda: nn.MultiheadAttention(4, 3), InvalidArgumentError, "multiple of num_heads"),
        (lambda: nn.MultiheadAttention(4, 2, -1), InvalidArgumentError, "probability"),
        (lambda: nn.MultiheadAttention(4, 2)(X, X, X[:2]), ShapeError, "as many as values"),
        (lambda: nn.MultiheadAttention(4, 2)(X, X[:, :1], X[:, :1]), ShapeError, "of one batch"),
        (lambda: nn.MultiheadAttention(4, 2)(X, X, X[0]), ShapeError, "as many as values"),
        (lambda: nn.MultiheadAttention(4, 2, kdim=3)(X, X, X), ShapeError, r"\(4, 3, 4\)"),
        (lambda: nn.MultiheadAttention(4, 2)(X, X, X, is_causal=True), InvalidArgumentError,
         "no attn_mask"),
        (lambda: nn.MultiheadAttention(4, 2)(X, X, X, pg.zeros((3, 3))), ShapeError,
         r"it is \(2, 3\)"),
        (lambda: nn.MultiheadAttention(4, 2)(X, X, X, attn_mask=pg.zeros((2, 3))), ShapeError,
         r"\(3, 3\) or \(4, 3, 3\)"),
        (lambda: nn.TransformerEncoderLayer(4, 2, activation="sin"), InvalidArgumentError, "gelu"),
        (lambda: nn.Transformer(4, 2, 1, 1, 4)(X, X[:, :1]), ShapeError, "of one batch"),
        (lambda: nn.Transformer(4, 2, 1, 1, 4)(X, X[..., :2]), ShapeError, "time, batch, 4"),
    ],
)  # fmt: skip
def test_errors_say_what_where_and_what_to_do(call, error, words):
    with pytest.raises(error, match=words):
        call()
