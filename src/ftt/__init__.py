"""Freeze then Train: representation learning that survives spurious correlations and label noise."""

from ftt.version import __version__

__all__ = ["__version__"]
