"""The conformance suite: does a device compute what NumPy computes in double precision?

The first file of it is parity: every operation, layer and optimiser, value and gradient, in the
device's own dtype against NumPy float64. """

from __future__ import annotations

from polygrad_conformance.parity import check_layer, check_operation, check_optimizer, subjects

__all__ = ["check_layer", "check_operation", "check_optimizer", "subjects"]
