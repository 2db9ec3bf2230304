"""The networks by hand in CuPy: the text written for NumPy, read anew with CuPy in NumPy's place.

What it names of NumPy exists in CuPy, which a test sees to; no GPU has run it yet. The optimisers
make one pass over whole arrays for each of their operations, as there is no cache to fit into.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from types import ModuleType
from typing import Any

import benchmarks.problems  # noqa: F401 -- with the real NumPy, before it is replaced

HERE = __name__.rpartition(".")[0]
# Those that come later import those before.
TEXTS = ("layers", "images", "encoder", "optimizers", "science", "networks")


@contextmanager
def _in_place_of_numpy(library: ModuleType) -> Iterator[None]:
    """Let `import numpy` find another library, and the texts be read anew."""
    names = ["numpy", *(f"{HERE}.{text}" for text in TEXTS)]
    before = {name: sys.modules.pop(name, None) for name in names}
    sys.modules["numpy"] = library
    try:
        yield
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


def networks_in(library: ModuleType) -> Any:
    """`benchmarks.handwritten.networks`, over another library with NumPy's names."""
    made: dict[str, Any] = {}
    with _in_place_of_numpy(library):
        for text in TEXTS:
            spec = importlib.util.find_spec(f"{HERE}.{text}")
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[f"{HERE}.{text}"] = made[text] = module
            spec.loader.exec_module(module)
    made["optimizers"].Adam.piece = sys.maxsize
    return made["networks"]


def training(device: str, problem: Any, library: Any = None) -> Callable[[], float]:
    """One training step of `problem` on a GPU of CuPy's; `library` stands for CuPy in tests."""
    if library is None:
        library = importlib.import_module("cupy")
        place = library.cuda.Device(int(device.partition(":")[2] or 0))
    else:
        place = nullcontext()
    with place:
        step = networks_in(library).training(problem, move=library.asarray)

    def placed() -> float:
        with place:
            return step()  # type: ignore[no-any-return]

    return placed
