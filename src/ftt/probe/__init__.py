"""Probing: many small logistic regressions, and the protocol that averages them."""

from ftt.probe.dfr import DFRProbe

__all__ = ["DFRProbe"]
