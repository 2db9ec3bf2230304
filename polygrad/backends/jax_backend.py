"""JAX, eagerly: arrays that cannot be written, and numerics of another house to compare with.

Loading this backend switches JAX's 64-bit types on for the whole process, because polygrad checks
gradients in float64, where JAX would silently compute in float32. If the environment variable
JAX_ENABLE_X64 is set, its word stands, and `supports` says no to 64-bit types where it says no.
"""

from __future__ import annotations

import os
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from polygrad import dtypes
from polygrad.backend import Array, Backend, Capabilities, Kernel
from polygrad.backends.jax_gaps import KNOWN_GAPS
from polygrad.device import Device
from polygrad.kernels import FORWARDS, bind

if "JAX_ENABLE_X64" not in os.environ:
    jax.config.update("jax_enable_x64", True)


# Of JAX 0.10: poch(50, 1/2) is NaN in float32, (1e6, 1) in float64; beta and betaln have 5 digits
# in float64 at (-3.3, 8).
_WRONG = frozenset({"beta", "betaln", "poch"})


class _Special:
    """A module without the functions in `_WRONG`."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        if name in _WRONG:
            raise AttributeError(name)
        return getattr(self.module, name)


class JaxBackend(Backend):
    """The CPU and whatever else JAX was installed for."""

    name = "jax"
    device_kinds = ("jax",)
    capabilities = Capabilities(
        compiles=True,
        writeable=False,
        sparse_keys=False,
        checks_indices=False,
        asynchronous=True,
        subnormals=False,
        # On CPUs: cosh is off by 24 units in float32, log1p by 128 in float64.
        accuracy={
            "float16": "relaxed", "float32": "relaxed", "complex64": "relaxed",
            "float64": "fast", "complex128": "fast",
        },
    )  # fmt: skip
    known_gaps = KNOWN_GAPS

    def __init__(self) -> None:
        super().__init__()
        natives = [*jax.devices(), *jax.devices("cpu")]
        self._native = {Device(f"jax:{d.platform}:{d.id}"): d for d in natives}
        self._device_of = {native: device for device, native in self._native.items()}
        self.kernel("remainder")(_remainder)
        self.kernel("sign")(_sign)

    @classmethod
    def problem(cls) -> str:
        """JAX finds no device, not even a CPU, or cannot start the one it was told to use."""
        try:
            jax.devices()
        except RuntimeError as error:
            return str(error)
        return ""

    @property
    def array_types(self) -> tuple[type, ...]:
        """The class of concrete arrays; what JAX traces with is none of polygrad's."""
        return (type(jnp.zeros(())),)

    @property
    def xp(self) -> Any:
        """jax.numpy."""
        return jnp

    @property
    def special(self) -> Any:
        """jax.scipy.special, but for what polygrad's own formulas are right in."""
        import jax.scipy.special

        return _Special(jax.scipy.special)

    def devices(self) -> list[Device]:
        """JAX's default device first."""
        return list(self._native)

    def native_device(self, device: Device) -> Any:
        """JAX's own object."""
        return self._native[device]

    def device_of(self, array: Array) -> Device:
        """By JAX's own object."""
        return self._device_of[array.device]

    def supports(self, dtype: dtypes.Dtype, device: Device) -> bool:
        """Everything, 64-bit types if JAX was told so, and bfloat16."""
        if dtype.name in ("int64", "uint64", "float64", "complex128"):
            return bool(jax.config.jax_enable_x64)
        return dtype in dtypes.ALL or dtype.name == "bfloat16"

    def from_numpy(self, array: np.ndarray[Any, Any], device: Device) -> Array:
        """A copy: JAX itself may keep using NumPy's memory."""
        return jax.device_put(np.array(array, order="C"), self._native[device])

    def to_numpy(self, array: Array) -> np.ndarray[Any, Any]:
        """A read-only view on the CPU, a copy from elsewhere."""
        return np.asarray(array)

    def synchronize(self, device: Device) -> None:
        """A device works in order: wait for something that was submitted last."""
        jax.block_until_ready(jnp.zeros((), device=self._native[device]) + 1)

    def empty_cache(self, device: Device) -> None:
        """All compiled code, which JAX keeps for ever: half a megabyte for each new shape."""
        del device
        jax.clear_caches()

    def memory(self, device: Device) -> tuple[int, int] | None:
        """On devices that keep count."""
        stats = self._native[device].memory_stats() or {}
        if "bytes_limit" not in stats:
            return None
        return stats["bytes_limit"] - stats["bytes_in_use"], stats["bytes_limit"]

    def hardware(self, device: Device) -> tuple[str, str]:
        """The kind of the device, and the platform that runs it."""
        native = self._native[device]
        return native.device_kind, native.client.platform_version.partition("\n")[0].strip()


def _sign(x: Array) -> Array:
    """JAX keeps the sign of a zero; NaN of a complex number goes into both parts."""
    out = jnp.sign(x) + 0
    if not jnp.iscomplexobj(x):
        return out
    return jnp.where(jnp.isnan(x), complex(np.nan, np.nan), out)


def _remainder(F: Any) -> Kernel:
    """The library gives a remainder of zero the sign of x, the standard that of y."""
    plain = bind(cast("Kernel", FORWARDS["remainder"]), F)  # complex numbers are refused here

    def remainder(x: Any, y: Any) -> Array:
        found = plain(x, y)
        if not jnp.issubdtype(found.dtype, jnp.floating):
            return found
        return jnp.where(found == 0, jnp.copysign(jnp.zeros_like(found), y), found)

    return remainder
