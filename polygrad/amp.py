"""Training in mixed precision: `autocast` chooses dtypes, `GradScaler` keeps gradients in range.

>>> import polygrad as pg
>>> model = pg.nn.Linear(4, 2)
>>> with pg.amp.autocast(dtype=pg.float16):
...     out = model(pg.ones((3, 4)))
>>> out.dtype, model.weight.dtype
(dtype('float16'), dtype('float32'))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Self, TypeVar

from polygrad import dtypes
from polygrad.casting import ACTIVE, Policy, policy
from polygrad.config import no_grad, run_inside
from polygrad.errors import DtypeError, GradientError, InvalidArgumentError, InvalidTypeError
from polygrad.ops.comparison import isfinite, logical_not
from polygrad.ops.creation import tensor
from polygrad.ops.utility import any as any_of
from polygrad.registry import find_device, kernels_for
from polygrad.tensor import Tensor
from polygrad.tree import tree_map

__all__ = ["GradScaler", "autocast"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Names of PyTorch that are called otherwise: the error says how."""
        from polygrad.hints import missing  # noqa: PLC0415  for a mistake only

        raise missing(__name__, name)


Decorated = TypeVar("Decorated", bound=Callable[..., Any])
_LEAST = 2.0**-126  # of the scale: float32's least normal number
# The policies that the open contexts of a thread replaced: not in the objects, which threads share.
_before: ContextVar[tuple[Policy | None, ...]] = ContextVar("polygrad.autocast_before", default=())


class autocast:  # noqa: N801  PyTorch's name
    """Products of matrices in low precision, delicate functions in float32, inside the context.

    `polygrad.casting` lists both. Operands are cast for the operation alone: parameters keep their
    dtype, and so do their gradients. float64, complex and integer tensors are left as they are. It
    belongs around the forward and the loss; the backward computes in the dtypes of the forward.

    Parameters
    ----------
    device
        Operations on devices of its kind are concerned, whether `"cuda"` or `"cuda:0"` is named.
        The default device, if not given.
    dtype
        float16, the default, or bfloat16.
    enabled
        False: nothing is cast inside, not even within another `autocast`.

    Raises
    ------
    DtypeError
        `dtype` is no low precision, or the device does not have it.
    """

    def __init__(self, device: Any = None, dtype: Any = None, *, enabled: bool = True) -> None:
        self.device = find_device(device)
        self.enabled = bool(enabled)
        self.dtype = _low_precision(self.device, dtype) if enabled else None

    def __enter__(self) -> Self:
        """Cast from here on, in this thread."""
        _before.set((*_before.get(), policy.get()))
        policy.set(None if self.dtype is None else Policy(self.device.kind, self.dtype))
        ACTIVE.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        """Back to what was in force at the matching `__enter__`."""
        *earlier, last = _before.get()
        policy.set(last)  # first: an interrupt after it does no harm
        _before.set(tuple(earlier))
        ACTIVE.remove(self)

    def __call__(self, function: Decorated) -> Decorated:
        """Run `function` inside; the steps of a generator or coroutine, not what is between."""
        return run_inside(function, lambda: self)


def _low_precision(device: Any, dtype: Any) -> dtypes.Dtype:
    where = "amp.autocast, argument dtype"
    wanted = dtypes.float16 if dtype is None else dtypes.canonical(dtype)
    if dtypes.kind_of(wanted) != dtypes.REAL or wanted.itemsize != 2:
        raise DtypeError(f"{wanted} is no low precision", where, "pass pg.float16 or pg.bfloat16")
    kernels_for(device, wanted, where)
    return wanted


