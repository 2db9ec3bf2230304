"""`scipy.fft` on Tensors, all of it.

With SCIPY_ARRAY_API=1 the Fourier transforms of `scipy.fft` go to the namespace of their argument.
The cosine and sine transforms go to NumPy, and so off the tape; but they are uarray multimethods,
and ask the backends that are registered first. This is one. It is imported when `scipy.fft` has
been, after `pg.enable_scipy()`.
"""

from __future__ import annotations

from typing import Any

import scipy.fft

import polygrad as pg

__all__ = ["UarrayBackend"]

_HERE = {"dct", "idct", "dst", "idst", "dctn", "idctn", "dstn", "idstn"}
_IGNORED = ("overwrite_x", "workers")


class UarrayBackend:
    """What `scipy.fft.register_backend` takes."""

    __ua_domain__ = "numpy.scipy.fft"

    @staticmethod
    def __ua_function__(method: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The transform of a Tensor by polygrad; NotImplemented for all else."""
        if method.__name__ not in _HERE or not args or not isinstance(args[0], pg.Tensor):
            return NotImplemented
        x, *rest = args
        # scipy.fft: type, n or s, axis or axes, norm, overwrite_x, workers. The last two say how
        # it is computed, not what.
        options = {k: v for k, v in kwargs.items() if k not in _IGNORED}
        return getattr(pg.fft, method.__name__)(x, *rest[:4], **options)


scipy.fft.register_backend(UarrayBackend)
