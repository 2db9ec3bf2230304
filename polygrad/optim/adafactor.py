"""Adafactor: Adam's second moment from its means by row and by column."""

from __future__ import annotations

from typing import ClassVar

from polygrad.errors import InvalidArgumentError
from polygrad.optim.algorithms import Parameters
from polygrad.optim.arguments import at_least, numbers_of, only_real
from polygrad.optim.optimizer import Group, Optimizer

__all__ = ["Adafactor"]

Shape = tuple[int, ...]


class Adafactor(Optimizer):
    """Adafactor: a matrix of n rows and m columns keeps n + m numbers of state.

    Parameters
    ----------
    params
        As for `Optimizer`; real.
    lr
        The largest step, relative to the root mean square of the parameter; also the factor of
        `weight_decay`. At step t it is at most `1 / sqrt(t)`.
    beta2_decay
        The means keep the share `1 - t ** beta2_decay`.
    eps
        The least root of a mean square (None: the distance from 1 to the next number of the dtype),
        and the least root mean square of a parameter that counts.
    d
        Larger root mean squares of a step are brought down to this.
    weight_decay
        The parameter shrinks by `lr * weight_decay` first.
    maximize
        Climb instead of descend.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError
        An option out of its domain, named.
    DtypeError
        A complex parameter.

    Notes
    -----
    Source: Shazeer and Stern, "Adafactor" (2018); `lr` and the place of the first eps as PyTorch
    has them.

    >>> import polygrad as pg
    >>> w = pg.nn.Parameter(pg.ones((2, 3)))
    >>> optimizer = pg.optim.Adafactor([w], lr=0.5)
    >>> pg.sum(w * w).backward()
    >>> optimizer.step()
    >>> {name: t.shape for name, t in optimizer.state[w].items() if name != "step"}
    {'row_var': (2, 1), 'col_var': (1, 3)}
    """

    rule = "adafactor_step"
    elementwise = False
    keywords: ClassVar = ("lr", "beta2_decay", "eps", "d", "weight_decay", "maximize")

    def __init__(
        self,
        params: Parameters,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d,
            "weight_decay": weight_decay, "maximize": maximize,
        })  # fmt: skip

    def check_group(self, group: Group) -> None:
        """Domains of the options; real parameters."""
        first, second = numbers_of("Adafactor", "eps", group["eps"]).values()
        at_least("Adafactor", 0.0, lr=group["lr"], weight_decay=group["weight_decay"],
                 **{"eps[0]": 0.0 if first is None else first, "eps[1]": second})  # fmt: skip
        at_least("Adafactor", 1.0, d=group["d"])
        at_least("Adafactor", float("-inf"), beta2_decay=group["beta2_decay"])
        if group["beta2_decay"] > 0:
            raise InvalidArgumentError(
                f"beta2_decay is {group['beta2_decay']}", "Adafactor, argument beta2_decay",
                "it must be at most 0",
            )  # fmt: skip
        only_real("Adafactor", group["params"])

    def slots(self, group: Group) -> tuple[str, ...]:
        """All names; a parameter has the first two or the last."""
        del group
        return ("row_var", "col_var", "variance")

    def layout(self, group: Group, shape: Shape) -> dict[str, Shape]:
        """Rows and columns of the last two axes, or everything."""
        del group
        if len(shape) < 2:
            return {"variance": shape}
        return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, shape[-1])}
