"""The paper's settings, per data set and method, to the letter (Appendix B; JTT and CVaR-DRO as in the JTT paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ftt.errors import unknown
from ftt.params import Json


@dataclass(frozen=True)
class PaperSetting:
    """What differs from the defaults: backbone, training and the method's own parameters."""

    backbone: str
    training: Mapping[str, Json]
    method: Mapping[str, Json] = field(default_factory=dict)


RESNET18, RESNET50 = "timm:resnet18.tv_in1k", "timm:resnet50.tv_in1k"
_SGD = {"optimizer": "sgd", "momentum": 0.9}
_DOMINOES = {**_SGD, "lr": 0.01, "weight_decay": 1e-3, "epochs": 200, "batch_size": 256}
_DROP = {"schedule": "drop", "drop_after": 50, "drop_factor": 0.2}
_VIEWS = {"augment": "crop-flip"}
_WATERBIRDS = {**_SGD, **_VIEWS, "lr": 1e-3, "weight_decay": 1e-3, "epochs": 100, "batch_size": 128}
_CELEBA = {**_SGD, **_VIEWS, "lr": 1e-3, "weight_decay": 1e-4, "epochs": 50, "batch_size": 128}
_DOMAINBED = {
    "optimizer": "adam",
    "lr": 5e-5,
    "weight_decay": 0.0,
    "augment": "domainbed",
    "batchnorm": "frozen",
    "batch_size": 96,
    "steps": 5001,
    "sampling": "per-attribute",
}
_HALVES = {"variant": "halves"}

PAPER: dict[tuple[str, str], PaperSetting] = {
    ("dominoes", "erm"): PaperSetting(RESNET18, {**_DOMINOES, **_DROP}),
    ("waterbirds", "erm"): PaperSetting(RESNET50, _WATERBIRDS),
    ("waterbirds", "irm"): PaperSetting(RESNET50, _WATERBIRDS, _HALVES),
    ("waterbirds", "cvar-dro"): PaperSetting(
        RESNET50, {**_WATERBIRDS, "lr": 1e-4, "weight_decay": 1.0, "batch_size": 64}, {"alpha": 0.2}
    ),
    ("waterbirds", "jtt"): PaperSetting(
        RESNET50,
        {**_WATERBIRDS, "lr": 1e-5, "weight_decay": 1.0, "batch_size": 64, "epochs": 300},
        {"identify_epochs": 60, "upweight": 100},
    ),
    ("celeba", "erm"): PaperSetting(RESNET50, _CELEBA),
    ("celeba", "irm"): PaperSetting(RESNET50, _CELEBA, _HALVES),
    ("celeba", "cvar-dro"): PaperSetting(
        RESNET50, {**_CELEBA, "lr": 1e-5, "weight_decay": 0.1, "batch_size": 64}, {"alpha": 0.00852}
    ),
    ("celeba", "jtt"): PaperSetting(
        RESNET50,
        {**_CELEBA, "lr": 1e-5, "weight_decay": 0.1, "batch_size": 64},
        {"identify_epochs": 1, "upweight": 50},
    ),
    **{
        (name, method): PaperSetting(RESNET50, _DOMAINBED, options)
        for name in ("pacs", "officehome", "vlcs")
        for method, options in (("erm", {}), ("irm", {}), ("group-dro", {"eta": 0.01}))
    },
}


def paper_setting(dataset: str, method: str) -> PaperSetting:
    """The published setting of a method on a data set; FTT takes that of the method it is built on."""
    if (dataset, method) not in PAPER:
        known = [f"{name} with {loss}" for name, loss in PAPER]
        raise unknown("setting of the paper", f"{dataset} with {method}", known, hint="leave out --budget paper")
    return PAPER[dataset, method]