class GradScaler:
    """Scales the loss, so that small gradients survive in float16, and the gradients back.

    A step whose gradients are not finite is left out and the scale lowered; after `growth_interval`
    steps without one the scale is raised. bfloat16 has float32's range and needs no scaler.

    Parameters
    ----------
    init_scale
        The factor to begin with.
    growth_factor, backoff_factor
        What the scale is multiplied by: above 1, and below.
    growth_interval
        Finite steps in a row before the scale grows.
    enabled
        False: `scale` and `unscale_` do nothing, `step` only steps.

    Examples
    --------
    >>> import polygrad as pg
    >>> model = pg.nn.Linear(2, 1)
    >>> optimizer = pg.optim.SGD(model.parameters(), lr=0.1)
    >>> scaler = pg.amp.GradScaler(init_scale=1024.0)
    >>> with pg.amp.autocast(dtype=pg.float16):
    ...     loss = pg.nn.functional.mse_loss(model(pg.ones((4, 2))), pg.zeros((4, 1)))
    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> scaler.get_scale()
    1024.0
    """

    def __init__(
        self,
        *,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._enabled = bool(enabled)
        self._scale, self._growth, self._backoff, self._interval = 1.0, 2.0, 0.5, 2000
        self._steps_in_range = 0
        # Of each optimiser since the last update: whether its gradients are finite; has it stepped?
        self._finite: dict[Any, bool] = {}
        self._stepped: set[Any] = set()
        self._set(
            {
                "scale": init_scale, "growth_factor": growth_factor, "growth_tracker": 0,
                "backoff_factor": backoff_factor, "growth_interval": growth_interval,
            }
        )  # fmt: skip

    def _set(self, state: Mapping[str, Any]) -> None:
        """Take options, all or none."""
        where = "amp.GradScaler, argument "
        for name, value in state.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise InvalidTypeError(
                    f"{name} is a number, not {value!r}", where + name, "pass a float"
                )
        counts = {name: state[name] for name in ("growth_interval", "growth_tracker")}
        for name, value in counts.items():
            if isinstance(value, float) and not value.is_integer():
                raise InvalidArgumentError(f"{name} is {value}", where + name, "pass an int")
        scale, growth, backoff = (state[n] for n in ("scale", "growth_factor", "backoff_factor"))
        for name, value, right, advice in (
            ("scale", scale, _LEAST <= scale <= 1 / _LEAST,
             "it must lie between 2**-126 and 2**126: float32 holds it and its inverse"),
            ("growth_factor", growth, 1 < growth < float("inf"), "it must be above 1, and finite"),
            ("backoff_factor", backoff, 0 < backoff < 1, "it must lie between 0 and 1"),
            ("growth_interval", counts["growth_interval"], counts["growth_interval"] >= 1,
             "it must be at least 1"),
            ("growth_tracker", counts["growth_tracker"], counts["growth_tracker"] >= 0,
             "it must be at least 0"),
        ):  # fmt: skip
            if not right:
                raise InvalidArgumentError(f"{name} is {value}", where + name, advice)
        self._scale, self._growth, self._backoff = float(scale), growth, float(backoff)
        self._interval, self._steps_in_range = map(int, counts.values())

    # ---- a step -----------------------------------------------------------------------------
    def scale(self, outputs: Any) -> Any:
        """Losses times the scale, in the structure in which they are given.

        Raises
        ------
        InvalidTypeError
            A leaf is no Tensor.
        """
        if not self._enabled:
            return outputs
        return tree_map(self._scaled, outputs)

    def _scaled(self, x: Any) -> Tensor:
        if not isinstance(x, Tensor):
            raise InvalidTypeError(
                f"a loss is a Tensor, not {type(x).__name__}", "GradScaler.scale, argument outputs",
                "pass a Tensor, or a list, tuple or dictionary of them",
            )  # fmt: skip
        # A float32 tensor: the usual scale is beyond float16's range.
        return x * tensor(self._scale, dtype=dtypes.float32, device=x.device)

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, in place.

        They are also looked at for infinity and NaN. `step` does this if it was not done: call it
        to clip gradients in between.

        Raises
        ------
        GradientError
            It was called since the last `update` already, or after `step`.
        InvalidTypeError
            It is no optimiser.
        DtypeError
            A gradient is itself in low precision: keep parameters in float32.
        """
        if not self._enabled:
            return
        if optimizer in self._finite:
            done = "stepped" if optimizer in self._stepped else "been unscaled"
            raise GradientError(
                f"this optimizer has {done} since the last update()", "GradScaler.unscale_",
                "call unscale_ once, before step, and update() at the end",
            )  # fmt: skip
        gradients = _gradients(optimizer, "GradScaler.unscale_")
        for g in gradients:
            if g.dtype.itemsize == 2:
                raise DtypeError(
                    f"a gradient is in {g.dtype}", "GradScaler.unscale_",
                    "keep parameters in float32 and compute in low precision with pg.amp.autocast",
                )  # fmt: skip
        self._finite[optimizer] = False  # if it fails half-way there is no step with what is left
        with no_grad():
            for g in gradients:
                g *= 1.0 / self._scale  # noqa: PLW2901  in place
            self._finite[optimizer] = _all_finite(gradients)

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Step, unless a gradient is infinite or NaN; what the optimiser's step returns, or None.

        Raises
        ------
        GradientError
            It has stepped since the last `update`.
        InvalidArgumentError
            A closure: the scale cannot change within a step.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if args or kwargs.get("closure") is not None:
            raise InvalidArgumentError(
                "GradScaler cannot step with a closure", "GradScaler.step, argument closure",
                "compute loss and gradients before step",
            )  # fmt: skip
        if optimizer in self._stepped:
            raise GradientError(
                "this optimizer has stepped since the last update()", "GradScaler.step",
                "call update() once after the steps of an iteration",
            )  # fmt: skip
        if optimizer not in self._finite:
            self.unscale_(optimizer)
        self._stepped.add(optimizer)
        return optimizer.step(**kwargs) if self._finite[optimizer] else None

    def update(self, new_scale: float | None = None) -> None:
        """Adapt the scale to what the steps since the last update met, or set it.

        Raises
        ------
        GradientError
            There was no step, nor `unscale_`; or gradients are not finite at the least scale.
        """
        if not self._enabled:
            return
        state = self.state_dict()
        if new_scale is not None:
            state["scale"] = new_scale
        elif not self._finite:
            raise GradientError(
                "no gradient was looked at since the last update()", "GradScaler.update",
                "call step(optimizer) first",
            )  # fmt: skip
        elif not all(self._finite.values()):
            state.update(scale=self._scale * self._backoff, growth_tracker=0)
            if state["scale"] < _LEAST:
                raise GradientError(
                    f"the gradients are infinite or NaN even with a scale of {self._scale}",
                    "GradScaler.update", "look for what makes them so, without a scaler, with "
                    "pg.autograd.detect_anomaly()",
                )  # fmt: skip
        elif self._steps_in_range + 1 >= self._interval:
            grown = self._scale * self._growth
            state.update(scale=grown if grown <= 1 / _LEAST else self._scale, growth_tracker=0)
        else:
            state["growth_tracker"] = self._steps_in_range + 1
        self._set(state)
        self._finite.clear()
        self._stepped.clear()

    # ---- state ------------------------------------------------------------------------------
    def get_scale(self) -> float:
        """The scale; 1.0 if not enabled."""
        return self._scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The scale and all options; empty if not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale, "growth_factor": self._growth, "backoff_factor": self._backoff,
            "growth_interval": self._interval, "growth_tracker": self._steps_in_range,
        }  # fmt: skip

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`.

        Raises
        ------
        InvalidArgumentError, InvalidTypeError
            It is not the state of an enabled scaler; nothing was changed.
        """
        if not self._enabled:
            return
        if not isinstance(state_dict, Mapping):
            raise InvalidTypeError(
                f"a state_dict is a dictionary, not {type(state_dict).__name__}",
                "GradScaler.load_state_dict, argument state_dict",
                "pass the state_dict() of an enabled GradScaler",
            )
        missing = sorted(map(str, set(self.state_dict()) ^ set(state_dict)))
        if missing:
            raise InvalidArgumentError(
                f"missing or unknown entries: {', '.join(missing)}",
                "GradScaler.load_state_dict, argument state_dict",
                "pass the state_dict() of an enabled GradScaler",
            )
        self._set(state_dict)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: not in the middle of an iteration."""
        if self._finite:
            raise GradientError(
                "gradients were unscaled, and update() has not been called since",
                "pickle or copy of a GradScaler", "call update() first",
            )  # fmt: skip
        return self.__dict__


def _gradients(optimizer: Any, where: str) -> list[Tensor]:
    """The gradients of an optimiser's parameters, those that there are."""
    if not isinstance(getattr(optimizer, "param_groups", None), list):
        raise InvalidTypeError(
            f"a {type(optimizer).__name__} is no optimizer", f"{where}, argument optimizer",
            "pass an instance of pg.optim.Optimizer",
        )  # fmt: skip
    parameters = (p for group in optimizer.param_groups for p in group["params"])
    return [p.grad for p in parameters if p.grad is not None]


def _all_finite(gradients: Iterable[Tensor]) -> bool:
    """Whether all elements are finite: one read for each device."""
    flags: dict[Any, Tensor] = {}
    for g in gradients:
        bad = any_of(logical_not(isfinite(g)))
        flags[g.device] = flags[g.device] | bad if g.device in flags else bad
    return not any(bool(flag) for flag in flags.values())
