"""Damage to gradients of the first and the second order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.tensor import Tensor, on_host
from polygrad.tree import leaves, tree_map
from polygrad_conformance.faults.device import FAULTY
from polygrad_conformance.faults.planting import Function, damaged, touch


class _Scaled(pg.autograd.Function):
    """The identity, whose gradient has a factor and a term too many."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float, term: float) -> Tensor:
        ctx.factor, ctx.term = factor, term
        return x.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        if ctx.term or np.any(on_host(g)):
            touch()
        return g * ctx.factor + ctx.term, None, None


class _ScaledTwice(pg.autograd.Function):
    """The identity, whose gradient is right the first time; the second pass has a factor too many.

    The second pass over one node is that of the derivative of the gradient.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor, ctx.again = factor, False
        return x.detach()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Any, ...]:
        if not ctx.again:
            ctx.again = True
            return g, None
        if np.any(on_host(g)):
            touch()
        return g * ctx.factor, None


def _on_arguments(change: Callable[[Tensor], Tensor]) -> Callable[[Function], Function]:
    def of(x: Any) -> Any:
        tracked = isinstance(x, Tensor) and x.device == FAULTY and x.requires_grad
        return change(x) if tracked else x

    def damage(function: Function) -> Function:
        @functools.wraps(function)
        def faulty(*args: Any, **kwargs: Any) -> Any:
            return function(*tree_map(of, args), **tree_map(of, kwargs))

        return faulty

    return damage


def scaled(factor: float, term: float = 0.0) -> Callable[[Function], Function]:
    """The gradient of every argument has a factor, or a term, too many."""
    return _on_arguments(lambda x: _Scaled.apply(x, factor, term))


def scaled_in_second_order(factor: float) -> Callable[[Function], Function]:
    """The gradient is right, and its derivative has a factor too many."""
    return _on_arguments(lambda x: _ScaledTwice.apply(x, factor))


def leaking(order: int) -> Callable[[Function], Function]:
    """To each result is added what is zero, but has a derivative by an argument."""

    def change(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tracked = [x for x in leaves((args, kwargs)) if isinstance(x, Tensor) and x.requires_grad]
        if not tracked or tracked[0].device != FAULTY or not tracked[0].size:
            return out
        x = tracked[0]
        leak = pg.sum((x - x.detach()) ** order)

        def of(y: Any) -> Any:
            if not isinstance(y, Tensor) or y.device != FAULTY or not y.kernels.inexact:
                return y
            touch()
            same = pg.real(leak) if leak.kernels.is_complex > y.kernels.is_complex else leak
            return y + pg.astype(same, y.dtype)

        return tree_map(of, out)

    return lambda function: damaged(function, change)


def of_cotangents(function: Function) -> Function:
    """What flows back has a factor, whichever way it goes on."""

    def change(out: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def of(y: Any) -> Any:
            tracked = isinstance(y, Tensor) and y.device == FAULTY and y.requires_grad
            return _Scaled.apply(y, 1.01, 0.0) if tracked else y

        return tree_map(of, out)

    return damaged(function, change)
