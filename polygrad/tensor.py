"""The Tensor: an array, the Kernels of its device and dtype, the edge of the tape. No mathematics.

Operators and mathematical methods are attached by `polygrad.methods` from the registry of
operations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from polygrad.dtypes import INTEGER, REAL
from polygrad.errors import (
    DeviceMismatchError,
    DtypeError,
    GradientError,
    GraphCutWarning,
    InvalidTypeError,
    ShapeError,
)
from polygrad.registry import find_kernels
from polygrad.tape import Edge, Hook, Node, Port

if TYPE_CHECKING:
    from polygrad.backend import Array, Kernels
    from polygrad.device import Device
    from polygrad.dtypes import Dtype

__all__ = ["Tensor", "new_tensor", "on_host", "raw", "wrap"]


class Tensor:
    """An array of any library, with a place on the tape.

    Made by `pg.tensor`, `pg.asarray` and operations, never by calling the class.

    Attributes (internal; users have the properties)
    ------------------------------------------------
    array
        The library's array. None for a view of something that was written since: `raw(t)` looks it
        up.
    kernels
        The operations of its backend, device and dtype.
    node
        The Node that made it, a Port of one with several outputs, None for leaves and constants.
    tracked
        Whether gradients are wanted.
    gradient
        What backward has accumulated.
    alias
        None; or the weakly held views of this tensor; or how this tensor is a view of another.
    hooks
        Hooks of a leaf; those of other tensors live on their node.
    """

    __slots__ = (
        "__weakref__", "alias", "array", "gradient", "hooks", "kernels", "node", "tracked",
    )  # fmt: skip

    array: Any
    kernels: Kernels
    node: Edge | None
    tracked: bool
    gradient: Tensor | None
    alias: Any
    hooks: list[Hook] | None

    __hash__ = object.__hash__

    if TYPE_CHECKING:  # attached by polygrad.methods

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __iadd__(self, other: Any) -> Self: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __isub__(self, other: Any) -> Self: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __imul__(self, other: Any) -> Self: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __getitem__(self, key: Any) -> Tensor: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002  whatever it is, refuse
        raise InvalidTypeError(
            "a Tensor is not made by calling its class",
            "Tensor(...)",
            "write pg.tensor(data) for a copy, pg.asarray(array) to wrap an array",
        )

    # ---- what it is -------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return tuple(raw(self).shape)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(raw(self).ndim)

    @property
    def size(self) -> int:
        """The number of elements."""
        n = 1
        for length in raw(self).shape:
            n *= length
        return n

    @property
    def dtype(self) -> Dtype:
        """The data type, a numpy.dtype on every backend."""
        return self.kernels.dtype

    @property
    def device(self) -> Device:
        """Where the array lives."""
        return self.kernels.device

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are recorded and a gradient flows to it."""
        raw(self)
        return self.tracked

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor."""
        raw(self)
        return self.node is None

    @property
    def grad(self) -> Tensor | None:
        """What backward has accumulated for this tensor: a Tensor like it, or None."""
        return self.gradient

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            if not isinstance(value, Tensor):
                raise InvalidTypeError(
                    f"a gradient is a Tensor or None, not {type(value).__name__}",
                    "assignment to .grad",
                    "wrap it: t.grad = pg.asarray(array)",
                )
            if value.kernels is not self.kernels:
                wrong = DeviceMismatchError if value.device != self.device else DtypeError
                raise wrong(
                    f"the gradient is {value.dtype} on {value.device}",
                    f"assignment to .grad of a tensor of {self.dtype} on {self.device}",
                    "convert it with .to(t.device, t.dtype)",
                )
            if value.shape != self.shape:
                raise ShapeError(
                    f"the gradient has shape {value.shape}",
                    f"assignment to .grad of a tensor of shape {self.shape}",
                    "a gradient has the shape of its tensor",
                )
        self.gradient = value

    @property
    def grad_fn(self) -> Node | None:
        """The node of the tape that made this tensor, with its `name()` and `next_functions`."""
        raw(self)
        return self.node.node if isinstance(self.node, Port) else self.node  # type: ignore[return-value]

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        raw(self)
        return self.node.place if isinstance(self.node, Port) else 0

    # ---- to the outside ---------------------------------------------------------------------
    def refuse_export(self, what: str) -> None:
        """Leaving for another library would silently cut the gradient."""
        if self.requires_grad:
            raise GradientError(
                f"{what} of a tensor that requires grad would cut its gradient",
                f"shape {self.shape}, dtype {self.dtype}, device {self.device}",
                "call .detach() first if that is meant; SciPy and scikit-learn stay on the tape "
                "after pg.enable_scipy(), which sets SCIPY_ARRAY_API=1 before SciPy is imported, "
                "and sklearn.set_config(array_api_dispatch=True)",
            )

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as a NumPy array: a read-only view on the host, a copy from other devices.

        Raises
        ------
        GradientError
            The tensor requires grad: write `t.detach().numpy()`.

        >>> import polygrad as pg
        >>> pg.tensor([1, 2]).numpy()
        array([1, 2])
        """
        self.refuse_export(".numpy()")
        array = _download(self).view()
        array.flags.writeable = False
        return array

    def native(self) -> Array:
        """The array library's own array, without a copy. Do not write to it: it may be shared.

        Raises
        ------
        GradientError
            The tensor requires grad: write `t.detach().native()`.
        """
        self.refuse_export(".native()")
        return raw(self)

    def tolist(self) -> Any:
        """The values as nested Python lists, a Python number for a 0-d tensor."""
        return on_host(self).tolist()

    def item(self) -> Any:
        """The one value, as a Python number.

        Raises
        ------
        ShapeError
            The tensor has several elements, or none.
        """
        self._warn_cut("item()")
        return self._item("item()")

    def _item(self, what: str) -> Any:
        if self.size != 1:
            raise ShapeError(
                f"{what} needs exactly one element",
                f"tensor of shape {self.shape}",
                "reduce it first, or use .tolist()",
            )
        return on_host(self).item()

    def _warn_cut(self, what: str) -> None:
        if self.requires_grad:
            warnings.warn(
                f"{what} of a tensor that requires grad: what is computed from the number has no "
                "gradient. Write .detach() first if that is meant.",
                GraphCutWarning,
                stacklevel=3,
            )

    def __dlpack__(
        self,
        /,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the array: the same memory, if the library can share it.

        What the importer writes there, this tensor sees; write to a copy.

        Raises
        ------
        GradientError
            The tensor requires grad.
        BufferError
            `copy=False`, and the library cannot share the memory.
        """
        self.refuse_export("DLPack export")
        array, guard = raw(self), self.kernels.guard
        asked = {
            "stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy,
        }  # fmt: skip
        options = {name: value for name, value in asked.items() if value is not None}
        with nullcontext() if guard is None else guard():
            try:
                return array.__dlpack__(**options)
            except BufferError:  # memory that must not be written, for old importers
                if copy is not None:
                    raise
                return self.kernels.backend.copy(array).__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[Any, int]:
        """DLPack's (device type, index)."""
        found: tuple[Any, int] = raw(self).__dlpack_device__()
        return found

    def __bool__(self) -> bool:
        """Truth of a one-element tensor."""
        return bool(self._item("bool()"))

    def __int__(self) -> int:
        """A one-element tensor as an int."""
        return int(self._item("int()"))

    def __index__(self) -> int:
        """A one-element integer tensor as an index."""
        if self.kernels.kind != INTEGER:
            raise DtypeError(
                f"a {self.dtype} tensor is no index", "__index__", "convert it with int(t)"
            )
        return int(self._item("index()"))

    def __float__(self) -> float:
        """A one-element tensor as a float."""
        self._warn_cut("float()")
        return float(self._item("float()"))

    def __complex__(self) -> complex:
        """A one-element tensor as a complex number."""
        self._warn_cut("complex()")
        return complex(self._item("complex()"))

    def __len__(self) -> int:
        """The length of the first axis."""
        if not self.ndim:
            raise InvalidTypeError("a 0-d tensor has no length", "len()", "use .size or .item()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        """Along the first axis."""
        if not self.ndim:
            raise InvalidTypeError(
                "a 0-d tensor cannot be iterated over", "iter()", "use .item() for its value"
            )
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        """Whether any element equals `value`."""
        return bool((self == value).any())

    def __repr__(self) -> str:
        """Values, then what is not the default."""
        values = np.array2string(on_host(self), separator=", ", prefix="tensor(")
        extra = f", dtype={self.dtype}"
        if self.device != "cpu":
            extra += f", device={self.device}"
        if self.node is not None:
            extra += f", grad_fn={self.grad_fn!r}"
        elif self.tracked:
            extra += ", requires_grad=True"
        return f"tensor({values}{extra})"

    def __format__(self, spec: str) -> str:
        """Format a one-element tensor as its number, others as their repr."""
        if spec and self.size == 1:
            return format(self._item("format()"), spec)
        return format(repr(self) if self.ndim else str(self._item("format()")), spec)

    # ---- the tape ---------------------------------------------------------------------------
    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start or stop asking for this leaf's gradient; returns the tensor.

        Raises
        ------
        DtypeError
            Only floating and complex tensors have gradients.
        GradientError
            The tensor is not a leaf.
        """
        if requires_grad and self.kernels.kind < REAL:
            raise DtypeError(
                f"a {self.dtype} tensor cannot require grad",
                "requires_grad_",
                "convert it to a floating dtype first: t.to(pg.float32)",
            )
        raw(self)
        if self.node is not None:
            if requires_grad:
                return self
            raise GradientError(
                "only a leaf can stop requiring grad",
                f"this tensor was made by {self.grad_fn!r}",
                "use t.detach() for a tensor without history",
            )
        if self.alias is not None and type(self.alias) is not set:  # it is a view
            self.alias.own_history()
        self.tracked = bool(requires_grad)
        return self

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> Hook:
        """Call `hook` with the gradient of this tensor whenever it is computed.

        If it returns a Tensor, that replaces the gradient. The handle's `remove()` ends it. Hooks
        stay with the value they were registered on: after a write they see the old value's
        gradient.

        Raises
        ------
        GradientError
            The tensor does not require grad.
        """
        if not self.requires_grad:
            raise GradientError(
                "a hook needs a tensor that requires grad", "register_hook", "use requires_grad_()"
            )
        if self.node is None:
            if self.hooks is None:
                self.hooks = []
            return Hook(hook, 0, self.hooks)
        node = self.grad_fn
        assert node is not None  # noqa: S101  for the type checker
        if node.hooks is None:
            node.hooks = []
        return Hook(hook, self.output_nr, node.hooks)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the host; the history of a tensor is not kept, so only leaves can be."""
        self._refuse_copy("pickled")
        array = on_host(self)
        return _rebuild, (type(self), array, self.device.name, self.tracked)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """A leaf of its own, with the same requires_grad and a copy of the gradient."""
        self._refuse_copy("deep-copied")
        made = new_tensor(self.kernels.copy(raw(self)), self.kernels, cls=type(self))
        made.tracked = self.tracked
        memo[id(self)] = made
        if self.gradient is not None:
            made.gradient = self.gradient.detach().clone()
        return made

    def _refuse_copy(self, what: str) -> None:
        raw(self)
        if self.node is not None:
            raise GradientError(
                f"only leaves can be {what}: the history cannot be copied",
                f"this tensor was made by {self.grad_fn!r}",
                "use t.detach() or t.clone()",
            )


_new = object.__new__


def new_tensor(array: Array, kernels: Kernels, cls: type[Tensor] = Tensor) -> Tensor:
    """A constant Tensor around a raw array of these Kernels."""
    t = _new(cls)
    t.array = array
    t.kernels = kernels
    t.node = t.gradient = t.alias = t.hooks = None
    t.tracked = False
    return t


def wrap(array: Any, kernels: Kernels) -> Tensor:
    """A constant Tensor around what a kernel returned: of any dtype, or a scalar of the library."""
    if type(array) is not kernels.array_type:
        array = kernels.coerce(array)
    return new_tensor(array, kernels if array.dtype is kernels.native_dtype else kernels.of(array))


def raw(t: Tensor) -> Array:
    """The library's array of a Tensor; the one reader that knows of stale views."""
    array = t.array
    return t.alias.refresh(t) if array is None else array


def on_host(t: Tensor) -> np.ndarray[Any, Any]:
    """The values of a Tensor, tracked or not, as a NumPy array, which may share its memory."""
    return np.asarray(_download(t))


def _download(t: Tensor) -> np.ndarray[Any, Any]:
    """What `Backend.to_numpy` gives; errors of the device itself come out as polygrad's."""
    array, k = raw(t), t.kernels
    if k.backend.late.pending:
        k.backend.late.settle(k.backend, k.device)
    try:
        return k.backend.to_numpy(array)
    except (*k.backend.oom_errors, *k.backend.lost_errors) as error:
        where = f"copying {k.dtype} {tuple(array.shape)} to the host"
        raise k.backend.failure(error, k.device, where) or error from error


def refresh(t: Tensor) -> Array:
    """The array of a stale view, looked up again."""
    return t.alias.refresh(t)


def _rebuild(cls: type[Tensor], array: Any, device: str, tracked: bool) -> Tensor:
    kernels = find_kernels(device, array.dtype)
    t = new_tensor(kernels.from_numpy(array), kernels, cls=cls)
    t.tracked = tracked
    return t
