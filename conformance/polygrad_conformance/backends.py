"""From what a user names to a device: a backend's name, `module:Class`, a class or an instance."""

from __future__ import annotations

import importlib
import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from polygrad.backend import Backend
from polygrad.entry import Entry, entry_of, said
from polygrad.errors import (
    BackendBrokenError,
    InvalidArgumentError,
    PolygradError,
    UnknownDeviceError,
)
from polygrad.registry import adopt_backend, find_device, load, open_backend

__all__ = ["describe", "device_of", "environment", "plugin_errors"]

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
    made = load(backend) if isinstance(backend, str) else _adopted(backend)
    if not made.devices():
        raise UnknownDeviceError(
            f"the backend {made.name!r} works, but it has no device: its devices() is empty",
            f"backend {made.name!r}",
            "see whether the driver runs and this user may open the device",
        )
    return device or made.devices()[0].name


@contextmanager
def plugin_errors() -> Iterator[None]:
    """What a backend's own code raises within, said with the line of it that did.

    Raises
    ------
    BackendBrokenError
        In the place of any exception that is not polygrad's.
    """
    try:
        yield
    except PolygradError:
        raise
    except (Exception, SystemExit) as error:
        raise BackendBrokenError(
            f"the backend cannot be used: {said(error)}", "", "mend it there"
        ) from error


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
    except (Exception, SystemExit) as error:
        raise BackendBrokenError(
            f"{target!r} cannot be imported: {said(error)}",
            "option --backend",
            f"mend the module {module}",
        ) from error


def _adopted(backend: Any) -> Backend:
    """An instance, known to polygrad under its name."""
    cls = backend if isinstance(backend, type) else type(backend)
    if not issubclass(cls, Backend):
        raise InvalidArgumentError(
            f"{backend!r} is no backend",
            "option --backend",
            "derive the class from polygrad.backend.Backend",
        )
    target, name = f"{cls.__module__}:{cls.__qualname__}", getattr(cls, "name", "")
    entry = Entry(name, target, (), (), "")
    if isinstance(backend, type):
        return open_backend(cls, entry)
    adopt_backend(entry_of(cls, entry), backend)
    return backend


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
