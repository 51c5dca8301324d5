"""Probing: many small logistic regressions, and the protocol that averages them."""

from ftt.probe.dfr import DFRProbe, fit_together

__all__ = ["DFRProbe", "fit_together"]
