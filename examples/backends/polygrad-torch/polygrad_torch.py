"""PyTorch for polygrad: its arrays and kernels on every device it has; polygrad's gradients."""

import array_api_compat.torch as xp
import numpy as np
import torch

from polygrad import dtypes
from polygrad.backend import Backend, Capabilities
from polygrad.device import Device
from polygrad.kernels import FORWARDS

BARE = ("uint16", "uint32", "uint64")  # torch has them, and neither flip, min nor // for them
DTYPES = {dtype: getattr(torch, dtype.name) for dtype in dtypes.ALL if dtype.name not in BARE}
DTYPE_OF = {native: dtype for dtype, native in DTYPES.items()}


def native_devices():
    """The default device of each kind that torch was built for, the accelerator's all, the CPU."""
    found = []
    if (accelerator := torch.accelerator.current_accelerator(check_available=True)) is not None:
        count = torch.accelerator.device_count()
        found = [torch.device(accelerator.type, i) for i in range(count)]
    return [*found, torch.device("cpu")]


def remainder(x, y):
    """torch gives a remainder of zero the sign of x, the standard that of y."""
    found = torch.remainder(x, y)
    if not found.is_floating_point():
        return found
    sign = y if isinstance(y, torch.Tensor) else torch.as_tensor(y, dtype=found.dtype)
    return torch.where(found == 0, torch.copysign(torch.zeros_like(found), sign), found)


def take(F, x, indices, axis):
    """torch wants 64-bit indices."""
    return FORWARDS["take"](F, x, indices.long(), axis=axis)


def take_along_axis(x, indices, axis=-1):
    return torch.take_along_dim(x, indices.long(), dim=axis)


class TorchBackend(Backend):
    """`torch:cpu`, `torch:cuda:0`, `torch:mps:0`, `torch:xpu:0`, …"""

    name = "torch"
    device_kinds = ("torch",)
    libraries = ("torch",)
    install = "pip install polygrad-torch"
    capabilities = Capabilities(
        sparse_keys=False, negative_steps=False, checks_indices=False, asynchronous=True
    )
    oom_errors = (MemoryError, torch.OutOfMemoryError)
    linalg_errors = (torch.linalg.LinAlgError,)

    def __init__(self):
        super().__init__()
        self._native = {Device(f"torch:{native}"): native for native in native_devices()}
        self._device_of = {native: device for device, native in self._native.items()}
        self.through_host("unique_all")
        self.kernel("take")(take)
        self.kernel("take_along_axis")(take_along_axis)
        self.kernel("remainder")(remainder)

    @property
    def array_types(self):
        return (torch.Tensor,)

    @property
    def xp(self):
        return xp

    @property
    def special(self):
        return torch.special

    def devices(self):
        return list(self._native)

    def native_device(self, device):
        return self._native[device]

    def device_of(self, array):
        return self._device_of[array.device]

    def native_dtype(self, dtype):
        return DTYPES[dtype]

    def dtype_of(self, array):
        return DTYPE_OF[array.dtype]

    def supports(self, dtype, device):
        return dtype in DTYPES

    def guard(self, device):
        """torch must not record what polygrad records."""
        return torch.no_grad

    def from_numpy(self, array, device):
        return torch.asarray(np.array(array), device=self._native[device])

    def to_numpy(self, array):
        return array.detach().cpu().numpy()

    def synchronize(self, device):
        if device.rest != "cpu":
            torch.accelerator.synchronize(self._native[device])
