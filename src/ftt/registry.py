"""What the house offers by name. Targets are "module:attr" strings, so listing them imports nothing.

A third party adds its own through entry points (group ``ftt.datasets``, ``ftt.backbones``, ``ftt.freezers``,
``ftt.methods``), or at run time with `Registry.register`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ftt.errors import FttError, unknown
from ftt.params import Configurable, Json


@dataclass(frozen=True)
class Entry:
    """One offered thing: where it is, and what it is in one line."""

    target: str
    summary: str

    def load(self) -> Any:
        module, _, attr = self.target.partition(":")
        return getattr(importlib.import_module(module), attr)


class Registry:
    """Names to lazily imported objects.

    Examples
    --------
    >>> METHODS.get("erm").name
    'erm'
    """

    def __init__(self, kind: str, group: str, entries: Mapping[str, tuple[str, str]]) -> None:
        self.kind = kind
        self.group = group
        self._entries = {name: Entry(*pair) for name, pair in entries.items()}
        self._scanned = False

    def register(self, name: str, target: str, summary: str = "") -> None:
        """Offer one more thing; a taken name is refused rather than replaced."""
        if name in self._entries:
            raise FttError(
                f"a {self.kind} called {name!r} is there already",
                given=target,
                allowed="a name that is not taken",
            )
        self._entries[name] = Entry(target, summary)

    def entries(self) -> dict[str, Entry]:
        """Everything offered, third parties included, by name."""
        self._scan()
        return dict(sorted(self._entries.items()))

    def get(self, name: str) -> Any:
        """The object behind a name; for ``family:member`` the object behind ``family``."""
        family = name.partition(":")[0]
        if family not in self._entries:
            self._scan()
        if family not in self._entries:
            raise unknown(self.kind, name, self._entries, hint=f"ftt ls {self.group}")
        return self._entries[family].load()

    def build(self, description: Mapping[str, Json]) -> Configurable:
        """The configured object of a description such as ``{"name": "pca", "p": 0.25}``."""
        options = dict(description)
        made: Configurable = self.get(options.pop("name")).from_options(options)
        return made

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        from importlib.metadata import entry_points  # costs more than the rest of this module together

        for point in entry_points(group=f"ftt.{self.group}"):
            if point.name not in self._entries:
                self._entries[point.name] = Entry(point.value, f"from {point.dist.name if point.dist else '?'}")


DATASETS = Registry(
    "data set",
    "datasets",
    {
        "celeba": ("ftt.data.celeba:CelebA", "faces: hair blond or not, women and men; you place the folder"),
        "digits": ("ftt.data.digits:Digits", "embedded handwritten digits, one above another; no download"),
        "dominoes": ("ftt.data.dominoes:Dominoes", "CIFAR-10 cars/trucks above MNIST zeros/ones"),
        "embeddings": ("ftt.data.embeddings:Embeddings", "your features: npz, npy folder or parquet"),
        "folder": ("ftt.data.folders:Folder", "your images: folders of split, label and attribute, no list"),
        "huggingface": ("ftt.data.hub:Hub", "your Hugging Face data set, from disk or by name; extra [hub]"),
        "manifest": ("ftt.data.manifest:Manifest", "your images or texts: a CSV or Parquet list"),
        "officehome": ("ftt.data.domains:OfficeHome", "65 things in four domains; you place the folder"),
        "pacs": ("ftt.data.domains:PACS", "seven things in four domains; you place the folder"),
        "reviews": ("ftt.data.reviews:Reviews", "film reviews: sentiment and source, texts of a pip package"),
        "vlcs": ("ftt.data.domains:VLCS", "five things in four domains; you place the folder"),
        "waterbirds": ("ftt.data.waterbirds:Waterbirds", "birds before land or water; you place the folder"),
    },
)

BACKBONES = Registry(
    "backbone",
    "backbones",
    {
        "hf": ("ftt.backbones.hf:HuggingFace", "hf:minilm (offline), hf:<folder or name>: text encoders, extra [text]"),
        "identity": ("ftt.backbones.identity:Identity", "the inputs themselves are the features"),
        "lite0": ("ftt.backbones.lite0:Lite0", "EfficientNet-Lite0, ImageNet weights from a pip package"),
        "mlp": ("ftt.backbones.mlp:Mlp", "a residual hidden layer over features that starts as the identity"),
        "timm": (
            "ftt.backbones.timm:Timm",
            "timm:<any>; timm:resnet18.tv_in1k and timm:resnet50.tv_in1k are the paper's",
        ),
        "timm-random": ("ftt.backbones.timm:TimmRandom", "timm-random:<any>: the architecture with random weights"),
        "tinyconv": ("ftt.backbones.tinyconv:TinyConv", "three random convolutions; tinyconv:<seed>"),
    },
)

FREEZERS = Registry(
    "freezer",
    "freezers",
    {
        "contrastive": ("ftt.freeze.contrastive:Contrastive", "learn without labels first, then principal components"),
        "offdiag": ("ftt.freeze.offdiag:OffDiagonal", "directions in which features vary together"),
        "pca": ("ftt.freeze.pca:PCA", "principal components of the initial features (the paper)"),
        "random": ("ftt.freeze.random:RandomProjection", "random directions: the control for PCA"),
    },
)

METHODS = Registry(
    "method",
    "methods",
    {
        "cvar-dro": ("ftt.methods.cvar_dro:CVaRDRO", "the mean loss of the worst share of a batch"),
        "erm": ("ftt.methods.erm:ERM", "empirical risk minimisation: the mean loss"),
        "group-dro": ("ftt.methods.group_dro:GroupDRO", "groups with large losses weigh more"),
        "irm": ("ftt.methods.irm:IRM", "penalty on risks that differ between environments"),
        "jtt": ("ftt.methods.jtt:JTT", "train, find the errors, train again with them up-weighted"),
    },
)
