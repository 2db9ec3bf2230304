"""`pg.enable_scipy()`: let SciPy and scikit-learn compute with Tensors, on the tape."""

from __future__ import annotations

import os
import sys

from polygrad.errors import ImportOrderError
from polygrad.interop.imports import when_imported

__all__ = ["enable_scipy"]

SWITCH = "SCIPY_ARRAY_API"


def enable_scipy() -> None:
    """Let SciPy's functions take Tensors, compute on their device and be recorded.

    SciPy decides when it is imported whether it computes with the arrays it is given or converts
    them to NumPy's. This sets the environment variable that it looks at, SCIPY_ARRAY_API, and so
    must come first: right after `import polygrad`, before anything that imports SciPy. It also
    tells `scipy.fft` of polygrad's cosine and sine transforms. Calling it twice is harmless.

    scikit-learn asks for a word more: `sklearn.set_config(array_api_dispatch=True)`.

    Raises
    ------
    ImportOrderError
        SciPy was imported already, by somebody, without SCIPY_ARRAY_API.

    Examples
    --------
    In a new Python:

    >>> import polygrad as pg
    >>> pg.enable_scipy()                                   # doctest: +SKIP
    >>> from scipy import stats                             # doctest: +SKIP
    >>> x = pg.tensor([1.0, 2.0, 4.0], requires_grad=True)  # doctest: +SKIP
    >>> stats.skew(x).backward()                            # doctest: +SKIP
    """
    if False in _decisions():
        raise ImportOrderError(
            "SciPy was imported before polygrad could tell it to keep Tensors",
            f"enable_scipy, {SWITCH} is {os.environ.get(SWITCH)!r}",
            "call pg.enable_scipy() right after `import polygrad`, before SciPy, scikit-learn or "
            f"what imports them; or start Python with {SWITCH}=1",
        )
    if not os.environ.get(SWITCH):
        os.environ[SWITCH] = "1"
    when_imported("scipy.fft", "polygrad.interop.scipy_fft")


def _decisions() -> set[bool]:
    """How the parts of SciPy that are loaded have read the switch; normally one answer, or none.

    Which module reads it differs from release to release.
    """
    return {
        bool(vars(module)[SWITCH])
        for name, module in list(sys.modules.items())
        if name.startswith("scipy.") and SWITCH in getattr(module, "__dict__", ())
    }
