"""Singular vectors of the off-diagonal covariance: an undocumented option of the released code ("SSL").

With C the covariance of φ, the directions are the eigenvectors of C − diag(C), largest absolute eigenvalue first. They
favour features that vary together over features that vary alone. When not to use: features that are nearly
uncorrelated leave only noise off the diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ftt.freeze.freezer import Basis, Freezer, spanned
from ftt.freeze.moments import Moments


@dataclass(frozen=True)
class OffDiagonal(Freezer):
    """Directions along which features vary together."""

    name: ClassVar[str] = "offdiag"

    def find(self, moments: Moments) -> Basis:
        covariance = moments.covariance()
        values, vectors = np.linalg.eigh(covariance - np.diag(np.diag(covariance)))
        order = np.argsort(-np.abs(values), kind="stable")
        return spanned(moments, vectors[:, order], moments.mean)
