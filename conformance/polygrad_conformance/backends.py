"""From what a user names to a device: a backend's name, `module:Class`, a class or an instance."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from polygrad.backend import Backend
from polygrad.errors import InvalidArgumentError, UnknownDeviceError
from polygrad.registry import Entry, adopt_backend, entries, find_device, load

__all__ = ["describe", "device_of", "environment"]

_VARIABLES = (
    "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "JAX_PLATFORMS", "XLA_FLAGS",
    "ONEAPI_DEVICE_SELECTOR",
    "CUDA_VISIBLE_DEVICES", "SYCL_CACHE_PERSISTENT",
)  # fmt: skip


def device_of(backend: Any, device: str = "") -> str:
    """The name of the device to test, after the backend has been made known to polygrad.

    Parameters
    ----------
    backend
        A name of the catalogue or of an entry point (`dpnp`), `module:Class`, a subclass of Backend
        or an instance of one.
        Empty: the one that serves the device.
    device
        One of its devices; the first one if not given.

    Raises
    ------
    PolygradError
        There is no such backend or device, or its library is not installed or broken.
    """
    if backend == "":
        return find_device(device or None).name
    if isinstance(backend, str) and ":" in backend:
        backend = _imported(backend)
    if isinstance(backend, str):
        names = [entry.name for entry in entries()]
        if backend not in names:
            raise UnknownDeviceError(
                f"there is no backend called {backend!r}",
                "known backends: " + ", ".join(sorted(names)),
                "correct the name, install its plugin, or write module:Class",
            )
        made = load(backend)
    else:
        made = _adopted(backend)
    return device or made.devices()[0].name


def _imported(target: str) -> Any:
    module, _, attribute = target.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidArgumentError(
            f"{target!r} cannot be imported: {error}",
            "option --backend",
            "write module:Class, of a module on the Python path",
        ) from error


def _adopted(backend: Any) -> Backend:
    """An instance, known to polygrad under its name."""
    instance = backend() if isinstance(backend, type) else backend
    if not isinstance(instance, Backend):
        raise InvalidArgumentError(
            f"{backend!r} is no backend",
            "option --backend",
            "derive the class from polygrad.backend.Backend",
        )
    cls = type(instance)
    adopt_backend(
        Entry(
            instance.name, f"{cls.__module__}:{cls.__qualname__}", tuple(instance.device_kinds),
            tuple(getattr(cls, "libraries", ())), getattr(cls, "install", ""),
        ),
        instance,
    )  # fmt: skip
    return instance


def describe(backend: Backend, device: str) -> dict[str, str]:
    """What a report says of a backend and its device."""
    library = backend.array_types[0].__module__.partition(".")[0]
    library = {"jaxlib": "jax"}.get(library, library)
    about = getattr(backend, "describe", None)
    told = about(device) if callable(about) else {}
    return {
        "backend": backend.name,
        "backend_version": f"{library} {version_of(library)}",
        "device": device,
        "device_description": told.get("description", platform.processor() or platform.machine()),
        "driver": told.get("driver", ""),
        "profile": _profile(backend.capabilities.accuracy),
    }


def _profile(accuracy: Any) -> str:
    """The accuracy claimed: of all dtypes, or by dtype where they differ from `full`."""
    if not accuracy:
        return "full"
    claims = sorted(f"{dtype} {profile}" for dtype, profile in dict(accuracy).items())
    return ", ".join(claims) + ", others full"


def version_of(package: str) -> str:
    """The version of an installed package, or `unknown`."""
    for name in (package, package.replace("_", "-")):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "unknown"


def environment() -> dict[str, str]:
    """What else a result may depend on."""
    found = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "system": f"{platform.system()} {platform.machine()}",
        "long double": f"{np.finfo(np.longdouble).nmant + 1} bits",
        "git": _git_state(),
    }
    found.update({name: os.environ[name] for name in _VARIABLES if name in os.environ})
    return found


def _git_state() -> str:
    """The commit of a checkout, with + where files differ; empty for an installed wheel."""
    here = Path(__file__).resolve().parents[2]
    if not (here / ".git").exists():
        return ""
    try:
        commit = _git(here, "rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git(here, "status", "--porcelain", "-uno") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True, timeout=10
    )
    return done.stdout.strip()
