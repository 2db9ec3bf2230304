"""Step 0: bits go to the device and come back, in every dtype, size and layout; DLPack; copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import polygrad as pg
from polygrad.device import Device
from polygrad.entry import said
from polygrad_conformance.case import Case, Failed, Unsupported
from polygrad_conformance.declarations import dtypes_of
from polygrad_conformance.layouts import LAYOUTS, values_in
from polygrad_conformance.oracle import seeded
from polygrad_conformance.target import Host, Target

SIZES = (0, 1, 31, 257, 5003)
_EMPTY = ((0, 3), (2, 0, 4))


def cases(level: str) -> Iterator[Case]:
    """For each dtype: special bits, sizes, layouts, a copy of its own, the device, DLPack."""
    for dtype in dtypes_of("bifc", "full"):
        actions: dict[tuple[str, str, str], Callable[[Target], None]] = {
            ("value", "plain", ""): lambda t, d=dtype: plainly(t, _bits(d)),
            ("value", "zero-d", ""): lambda t, d=dtype: _round_trip(t, _bits(d)[3]),
            ("device", "plain", ""): lambda t, d=dtype: _lives_there(t, d),
            ("purity", "copy", ""): lambda t, d=dtype: _own_memory(t, d),
        }
        if level != "smoke" or dtype == "float32":
            for n in SIZES:
                actions["value", f"size-{n}", ""] = lambda t, d=dtype, n=n: _round_trip(
                    t, np.resize(_bits(d), n)
                )
            for shape in _EMPTY:
                name = f"empty-{'-'.join(map(str, shape))}"
                actions["value", name, ""] = lambda t, d=dtype, s=shape: _round_trip(
                    t, np.empty(s, d)
                )
            for layout in LAYOUTS:
                actions["layout", "plain", layout] = lambda t, d=dtype, p=layout: _in_layout(
                    t, d, p
                )
            actions["value", "host-strides", ""] = lambda t, d=dtype: _host_strides(t, d)
            actions["value", "dlpack", ""] = lambda t, d=dtype: _dlpack(t, d)
            actions["value", "device-to-device", ""] = lambda t, d=dtype: _devices(t, d)
        for (check, sample, layout), action in actions.items():
            yield Case("transfer", dtype, check, sample, action, layout, 0, "", "transfers")


def _bits(dtype: str) -> Host:
    """Numbers with every kind of bit pattern: NaN payloads, subnormals, both zeros, infinities."""
    plain = np.dtype(dtype)
    if plain.kind == "b":
        return np.array([False, True, True, False, True, False])
    random = seeded("transfer", dtype)
    made = random.integers(0, 256, 24 * plain.itemsize, dtype=np.uint8).view(plain).copy()
    if plain.kind in "fc":
        real = made.view(made.real.dtype)
        info = np.finfo(real.dtype)
        chosen = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, info.smallest_subnormal, info.max]
        real[: len(chosen)] = chosen
    return made


def _same_bits(got: Any, want: Host, what: str) -> None:
    if not isinstance(got, np.ndarray) or got.dtype != want.dtype:
        raise Failed(f"{what}: {getattr(got, 'dtype', type(got))} came back, not {want.dtype}")
    if got.shape != want.shape:
        raise Failed(f"{what}: shape {got.shape} came back, not {want.shape}")
    width = max(1, want.dtype.itemsize)
    a, b = (np.frombuffer(x.tobytes(), np.uint8).reshape(-1, width) for x in (got, want))
    wrong = np.flatnonzero(np.any(a != b, axis=1))
    if wrong.size:
        i = int(wrong[0])
        raise Failed(f"{what}: element {i} has bits {bytes(a[i]).hex()}, not {bytes(b[i]).hex()}")


def _on(target: Target, dtype: str) -> None:
    if not target.supports(dtype):
        raise Unsupported(f"{target.device} has no {dtype}")


def plainly(target: Target, array: Host) -> None:
    """By the backend's own methods, so that a fault is said of the one that has it; by tensors."""
    _on(target, array.dtype.name)
    backend, place = target.backend, target.place
    made = _asked(
        "from_numpy", lambda: backend.from_numpy(array, place),
        f"mend it, or let supports() say that {target.device} has no {array.dtype}",
    )  # fmt: skip
    if not isinstance(made, backend.array_types):
        raise Failed(f"from_numpy returned a {_class_of(made)}, no array of {backend.name}: "
                     "array_types names their classes")  # fmt: skip
    found = _asked("device_of", lambda: backend.device_of(made))
    if not isinstance(found, Device) or found != place:
        raise Failed(f"device_of says {found!r} of an array that from_numpy made on {place!r}")
    kind = _asked("dtype_of", lambda: backend.dtype_of(made))
    if not isinstance(kind, np.dtype):
        raise Failed(f"dtype_of returned {kind!r}, a {_class_of(kind)}, no numpy.dtype: a library "
                     "with dtypes of its own needs native_dtype and dtype_of")  # fmt: skip
    if kind != array.dtype:
        raise Failed(f"from_numpy made an array of {kind} from one of {array.dtype}, or dtype_of "
                     "says so")  # fmt: skip
    back = _asked("to_numpy", lambda: backend.to_numpy(made))
    if not isinstance(back, np.ndarray):
        raise Failed(f"to_numpy returned a {_class_of(back)}, no numpy.ndarray")
    _same_bits(back, array, "from_numpy, then to_numpy")
    _round_trip(target, array)


