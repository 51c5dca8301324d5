"""Freeze then Train: representation learning that survives spurious correlations and label noise.

The public names are imported when first used, so that ``import ftt`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ftt.version import __version__

if TYPE_CHECKING:
    from ftt import theory
    from ftt.api import (
        audit,
        compare,
        diagnose,
        export,
        fit,
        ls,
        plan,
        predict,
        reproduce,
        results,
        rm,
        run,
        save,
        show,
        sweep,
        write_report,
    )
    from ftt.data import GroupedData, load
    from ftt.diagnosis import Audit, Diagnosis
    from ftt.errors import FttError
    from ftt.estimators import FTTClassifier, PCAFreezer
    from ftt.freeze.contrastive import Contrastive
    from ftt.freeze.offdiag import OffDiagonal
    from ftt.freeze.pca import PCA
    from ftt.freeze.random import RandomProjection
    from ftt.launch import Resources
    from ftt.methods.cvar_dro import CVaRDRO
    from ftt.methods.erm import ERM
    from ftt.methods.group_dro import GroupDRO
    from ftt.methods.irm import IRM
    from ftt.methods.jtt import JTT
    from ftt.metrics import GroupReport, group_report
    from ftt.model import Model
    from ftt.probe import DFRProbe, fit_together
    from ftt.recipe import Recipe
    from ftt.result import Result
    from ftt.scoring import worst_group_scorer
    from ftt.spec import Probing, Spec, Training
    from ftt.store import Home
    from ftt.train import FreezeThenTrain

_HOMES = {
    "Audit": "ftt.diagnosis",
    "CVaRDRO": "ftt.methods.cvar_dro",
    "Contrastive": "ftt.freeze.contrastive",
    "DFRProbe": "ftt.probe",
    "Diagnosis": "ftt.diagnosis",
    "ERM": "ftt.methods.erm",
    "FTTClassifier": "ftt.estimators",
    "FreezeThenTrain": "ftt.train",
    "FttError": "ftt.errors",
    "GroupDRO": "ftt.methods.group_dro",
    "GroupReport": "ftt.metrics",
    "GroupedData": "ftt.data",
    "Home": "ftt.store",
    "IRM": "ftt.methods.irm",
    "JTT": "ftt.methods.jtt",
    "Model": "ftt.model",
    "OffDiagonal": "ftt.freeze.offdiag",
    "PCA": "ftt.freeze.pca",
    "PCAFreezer": "ftt.estimators",
    "Probing": "ftt.spec",
    "RandomProjection": "ftt.freeze.random",
    "Recipe": "ftt.recipe",
    "Resources": "ftt.launch",
    "Result": "ftt.result",
    "Spec": "ftt.spec",
    "Training": "ftt.spec",
    "audit": "ftt.api",
    "compare": "ftt.api",
    "diagnose": "ftt.api",
    "export": "ftt.api",
    "fit": "ftt.api",
    "fit_together": "ftt.probe",
    "group_report": "ftt.metrics",
    "load": "ftt.data",
    "ls": "ftt.api",
    "plan": "ftt.api",
    "predict": "ftt.api",
    "reproduce": "ftt.api",
    "results": "ftt.api",
    "rm": "ftt.api",
    "run": "ftt.api",
    "save": "ftt.api",
    "show": "ftt.api",
    "sweep": "ftt.api",
    "worst_group_scorer": "ftt.scoring",
    "write_report": "ftt.api",
}

__all__ = [
    "ERM",
    "IRM",
    "JTT",
    "PCA",
    "Audit",
    "CVaRDRO",
    "Contrastive",
    "DFRProbe",
    "Diagnosis",
    "FTTClassifier",
    "FreezeThenTrain",
    "FttError",
    "GroupDRO",
    "GroupReport",
    "GroupedData",
    "Home",
    "Model",
    "OffDiagonal",
    "PCAFreezer",
    "Probing",
    "RandomProjection",
    "Recipe",
    "Resources",
    "Result",
    "Spec",
    "Training",
    "__version__",
    "audit",
    "compare",
    "diagnose",
    "export",
    "fit",
    "fit_together",
    "group_report",
    "load",
    "ls",
    "plan",
    "predict",
    "reproduce",
    "results",
    "rm",
    "run",
    "save",
    "show",
    "sweep",
    "theory",
    "worst_group_scorer",
    "write_report",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name == "theory":
        return import_module("ftt.theory")
    if name not in _HOMES:
        raise AttributeError(f"module 'ftt' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
