"""What special functions are compared with: mpmath's, at points of their bulk, tails and edges."""

from __future__ import annotations

from polygrad_conformance.special_references.bessel import BESSEL
from polygrad_conformance.special_references.elementary import ELEMENTARY
from polygrad_conformance.special_references.elliptic import ELLIPTIC
from polygrad_conformance.special_references.error import ERROR
from polygrad_conformance.special_references.gamma import GAMMA
from polygrad_conformance.special_references.incomplete import DISTRIBUTIONS, INCOMPLETE
from polygrad_conformance.special_references.integrals import INTEGRALS
from polygrad_conformance.special_references.polynomials import POLYNOMIALS

CASES = {
    **GAMMA, **ERROR, **ELEMENTARY, **INCOMPLETE, **DISTRIBUTIONS, **BESSEL, **INTEGRALS,
    **ELLIPTIC, **POLYNOMIALS,
}  # fmt: skip
