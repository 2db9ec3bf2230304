"""The shell of all optimisers: groups of parameters, their state, and the walk over them."""

from __future__ import annotations

import copy
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

from polygrad.config import enable_grad
from polygrad.errors import InvalidArgumentError, InvalidTypeError
from polygrad.optim.arguments import as_list, check_parameter, named_pair, names_of, rate_of
from polygrad.optim.bucket import LARGE, Bucket, takes_parts, updates_each
from polygrad.optim.plan import Plan, failed
from polygrad.optim.state import constant, entries_of, placed
from polygrad.tape import Hook
from polygrad.tensor import Tensor, new_tensor, raw

__all__ = ["Optimizer"]

Group = dict[str, Any]
_MOMENTS = ("step_pre", "step_post", "save_pre", "save_post", "load_pre", "load_post")


class Optimizer(ABC):
    """Walks parameters by groups and calls a rule of `polygrad.optim.rules` on raw arrays.

    A subclass names the rule, says which arrays it keeps for each parameter, and which entries of a
    group are its keywords.

    Parameters
    ----------
    params
        Parameters; or pairs (name, parameter); or dictionaries, one for each group, with `"params"`
        and whatever differs from the defaults there.
    defaults
        Options of groups that do not set them.

    Attributes
    ----------
    param_groups
        A list of dictionaries; changing an option takes effect at the next step.
    defaults
        The options given to the constructor.
    observer
        Called after each update of a bucket with the place of its group, the bucket, and the
        keywords of the rule: what a CUDA graph is recorded by.
    """

    rule: ClassVar[str]
    keywords: ClassVar[tuple[str, ...]]
    elementwise: ClassVar[bool] = True  # no: the rule sees each parameter in its shape
    same_each_step: ClassVar[bool] = False  # yes: from the second step on, no number of it changes

    def __init__(self, params: Iterable[Any], defaults: Group) -> None:
        self.defaults = defaults
        self.param_groups: list[Group] = []
        self.steps_taken = 0
        self._clear()
        groups = as_list(params, type(self).__name__)
        if not isinstance(groups[0], Mapping):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _clear(self) -> None:
        self._state: dict[Tensor, dict[str, Any]] = {}
        self._plans: list[Plan | None] = []
        self._hooks: dict[str, list[Hook]] = {moment: [] for moment in _MOMENTS}
        self.observer: Callable[[int, Bucket, dict[str, Any]], None] | None = None

    # ---- what an algorithm says ---------------------------------------------------------------
    def slots(self, group: Group) -> tuple[str, ...]:
        """The names of the arrays kept for each parameter, in the order of the rule."""
        raise NotImplementedError

    def layout(self, group: Group, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """The slots of a parameter of this shape, and their shapes, where not elementwise."""
        return dict.fromkeys(self.slots(group), shape)

    def initial(self, slot: str, group: Group) -> float:
        """The value that a state array begins with."""
        del slot, group
        return 0.0

    def begin(self, group: Group) -> dict[str, float]:
        """The numbers kept for each parameter, before the first step."""
        del group
        return {"step": 0}

    def advance(self, numbers: dict[str, float], group: Group) -> dict[str, Any]:
        """Count one step in `numbers`; the keywords of the rule for it."""
        numbers["step"] += 1
        made: dict[str, Any] = {name: group[name] for name in self.keywords}
        made["step"] = numbers["step"]
        return made

    # ---- groups -----------------------------------------------------------------------------
    def add_param_group(self, param_group: Any) -> None:
        """Add parameters with options of their own.

        Raises
        ------
        InvalidTypeError, InvalidArgumentError
            Not a dictionary of tensors; a tensor that is no leaf, or has a place already.
        """
        where = f"{type(self).__name__}.add_param_group"
        if not isinstance(param_group, Mapping) or "params" not in param_group:
            raise InvalidTypeError(
                f"a group is a dictionary with 'params', not {type(param_group).__name__}", where,
                'write {"params": [...], "lr": 0.1}',
            )  # fmt: skip
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else as_list(params, where)
        group: Group = {**self.defaults, **param_group}
        named = [isinstance(p, tuple) for p in params]
        names_of(where, named, ["param_names" in g for g in self.param_groups])
        if all(named):
            pairs = [named_pair(pair, where) for pair in params]
            group["param_names"] = [name for name, _ in pairs]
            params = [p for _, p in pairs]
        taken = {id(p) for g in self.param_groups for p in g["params"]}
        for p in params:
            check_parameter(p, where)
            if id(p) in taken:
                raise InvalidArgumentError(
                    f"a parameter of shape {p.shape} occurs twice", where,
                    "each parameter belongs to one group, once",
                )  # fmt: skip
            taken.add(id(p))
        group["params"] = params
        self.check_group(group)
        self.param_groups.append(group)
        self._plans.append(None)

    def check_group(self, group: Group) -> None:  # noqa: B027  not every algorithm has domains
        """Refuse options out of their domain. Raises InvalidArgumentError, InvalidTypeError."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.gradient = None
                elif p.gradient is not None:
                    p.gradient = new_tensor(p.kernels.zeros(raw(p).shape), p.kernels)

    # ---- the walk ---------------------------------------------------------------------------
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` returned.

        Parameters
        ----------
        closure
            Computes the loss and its gradients anew, before the update.
        """
        hooks = self._hooks
        for hook in tuple(hooks["step_pre"]):
            hook.function(self)
        loss = self.update(closure)
        self.steps_taken += 1
        for hook in tuple(hooks["step_post"]):
            hook.function(self)
        return loss

    def update(self, closure: Callable[[], Any] | None) -> Any:
        """The step itself, between the hooks; returns what `closure` returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for i in range(len(self.param_groups)):
            self._step_group(i)
        return loss

    def options(self, i: int) -> Group:
        """The options of a group as numbers: a learning rate may be in a tensor."""
        group = self.param_groups[i]
        lr = group.get("lr")
        if type(lr) is not float and isinstance(lr, Tensor):
            group = {**group, "lr": rate_of(group)}
        return group

    def _step_group(self, i: int) -> None:
        group = self.options(i)
        params = group["params"]
        slots = self.slots(group)
        missing = [p.gradient is None for p in params]
        plan = self._plans[i]
        if plan is None or plan.missing != missing or not plan.fits(params, slots):
            if plan is not None:
                plan.open(self._state)
                self._plans[i] = None
            plan = self._plans[i] = self._plan(group, params, missing, slots)
        for backend, buckets in plan.by_backend:
            with backend.quiet():
                for bucket in buckets:
                    numbers = bucket.numbers.copy()
                    keywords = self.advance(numbers, group)
                    try:
                        bucket.update(keywords)
                    except (*backend.oom_errors, *backend.lost_errors) as error:
                        raise failed(type(self).__name__, bucket, error) from error
                    bucket.numbers = numbers
                    if self.observer is not None:
                        self.observer(i, bucket, keywords)

    def _plan(
        self, group: Group, params: list[Tensor], missing: list[bool], slots: tuple[str, ...]
    ) -> Plan:
        """Put the parameters that have a gradient into buckets: Note [Buckets]."""
        alike: dict[Any, list[Tensor]] = {}
        start = self.begin(group)
        for p, absent in zip(params, missing, strict=True):
            if absent:
                continue
            own = self._state.get(p, {})
            numbers = tuple(own.get(n, value) for n, value in start.items())
            k = p.kernels
            together = takes_parts(k, self.rule) or updates_each(k, self.rule, slots)
            alone = not self.elementwise or (p.size >= LARGE and not together)
            alike.setdefault((k, numbers, id(p) if alone else 0), []).append(p)
        buckets = [
            Bucket(
                self.rule,
                members,
                dict(zip(start, numbers, strict=True)),
                [self._state.get(p, {}) for p in members],
                slots,
                lambda slot: self.initial(slot, group),
                None if self.elementwise else self.layout(group, members[0].shape),
            )
            for (_, numbers, _), members in alike.items()
        ]
        return Plan(params, missing, buckets)

    # ---- state ------------------------------------------------------------------------------
    @property
    def state(self) -> dict[Tensor, dict[str, Any]]:
        """For each parameter the numbers and tensors that its updates keep, by name."""
        for i, plan in enumerate(self._plans):
            if plan is not None:
                plan.open(self._state)
                self._plans[i] = None
        return self._state

    def state_dict(self) -> dict[str, Any]:
        """State and options, with parameters as numbers; later steps do not change it."""
        for hook in tuple(self._hooks["save_pre"]):
            hook.function(self)
        state = self.state
        order = [p for group in self.param_groups for p in group["params"]]
        number = {id(p): i for i, p in enumerate(order)}
        groups = []
        for group in self.param_groups:
            options = {k: copy.deepcopy(v) for k, v in group.items() if k != "params"}
            groups.append({**options, "params": [number[id(p)] for p in group["params"]]})
        saved = {
            i: {k: constant(v) for k, v in state[p].items()}
            for i, p in enumerate(order) if p in state
        }  # fmt: skip
        made = {"state": saved, "param_groups": groups}
        for hook in tuple(self._hooks["save_post"]):
            made = hook.function(self, made) or made  # type: ignore[call-arg]
        return made

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take over options and state; state arrays take the dtype and device of their parameter.

        Raises
        ------
        InvalidArgumentError
            The groups differ in number or length; an option is out of its domain; there is state of
            a parameter that no group has.
        InvalidTypeError, ShapeError, DtypeError
            It is no state of an optimiser; an array of it does not fit its parameter.

        Whatever is raised, nothing is loaded.
        """
        where = f"{type(self).__name__}.load_state_dict"
        given = entries_of(state_dict, where)
        for hook in tuple(self._hooks["load_pre"]):
            given = entries_of(hook.function(self, given) or given, where)  # type: ignore[call-arg]
        groups = given["param_groups"]
        have = [len(group["params"]) for group in self.param_groups]
        comes = [len(group["params"]) for group in groups]
        if have != comes:
            raise InvalidArgumentError(
                f"the state is of groups of {comes} parameters, this optimiser has {have}",
                where, "make the same groups first",
            )  # fmt: skip
        place = {
            number: p
            for old, new in zip(groups, self.param_groups, strict=True)
            for number, p in zip(old["params"], new["params"], strict=True)
        }
        options = {}
        for old, new in zip(groups, self.param_groups, strict=True):
            group = {**new, **old, "params": new["params"]}
            self.check_group(group)
            options.update({id(p): group for p in group["params"]})
        loaded = {}
        for number, own in given["state"].items():
            if number not in place:
                raise InvalidArgumentError(
                    f"there is state of parameter {number!r}, which no group has", where,
                    f"parameters go by the numbers in the groups: {sorted(place)}",
                )  # fmt: skip
            p = place[number]
            shapes = self.layout(options[id(p)], p.shape)
            loaded[p] = placed(p, own, self.begin(self.defaults), shapes, f"{where}, {number!r}")
        self._plans = [None] * len(self.param_groups)
        self._state = loaded
        for old, new in zip(groups, self.param_groups, strict=True):
            params = new["params"]
            new.update({k: copy.deepcopy(v) for k, v in old.items() if k != "params"})
            new["params"] = params
        for hook in tuple(self._hooks["load_post"]):
            hook.function(self)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and deepcopy: everything but the hooks."""
        self.state  # noqa: B018  opens the buckets
        return {k: v for k, v in self.__dict__.items() if k not in ("_plans", "_hooks", "observer")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Back from `__getstate__`."""
        self._clear()
        self.__dict__.update(state)
        self._plans = [None] * len(self.param_groups)

    # ---- hooks and text ---------------------------------------------------------------------
    def register_step_pre_hook(self, hook: Callable[[Optimizer], Any]) -> Hook:
        """Call `hook(optimizer)` before each step; the handle's `remove()` ends it."""
        return Hook(hook, 0, self._hooks["step_pre"])

    def register_step_post_hook(self, hook: Callable[[Optimizer], Any]) -> Hook:
        """Call `hook(optimizer)` after each step."""
        return Hook(hook, 0, self._hooks["step_post"])

    def register_state_dict_pre_hook(self, hook: Callable[[Optimizer], Any]) -> Hook:
        """Call `hook(optimizer)` before the state is saved."""
        return Hook(hook, 0, self._hooks["save_pre"])

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call `hook(optimizer, state_dict)` after; it may return another one."""
        return Hook(hook, 0, self._hooks["save_post"])

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> Hook:
        """Call `hook(optimizer, state_dict)` before loading; it may return another one."""
        return Hook(hook, 0, self._hooks["load_pre"])

    def register_load_state_dict_post_hook(self, hook: Callable[[Optimizer], Any]) -> Hook:
        """Call `hook(optimizer)` after loading."""
        return Hook(hook, 0, self._hooks["load_post"])

    def __repr__(self) -> str:
        """The options of each group."""
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])
