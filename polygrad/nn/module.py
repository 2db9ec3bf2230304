"""Module: what layers and networks are made of, with the surface of PyTorch's `torch.nn.Module`.

What it holds is in `polygrad.nn.holder`, hooks in `polygrad.nn.hooks`, saving and loading in
`polygrad.nn.state`, moving in `polygrad.nn.places`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from polygrad import dtypes
from polygrad.errors import InvalidTypeError
from polygrad.methods import read_place
from polygrad.nn import places, state
from polygrad.nn.holder import Holder
from polygrad.nn.hooks import (
    EVERY_MODULE,
    NO_HOOKS,
    Entry,
    Handle,
    HookTable,
    call_with_hooks,
)

__all__ = ["Module"]


class Module(Holder):
    """Base of all layers and networks.

    A subclass calls `super().__init__()`, assigns Parameters and Modules as attributes, and defines
    `forward`.

    Attributes
    ----------
    training
        Whether the module behaves as in training; switched by `train()` and `eval()`.

    >>> import polygrad as pg
    >>> class Scale(pg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = pg.nn.Parameter(pg.ones(1))
    ...
    ...     def forward(self, x):
    ...         return self.factor * x
    >>> [name for name, _ in Scale().named_parameters()]
    ['factor']
    """

    # (constructor arguments, keywords, shapes of the inputs): generates the tests of a layer.
    examples: ClassVar[list[tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]]] = []

    training: bool
    _hooks: HookTable | None = None

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["training"] = True

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward(self, ...)")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run `forward` and the hooks around it."""
        if self._hooks is None and not EVERY_MODULE.active:
            return self.forward(*args, **kwargs)
        return call_with_hooks(self, args, kwargs)

    def get_extra_state(self) -> Any:
        """What else `state_dict` saves; a subclass defines it, with `set_extra_state`."""
        raise NotImplementedError(f"{type(self).__name__} defines no get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise NotImplementedError(f"{type(self).__name__} defines no set_extra_state")

    # ---- saving and loading -----------------------------------------------------------------
    def state_dict(
        self,
        *,
        destination: dict[str, Any] | None = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> dict[str, Any]:
        """The values of all parameters and persistent buffers by path.

        They are constants that later training does not move; `keep_vars` gives the tensors.
        """
        found = {} if destination is None else destination
        return state.state_dict(self, found, prefix, keep_vars=keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> state.IncompatibleKeys:
        """Copy values into the parameters and buffers, which keep identity, dtype and device.

        Parameters
        ----------
        state_dict
            Tensors, or arrays, by path.
        strict
            Whether every path must occur, and no other.
        assign
            Put the given tensors in the place of the module's, with their dtype and device.

        Raises
        ------
        StateDictError
            Keys are missing or in excess (if strict), or shapes differ: all are listed.
        """
        return state.load_state_dict(self, state_dict, strict=strict, assign_tensors=assign)

    def _save_to_state_dict(
        self, destination: dict[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        state.save_own(self, destination, prefix, keep_vars=keep_vars)

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        del strict  # the caller decides what missing and unexpected keys mean
        report = state.Report(missing_keys, unexpected_keys, error_msgs)
        assign = bool(local_metadata.get("assign_to_params_buffers"))
        state.load_own(self, state_dict, prefix, report, assign_tensors=assign)

    # ---- hooks ------------------------------------------------------------------------------
    @property
    def hook_table(self) -> HookTable:
        """The module's hooks, for reading: an empty table where it has none."""
        return NO_HOOKS if self._hooks is None else self._hooks

    def _hook(self, moment: str, entry: Entry, *, prepend: bool = False) -> Handle:
        if self._hooks is None:
            self.__dict__["_hooks"] = HookTable()
        return Handle(self.hook_table, moment, entry, prepend=prepend)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call `hook(module, args)` before forward; not None replaces the arguments.

        With `with_kwargs` it is `hook(module, args, kwargs)`, and may return (args, kwargs).
        """
        return self._hook("forward_pre", Entry(hook, with_kwargs), prepend=prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> Handle:
        """Call `hook(module, args, output)` after forward; not None replaces the output.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`; with `always_call` it also
        runs, with output None, when forward raised.
        """
        return self._hook("forward", Entry(hook, with_kwargs, always_call), prepend=prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> Handle:
        """Call `hook(module, grad_output)` when the gradient arrives; not None replaces it."""
        return self._hook("backward_pre", Entry(hook), prepend=prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> Handle:
        """Call `hook(module, grad_input, grad_output)` after; not None replaces grad_input."""
        return self._hook("backward", Entry(hook), prepend=prepend)

    def register_state_dict_pre_hook(self, hook: Callable[..., None]) -> Handle:
        """Call `hook(module, prefix, keep_vars)` before the module is saved."""
        return self._hook("state_pre", Entry(hook))

    def register_state_dict_post_hook(self, hook: Callable[..., None]) -> Handle:
        """Call `hook(module, state_dict, prefix, metadata)` after; it may change the dictionary."""
        return self._hook("state_post", Entry(hook))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., None]) -> Handle:
        """Call `hook(module, state_dict, prefix, metadata, strict, *lists)` before loading.

        The lists are those of missing and unexpected keys and of errors; it may change them.
        """
        return self._hook("load_pre", Entry(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., None]) -> Handle:
        """Call `hook(module, incompatible_keys)` after loading; it may change the lists."""
        return self._hook("load_post", Entry(hook))

    # ---- modes ------------------------------------------------------------------------------
    def train(self, mode: bool = True) -> Self:
        """Behave as in training, or as in use (`mode=False`): this module and all below it."""
        if not isinstance(mode, bool):
            raise InvalidTypeError(
                f"the mode is a bool, not {mode!r}", f"train of {type(self).__name__}",
                "pass True or False",
            )  # fmt: skip
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Behave as in use: dropout off, stored statistics."""
        return self.train(mode=False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether the gradients of all parameters are wanted."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget all gradients, or fill them with zeros."""
        for p in self.parameters():
            if p.gradient is not None:
                p.gradient = None if set_to_none else p.gradient.detach().clone() * 0

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn` with every module below, then with this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # ---- places -----------------------------------------------------------------------------
    def to(
        self, *args: Any, dtype: Any = None, device: Any = None, non_blocking: bool = False
    ) -> Self:
        """Move parameters and buffers to a device, a floating dtype, or both, in place.

        Called as `to(device)`, `to(dtype)`, `to(device, dtype)` or `to(tensor)`. Integer buffers
        keep their dtype; complex tensors become complex ones of the precision of a real dtype. All
        stay the same objects, gradients move along, and a move that fails has moved nothing.
        `non_blocking` as in `Tensor.to`.

        Raises
        ------
        DtypeError
            The dtype is not floating, or the device does not have it.
        UnknownDeviceError
            There is no such device.
        InvalidTypeError
            Two devices or two dtypes were given.
        """
        non_blocking |= any(arg is True for arg in args)
        dtype, device = read_place(args, dtype, device)
        places.move(self, device, dtype, non_blocking=non_blocking)
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move parameters and buffers to a device without their values: those are arbitrary then.

        For values that are loaded or initialised there. Gradients are forgotten. Without `recurse`
        the modules below stay where they are. Raises as `to`.
        """
        places.move_empty(self, device, recurse=recurse)
        return self

    def cpu(self) -> Self:
        """All parameters and buffers on the host: `to("cpu")`."""
        return self.to("cpu")

    def float(self) -> Self:
        """Floating parameters and buffers in float32."""
        return self.to(dtypes.float32)

    def double(self) -> Self:
        """Floating parameters and buffers in float64."""
        return self.to(dtypes.float64)

    def half(self) -> Self:
        """Floating parameters and buffers in float16."""
        return self.to(dtypes.float16)

    def bfloat16(self) -> Self:
        """Floating parameters and buffers in bfloat16, which needs ml_dtypes."""
        return self.to(dtypes.bfloat16)

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers in one dtype, integers too.

        Raises
        ------
        DtypeError
            An integer dtype, but a parameter requires grad; a real one, but a tensor is complex;
            or the device does not have it.
        """
        places.convert(self, dst_type)
        return self

    # ---- text -------------------------------------------------------------------------------
    def extra_repr(self) -> str:
        """What `repr` shows between the parentheses; layers define it."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        """The tree of modules."""
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [
            f"({name}): " + repr(child).replace("\n", "\n  ")
            for name, child in self.named_registered("module")
        ]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"
