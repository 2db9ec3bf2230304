"""What special functions are compared with: mpmath's, at points of their bulk, tails and edges."""

from __future__ import annotations

from tests.special_references.bessel import BESSEL
from tests.special_references.elementary import ELEMENTARY
from tests.special_references.elliptic import ELLIPTIC
from tests.special_references.error import ERROR
from tests.special_references.gamma import GAMMA
from tests.special_references.incomplete import DISTRIBUTIONS, INCOMPLETE
from tests.special_references.integrals import INTEGRALS
from tests.special_references.polynomials import POLYNOMIALS

CASES = {
    **GAMMA, **ERROR, **ELEMENTARY, **INCOMPLETE, **DISTRIBUTIONS, **BESSEL, **INTEGRALS,
    **ELLIPTIC, **POLYNOMIALS,
}  # fmt: skip