def _asked(method: str, call: Callable[[], Any], advice: str = "mend it") -> Any:
    try:
        return call()
    except Exception as error:
        text = f"{method} raised {type(error).__name__}: {error}: {advice}"
        raise Failed(text + said(error).removeprefix(f"{type(error).__name__}: {error}")) from error


def _class_of(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _round_trip(target: Target, array: Host) -> None:
    _on(target, array.dtype.name)
    array = np.asarray(array)
    _same_bits(target.download(pg.tensor(array, device=target.device)), array, "there and back")


def _lives_there(target: Target, dtype: str) -> None:
    _on(target, dtype)
    t = pg.tensor(_bits(dtype), device=target.device)
    place = target.backend.device_of(t.native())
    if t.device != target.device or place != target.place:
        raise Failed(f"a tensor made on {target.device} says {t.device}, its array is on {place}")
    if not isinstance(t.native(), target.backend.array_types):
        raise Failed(f"its array is a {type(t.native())}, no array of {target.backend.name}")
    if target.backend.dtype_of(t.native()) != np.dtype(dtype):
        raise Failed(f"its array is of {target.backend.dtype_of(t.native())}, not {dtype}")


def _own_memory(target: Target, dtype: str) -> None:
    """Writing to the host's array afterwards changes nothing on the device, nor the reverse."""
    _on(target, dtype)
    host = _bits(dtype)
    kept = host.copy()
    t = pg.tensor(host, device=target.device)
    host[...] = np.zeros((), host.dtype)
    _same_bits(target.download(t), kept, "after a write to the host's array (from_numpy must copy)")
    back = t.numpy() if hasattr(t, "numpy") else target.download(t)
    copied = np.array(back)
    copied[...] = np.zeros((), host.dtype)
    other = t.clone()
    other[...] = pg.zeros((), dtype=t.dtype, device=target.device)
    _same_bits(target.download(t), kept, "after a write to a clone")


def _in_layout(target: Target, dtype: str, layout: str) -> None:
    _on(target, dtype)
    host = values_in(np.resize(_bits(dtype), (2, 3, 4)), layout)
    _same_bits(target.download(target.upload(host, layout=layout)), host, f"layout {layout}")


def _host_strides(target: Target, dtype: str) -> None:
    """From the host's own views."""
    _on(target, dtype)
    host = np.resize(_bits(dtype), (4, 6))
    for view in (host.T, host[::2], host[:, ::-1], host[1:, 2:], np.broadcast_to(host[0], (3, 6))):
        made = target.download(pg.tensor(view, device=target.device))
        _same_bits(made, np.ascontiguousarray(view), f"a view with strides {view.strides}")


def _dlpack(target: Target, dtype: str) -> None:
    """To NumPy and back through DLPack, where the device's memory is the host's."""
    _on(target, dtype)
    host = _bits(dtype)
    t = pg.tensor(host, device=target.device)
    try:
        there = np.from_dlpack(t.to("cpu"))
    except (BufferError, TypeError) as error:
        if dtype == "bool":
            raise Unsupported(str(error)) from error
        raise
    _same_bits(np.array(there), host, "to NumPy")
    back = pg.from_dlpack(there, device=target.device)
    _same_bits(target.download(back), host, "from NumPy")


def _devices(target: Target, dtype: str) -> None:
    """To every other device of the backend, and back."""
    _on(target, dtype)
    host = _bits(dtype)
    for place in target.backend.devices():
        if not target.backend.supports(np.dtype(dtype), place):
            continue
        t = pg.tensor(host, device=target.device).to(place)
        if t.device != place:
            raise Failed(f"to({str(place)!r}) gave a tensor on {t.device}")
        _same_bits(target.download(t), host, f"on {place}")
        _same_bits(target.download(t.to(target.device)), host, f"back from {place}")
