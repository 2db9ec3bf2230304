"""Which SYCL devices there are, and why there are none.

Note [OpenCL on the CPU]
------------------------
The wheels bring Intel's OpenCL runtime for CPUs, but the file that announces it to the OpenCL
loader names a path of the machine that built it (IntelPython/dpctl#914). The variable
OCL_ICD_FILENAMES adds the library by its real path. It must be set before the process asks for
devices the first time. POLYGRAD_NO_OPENCL_SETUP=1 in the environment leaves it alone.
"""

from __future__ import annotations

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import dpctl

__all__ = ["find_opencl_cpu", "visible", "why_none"]

_DRIVERS = ("level_zero", "cuda", "hip", "opencl")  # of two for one card, the first is taken
# What hides devices, or keeps polygrad from naming one.
_SETTINGS = ("ONEAPI_DEVICE_SELECTOR", "OCL_ICD_VENDORS", "POLYGRAD_NO_OPENCL_SETUP")


def find_opencl_cpu() -> str | None:
    """Announce Intel's OpenCL runtime for CPUs and return its path: Note [OpenCL on the CPU]."""
    if os.environ.get("POLYGRAD_NO_OPENCL_SETUP") or os.environ.get("OCL_ICD_FILENAMES"):
        return os.environ.get("OCL_ICD_FILENAMES")
    candidates = [Path(sys.prefix) / "lib" / "libintelocl.so"]
    try:
        files = metadata.files("intel-opencl-rt") or ()
    except metadata.PackageNotFoundError:
        files = ()
    names = ("libintelocl.so", "intelocl64.dll")
    candidates = [Path(str(f.locate())) for f in files if f.name in names] + candidates
    for path in candidates:
        if path.is_file():
            os.environ["OCL_ICD_FILENAMES"] = str(path.resolve())
            return str(path.resolve())
    return None


def visible() -> dict[str, Any]:
    """The SyclDevices to use, by polygrad's names: GPUs first, each card once."""
    named: dict[str, Any] = {}
    for kind in ("gpu", "cpu", "accelerator"):
        kept: list[Any] = []
        for driver in _DRIVERS:
            seen = {d.vendor for d in kept}
            found = dpctl.get_devices(backend=driver, device_type=kind)
            kept += [d for d in found if d.vendor not in seen]
        named.update({f"sycl:{kind}:{i}": d for i, d in enumerate(kept)})
    return named


def why_none() -> str:
    """What to say where there are no devices; empty where there are."""
    runtime = find_opencl_cpu()
    if visible():
        return ""
    set_here = [f"{name}={os.environ[name]}" for name in _SETTINGS if os.environ.get(name)]
    return (
        "dpctl sees no SYCL device"
        + (f" (the environment has {', '.join(set_here)})" if set_here else "")
        + ". For a GPU install its Level Zero driver. For the CPU "
        + ("load this backend before anything else asks dpctl for devices" if runtime
           else "install intel-opencl-rt")
    )  # fmt: skip
