"""The update of a bucket in a recorded step: its numbers, reckoned anew for each replay.

Note [Numbers of a replay]
--------------------------
What a rule makes of the step number and the learning rate are Python numbers, reckoned by
`Optimizer.advance` and the kernel. In a recorded step the kernel has them in memory
(`polygrad.lanes.Numbers`), and the host reckons those of the next step, by the same functions, from
the options of the group as they are then. So a replay gives the bits of a step, a schedule of the
learning rate is followed, and no rule needs another formula for a step that lives on the device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from polygrad.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from polygrad.lanes import Numbers, Recording
    from polygrad.optim.optimizer import Optimizer
    from polygrad.tensor import Tensor

__all__ = ["RecordedUpdate", "refuse_changing"]


class RecordedUpdate:
    """One update of parameters, which a recording holds.

    Parameters
    ----------
    optimizer, i, params
        Which parameters, of which group.
    keywords
        What the rule was given.
    numbers
        What its kernels read from memory; none: they have their numbers for good.

    Raises
    ------
    InvalidArgumentError
        The numbers change from step to step, and no kernel reads them from memory.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        i: int,
        params: Sequence[Tensor],
        keywords: dict[str, Any],
        numbers: Sequence[Numbers],
    ) -> None:
        self.optimizer, self.i, self.params = optimizer, i, list(params)
        self.slots = optimizer.slots(optimizer.param_groups[i])
        self.keywords, self.numbers = keywords, list(numbers)
        self.written = [list(each.reckon(keywords)) for each in self.numbers]
        if not self.numbers and any(p.size for p in self.params):
            refuse_changing(optimizer)

    def renew(self, recording: Recording) -> None:
        """Count a step, and write its numbers where the replay reads them.

        Raises
        ------
        InvalidArgumentError
            An option has changed that the recording cannot follow.
        """
        optimizer = self.optimizer
        group = optimizer.options(self.i)
        if optimizer.slots(group) != self.slots:
            self._refuse("the arrays that its options need")
        states = [optimizer.state[p] for p in self.params]
        counted = {name: states[0][name] for name in optimizer.begin(group)}
        keywords = optimizer.advance(counted, group)
        if not self.numbers:
            for name, value in keywords.items():
                if name != "step" and value != self.keywords[name]:
                    self._refuse(name)
        for i, each in enumerate(self.numbers):
            if (values := list(each.reckon(keywords))) != self.written[i]:
                recording.renew(each.array, np.array(values, np.float64))
                self.written[i] = values
        for own in states:
            own.update(counted)

    def _refuse(self, what: str) -> None:
        raise InvalidArgumentError(
            f"{what} of {type(self.optimizer).__name__} changed since the graph was recorded",
            "a CUDA graph", "make a new graph",
        )  # fmt: skip


def refuse_changing(optimizer: Optimizer) -> None:
    """Refuse an optimiser whose update is another function at each step."""
    if not optimizer.same_each_step:
        raise InvalidArgumentError(
            f"the numbers of {type(optimizer).__name__} change from step to step, and no kernel "
            "reads them anew at each replay", "cuda_graph",
            "record forward and backward, and call optimizer.step() after the graph",
        )  # fmt: skip
