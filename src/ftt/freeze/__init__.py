"""The unsupervised stage: which directions of the initial features are kept and never touched again."""

from ftt.freeze.freezer import Basis, Freezer, Projection

__all__ = ["Basis", "Freezer", "Projection"]
