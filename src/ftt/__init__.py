"""Freeze then Train: representation learning that survives spurious correlations and label noise.

The public names are imported when first used, so that ``import ftt`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftt.version import __version__

if TYPE_CHECKING:
    from ftt.data import GroupedData, load
    from ftt.errors import FttError
    from ftt.estimators import FTTClassifier, PCAFreezer
    from ftt.freeze.contrastive import Contrastive
    from ftt.freeze.offdiag import OffDiagonal
    from ftt.freeze.pca import PCA
    from ftt.freeze.random import RandomProjection
    from ftt.methods.cvar_dro import CVaRDRO
    from ftt.methods.erm import ERM
    from ftt.methods.group_dro import GroupDRO
    from ftt.methods.irm import IRM
    from ftt.methods.jtt import JTT
    from ftt.metrics import GroupReport, group_report
    from ftt.probe import DFRProbe, fit_together
    from ftt.spec import Probing, Spec, Training
    from ftt.train import FreezeThenTrain, Recipe, fit

_HOMES = {
    "CVaRDRO": "ftt.methods.cvar_dro",
    "Contrastive": "ftt.freeze.contrastive",
    "FTTClassifier": "ftt.estimators",
    "GroupDRO": "ftt.methods.group_dro",
    "IRM": "ftt.methods.irm",
    "JTT": "ftt.methods.jtt",
    "OffDiagonal": "ftt.freeze.offdiag",
    "PCAFreezer": "ftt.estimators",
    "RandomProjection": "ftt.freeze.random",
    "DFRProbe": "ftt.probe",
    "ERM": "ftt.methods.erm",
    "FreezeThenTrain": "ftt.train",
    "FttError": "ftt.errors",
    "GroupReport": "ftt.metrics",
    "GroupedData": "ftt.data",
    "PCA": "ftt.freeze.pca",
    "Probing": "ftt.spec",
    "Recipe": "ftt.train",
    "Spec": "ftt.spec",
    "Training": "ftt.spec",
    "fit": "ftt.train",
    "fit_together": "ftt.probe",
    "group_report": "ftt.metrics",
    "load": "ftt.data",
}

__all__ = [
    "ERM",
    "IRM",
    "JTT",
    "PCA",
    "CVaRDRO",
    "Contrastive",
    "DFRProbe",
    "FTTClassifier",
    "FreezeThenTrain",
    "FttError",
    "GroupDRO",
    "GroupReport",
    "GroupedData",
    "OffDiagonal",
    "PCAFreezer",
    "Probing",
    "RandomProjection",
    "Recipe",
    "Spec",
    "Training",
    "__version__",
    "fit",
    "fit_together",
    "group_report",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ftt' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
