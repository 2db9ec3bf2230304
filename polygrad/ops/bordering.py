"""Borders in the manner of PyTorch: widths from the last axis on, negative ones cut."""

from __future__ import annotations

from typing import Any

from polygrad.calls import describe
from polygrad.errors import InvalidArgumentError, InvalidTypeError, ShapeError
from polygrad.families import Chapter
from polygrad.ops._axes import as_tensor
from polygrad.ops.padding import pad as pad_axes
from polygrad.tensor import Tensor

_table = Chapter("bordering", "nn.functional")
_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def _widths(pad: Any, x: Tensor) -> list[tuple[int, int]]:
    """(before, after) of each axis, the first axis first."""
    where = f"pad{describe([x])}, argument pad"
    entries = tuple(pad) if isinstance(pad, (tuple, list)) else (pad,)
    try:
        found = [int(n.__index__()) for n in entries]
    except AttributeError:
        raise InvalidTypeError(
            f"{pad!r} are no widths", where, "pass ints: (left, right), (left, right, top, bottom)"
        ) from None
    if len(found) % 2 or len(found) > 2 * x.ndim:
        raise InvalidArgumentError(
            f"{len(found)} widths for {x.ndim} axes", where,
            "pass two for each axis that is padded, the last axis first",
        )  # fmt: skip
    pairs = list(zip(found[::2], found[1::2], strict=True))[::-1]
    return [(0, 0)] * (x.ndim - len(pairs)) + pairs


def _check_reach(x: Tensor, widths: list[tuple[int, int]], mode: str) -> None:
    """Refuse borders that their axis cannot fill, and axes that nothing is left of."""
    for axis, (n, width) in enumerate(zip(x.shape, widths, strict=True)):
        cut = sum(min(w, 0) for w in width)
        reach = {"reflect": n - 1, "circular": n + cut}.get(mode)
        if reach is not None and max(width) > max(reach, 0):
            raise ShapeError(
                f"a border of {max(width)} for axis {axis} of length {n}",
                f"pad{describe([x])}, mode {mode!r}", f"it may be at most {max(reach, 0)}",
            )  # fmt: skip
        if n + cut < 0:
            raise ShapeError(
                f"widths of {width} cut more than axis {axis} of length {n}",
                f"pad{describe([x])}", "cut less",
            )  # fmt: skip


@_table.public(samples=lambda s: [
    ((s.real(2, 3), (1, 2)), {}), ((s.real(2, 3), (1, -1, 0, 2)), {"value": 1.5}),
    ((s.real(1, 2, 4), (2, 1)), {"mode": "reflect"}),
    ((s.real(1, 2, 3, 2), (1, 0, 4, -1)), {"mode": "replicate"}),
    ((s.complex(1, 2, 3), (2, 3)), {"mode": "circular"}), ((s.real(0), (1, 2)), {}),
    ((s.real(), ()), {}),
], kinds="fc")  # fmt: skip
def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Longer or shorter axes, the widths given from the last axis on; `pg.pad` has more modes.

    Parameters
    ----------
    input
        Tensor of any dtype.
    pad
        Before and after the last axis, then before and after the one in front of it, and so on:
        (left, right, top, bottom) for images. Negative widths cut; with "circular", first.
    mode
        What the border holds: "constant", a number; "reflect", the inside mirrored at the outermost
        elements; "replicate", the outermost elements; "circular", the other end.
    value
        The number, 0 if not given.

    Returns
    -------
    Tensor
        The same dtype.

    Raises
    ------
    InvalidArgumentError, InvalidTypeError, ShapeError
        The widths are no ints, odd in number or too many; there is no such mode; a number is given
        for a mode without; an axis is too short for its border, or for what is cut.

    Examples
    --------
    >>> import polygrad as pg
    >>> pg.nn.functional.pad(pg.arange(3), (2, -1))
    tensor([0, 0, 0, 1], dtype=int64)
    """
    x = as_tensor(input, "pad, argument input")
    widths = _widths(pad, x)
    if mode not in _MODES:
        raise InvalidArgumentError(
            f"there is no mode {mode!r}", "pad, argument mode",
            "choose one of " + ", ".join(_MODES) + ", or see pg.pad",
        )  # fmt: skip
    if value is not None and mode != "constant":
        raise InvalidArgumentError(
            f"mode {mode!r} has no value", "pad, argument value", "leave it out"
        )
    _check_reach(x, widths, mode)
    number = 0 if value is None else value
    cut = tuple(slice(max(-low, 0), n - max(-high, 0))
                for n, (low, high) in zip(x.shape, widths, strict=True))  # fmt: skip
    grown = tuple((max(low, 0), max(high, 0)) for low, high in widths)
    if all(w >= 0 for pair in widths for w in pair):
        return pad_axes(x, grown, _MODES[mode], constant_values=number)
    if mode == "circular":  # what is left goes round
        return pad_axes(x[cut], grown, "wrap")
    out = pad_axes(x, grown, _MODES[mode], constant_values=number)
    return out[tuple(
        slice(part.start, part.stop + low + high)
        for part, (low, high) in zip(cut, grown, strict=True)
    )]  # fmt: skip
