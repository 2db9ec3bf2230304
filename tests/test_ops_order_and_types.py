"""Searching, sorting, set and data type functions by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polygrad as pg
from polygrad.errors import DtypeError, InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.testing import assert_close
from polygrad.testing.compare import host

NAN = math.nan


# ---- sorting ------------------------------------------------------------------------------------
def test_sorting_is_stable_in_both_directions(device):
    x = pg.tensor([2, 1, 2, 1, 3], device=device)
    assert host(pg.argsort(x)).tolist() == [1, 3, 0, 2, 4]
    assert host(pg.argsort(x, descending=True)).tolist() == [4, 0, 2, 1, 3]
    assert host(pg.sort(x, descending=True)).tolist() == [3, 2, 2, 1, 1]
    b = pg.tensor([True, False, True], device=device)
    assert host(pg.sort(b)).tolist() == [False, True, True]
    assert pg.sort(b).dtype == pg.bool
    assert host(pg.argsort(b, descending=True)).tolist() == [0, 2, 1]


@pytest.mark.parametrize("descending", [False, True])
def test_the_gradient_of_sort_goes_back_to_its_place(descending, device):
    x = np.array([[2.0, 1.0, 2.0, 1.0], [0.0, 3.0, -1.0, 5.0]], "f4")
    w = np.array([[1.0, 10, 100, 1000], [1, 10, 100, 1000]], "f4")
    t = pg.tensor(x, device=device, requires_grad=True)
    pg.sum(pg.sort(t, axis=1, descending=descending) * pg.tensor(w, device=device)).backward()
    order = np.argsort(-x if descending else x, axis=1, kind="stable")
    want = np.zeros_like(w)
    np.put_along_axis(want, order, w, 1)
    assert_close(t.grad, want)


def test_errors_of_sorting():
    with pytest.raises(ShapeError, match=r"0-d.*sort"):
        pg.sort(pg.tensor(1.0))
    with pytest.raises(DtypeError, match=r"no order.*argsort.*pg\.abs"):
        pg.argsort(pg.ones(2, dtype=pg.complex64))


# ---- searching ----------------------------------------------------------------------------------
def test_where_with_one_argument_numbers_and_errors(device):
    x = pg.tensor([0.0, 2.0, 3.0], device=device, requires_grad=True)
    (i,) = pg.where(x)
    assert host(i).tolist() == [1, 2]
    y = pg.where(x, x, 7)
    assert host(y).tolist() == [7, 2, 3]
    assert pg.where(x > 1, 1, 0.5).dtype == pg.float32
    with pytest.raises(InvalidArgumentError, match=r"x1 and x2 is missing.*where"):
        pg.where(x > 0, x)
    with pytest.raises(ShapeError, match="where"):
        pg.where(x > 0, x, pg.ones(2, device=device))


def test_extrema_and_zeros(device):
    x = pg.tensor([[1, 5, 5], [7, 2, 0]], device=device)
    assert host(pg.argmax(x, axis=1)).tolist() == [1, 0]
    assert host(pg.argmin(x)).item() == 5
    assert host(x.argmax(axis=0, keepdims=True)).tolist() == [[1, 0, 0]]
    assert host(pg.count_nonzero(x, axis=0)).tolist() == [2, 2, 1]
    assert host(pg.count_nonzero(x > 1)).item() == 4
    assert [host(i).tolist() for i in pg.nonzero(x > 4)] == [[0, 0, 1], [1, 2, 0]]
    with pytest.raises(InvalidArgumentError, match=r"argmax of no elements.*one"):
        pg.argmax(pg.zeros(0, device=device))
    with pytest.raises(ShapeError, match=r"0-d.*nonzero.*bool"):
        pg.nonzero(pg.tensor(1, device=device))
    with pytest.raises(DtypeError, match="argmin"):
        pg.argmin(pg.ones(2, dtype=pg.complex64, device=device))


def test_searchsorted(device):
    x = pg.tensor([1.0, 3.0, 3.0, 5.0], device=device)
    assert host(pg.searchsorted(x, 3.0)).item() == 1
    behind = pg.searchsorted(x, pg.tensor([3.0, 9.0], device=device), side="right")
    assert host(behind).tolist() == [3, 4]
    y = pg.tensor([5.0, 1.0, 3.0], device=device)
    sorter = pg.argsort(y)
    assert host(pg.searchsorted(y, pg.tensor([4], device=device), sorter=sorter)).tolist() == [2]
    with pytest.raises(ShapeError, match=r"2 axes.*searchsorted.*1-d"):
        pg.searchsorted(pg.zeros((1, 1), device=device), x)
    with pytest.raises(InvalidArgumentError, match=r"no side 'middle'.*argument side"):
        pg.searchsorted(x, x, side="middle")
    with pytest.raises(DtypeError, match=r"integers.*argument sorter"):
        pg.searchsorted(x, x, sorter=x)


# ---- sets ---------------------------------------------------------------------------------------
def test_the_gradient_of_a_unique_value_goes_to_its_first_occurrence(device):
    x = pg.tensor([[3.0, 1.0], [3.0, 1.0]], device=device, requires_grad=True)
    found = pg.unique_all(x)
    assert host(found.values).tolist() == [1, 3]
    assert host(found.counts).tolist() == [2, 2]
    assert found.inverse_indices.shape == (2, 2)
    assert_close(found.values[found.inverse_indices], host(x))
    pg.sum(found.values * pg.tensor([10.0, 20.0], device=device)).backward()
    assert host(x.grad).tolist() == [[20, 10], [0, 0]]
    assert host(pg.unique_values(pg.tensor([2, 2], device=device))).tolist() == [2]
    assert host(pg.unique_counts(pg.tensor([2, 2], device=device)).counts).tolist() == [2]


def test_isin(device):
    x = pg.tensor([[1.0, NAN], [3.0, 4.0]], device=device)
    y = pg.tensor([3.0, NAN, 1.0], device=device)
    assert host(pg.isin(x, y)).tolist() == [[True, False], [True, False]]
    assert host(pg.isin(x, y, invert=True)).tolist() == [[False, True], [False, True]]
    assert not host(pg.isin(x, pg.zeros(0, device=device))).any()
    z = pg.tensor([1j, 2], device=device)
    assert host(pg.isin(z, 1j)).tolist() == [True, False]
    assert host(pg.isin(pg.tensor([1, 2], device=device), 2)).tolist() == [False, True]


# ---- data types ---------------------------------------------------------------------------------
def test_astype(device):
    x = pg.tensor([1.5, -2.5], device=device, requires_grad=True)
    assert host(pg.astype(x, pg.int32)).tolist() == [1, -2]
    assert pg.astype(x, pg.float32, copy=False) is x
    assert pg.astype(x, pg.float32) is not x
    z = x.astype(pg.complex64)
    z.backward(pg.full(2, 3 + 4j, dtype=pg.complex64, device=device))
    assert host(x.grad).tolist() == [3, 3]
    with pytest.raises(DtypeError, match=r"complex.*float32.*pg\.real"):
        pg.astype(z, pg.float32)
    with pytest.raises(DtypeError, match="is not a dtype"):
        pg.astype(x, "float33")


def test_can_cast_is_promotion():
    assert pg.can_cast(pg.bool, pg.int8)
    assert pg.can_cast(pg.int64, pg.float32)
    assert pg.can_cast(pg.tensor([1], dtype=pg.int8), "int16")
    for low, high in ((pg.float64, pg.float32), (pg.complex64, pg.float64), (pg.uint64, pg.int64),
                      (pg.int8, pg.uint8), (pg.float64, pg.complex64)):  # fmt: skip
        assert not pg.can_cast(low, high)


def test_result_type():
    f, i = pg.tensor([1.0]), pg.tensor([1], dtype=pg.int8)
    assert pg.result_type(f, pg.int64) == pg.float32
    assert pg.result_type(i, 3) == pg.int8
    assert pg.result_type(i, 0.5) == pg.float32
    assert pg.result_type(f, 1j) == pg.complex64
    assert pg.result_type(np.float64(1), f) == pg.float64
    assert pg.result_type(True, i) == pg.int8
    for numbers, want in (
        ((True,), pg.bool), ((True, 3), pg.int64), ((1, 2.0), pg.float32),
        ((2.0, 1j), pg.complex64),
    ):  # fmt: skip
        assert pg.result_type(*numbers) == want
    with pytest.raises(InvalidTypeError, match="no arguments"):
        pg.result_type()
    with pytest.raises(DtypeError, match="no integer dtype holds both"):
        pg.result_type(pg.uint64, pg.int8)


def test_limits():
    assert pg.finfo(pg.complex128).eps == np.finfo("f8").eps
    assert pg.finfo(pg.tensor([1.0])).bits == 32
    assert type(pg.finfo(pg.float16).max) is float
    assert pg.finfo(pg.float32).dtype == pg.float32
    assert pg.iinfo(pg.uint64).max == 2**64 - 1
    with pytest.raises(DtypeError, match=r"int32 is not floating.*iinfo"):
        pg.finfo(pg.int32)
    with pytest.raises(DtypeError, match=r"float32 is no integer dtype.*finfo"):
        pg.iinfo(pg.float32)


def test_the_limits_of_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-29)")
    got, want = pg.finfo(pg.bfloat16), ml_dtypes.finfo(ml_dtypes.bfloat16)
    assert (got.bits, got.eps, got.max, got.smallest_normal) == (
        16, float(want.eps), float(want.max), float(want.smallest_normal),
    )  # fmt: skip


def test_kinds_of_dtypes():
    assert pg.isdtype(pg.float32, "real floating")
    assert pg.isdtype(pg.uint8, ("bool", "unsigned integer"))
    assert pg.isdtype(pg.int8, pg.int8)
    assert pg.isdtype(pg.complex64, "numeric")
    assert not pg.isdtype(pg.bool, "numeric")
    assert not pg.isdtype(pg.bool, ())
    with pytest.raises(InvalidArgumentError, match=r"no kind 'float'.*argument kind.*numeric"):
        pg.isdtype(pg.float32, "float")


def test_numbers_beside_bfloat16_are_weak():
    pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes (2026-11-29)")
    x = pg.ones(3, dtype=pg.bfloat16).requires_grad_()
    for y in (x * 0.3, 2 - x, x**2.0, pg.maximum(x, 1.0), x / 3):
        assert y.dtype == pg.bfloat16
    pg.sum(x * 0.3).backward()
    assert x.grad.dtype == pg.bfloat16
