"""Everything that can be chosen by name. Targets are "module:attr" strings, so that listing them imports nothing.

Other packages add their own through entry points (groups ``ftt.datasets``, ``ftt.backbones``, ``ftt.freezers``,
``ftt.methods``, ``ftt.sources``, ``ftt.experiments``), or at run time with `Registry.register`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ftt.errors import FttError, unknown
from ftt.params import Configurable, Options

if TYPE_CHECKING:
    from ftt.backbones import Backbone
    from ftt.data import Dataset
    from ftt.freeze.freezer import Freezer
    from ftt.methods.method import Method
    from ftt.paper.experiment import Experiment
    from ftt.sources.source import Source

T = TypeVar("T")
C = TypeVar("C", bound=Configurable)


@dataclass(frozen=True)
class Entry:
    """Where a registered object is defined, and a one-line summary of it."""

    target: str
    summary: str

    def load(self) -> Any:
        module, _, attr = self.target.partition(":")
        return getattr(importlib.import_module(module), attr)


class Registry(Generic[T]):
    """Names of objects that are imported when they are asked for.

    Examples
    --------
    >>> METHODS.get("erm").name
    'erm'
    """

    def __init__(self, kind: str, group: str, entries: Mapping[str, tuple[str, str]], mark: str = "") -> None:
        self.kind = kind
        self.group = group
        # What objects of this kind have: importing their base classes would import torch.
        self.mark = mark
        self._entries = {name: Entry(*pair) for name, pair in entries.items()}
        self._scanned = False

    def register(self, name: str, target: str, summary: str = "") -> None:
        """Add an object; a name that is taken is refused, not replaced."""
        if name in self._entries:
            raise FttError(
                f"a {self.kind} named {name!r} is already registered", given=target, allowed="a name that is not taken"
            )
        self._entries[name] = Entry(target, summary)

    def entries(self) -> dict[str, Entry]:
        """Everything registered, by name, including what other packages provide."""
        self._scan()
        return dict(sorted(self._entries.items()))

    def get(self, name: str) -> T:
        """The object behind a name; for ``family:member`` the object behind ``family``."""
        family = str(name).partition(":")[0]
        if family not in self._entries:
            self._scan()
        if family not in self._entries:
            raise unknown(self.kind, name, self._entries, hint=f"ftt ls {self.group}")
        try:
            found = self._entries[family].load()
        except Exception as error:  # a module of another package may raise anything
            target = self._entries[family].target
            raise FttError(
                f"the {self.kind} {family!r} cannot be imported",
                given=target,
                allowed="module:attribute",
                hint=f"{type(error).__name__}: {error}",
            ) from error
        if self.mark and not hasattr(found, self.mark):
            raise FttError(
                f"the {self.kind} {family!r} is an object of another kind",
                given=self._entries[family].target,
                allowed=f"an object with {self.mark!r}, as in docs/extending.md",
            )
        return cast(T, found)

    def _scan(self) -> None:
        if self._scanned:
            return
        self._scanned = True
        from importlib.metadata import entry_points  # costs more than the rest of this module together

        for point in entry_points(group=f"ftt.{self.group}"):
            if point.name not in self._entries:
                self._entries[point.name] = Entry(point.value, f"from {point.dist.name if point.dist else '?'}")


class PartRegistry(Registry[type[C]]):
    """Names of classes with parameters."""

    def build(self, description: Options) -> C:
        """The configured object of a description such as ``{"name": "pca", "p": 0.25}``."""
        if not isinstance(cast(Any, description), Mapping) or not isinstance(description.get("name"), str):
            raise FttError(
                f"a {self.kind} is described by its name and parameters",
                given=repr(description)[:80],
                allowed='{"name": …, parameter: value}',
                hint=f"ftt ls {self.group}",
            )
        return self.get(description["name"]).from_options(description)


DATASETS: PartRegistry[Dataset] = PartRegistry(
    "data set",
    "datasets",
    {
        "celeba": ("ftt.data.celeba:CelebA", "faces: hair blond or not, women and men; you place the folder"),
        "cmnist": ("ftt.data.coloured_mnist:ColouredMNIST", "coloured MNIST: digits below five or not, green or red"),
        "digits": ("ftt.data.digits:Digits", "embedded handwritten digits, one above another; no download"),
        "dominoes": ("ftt.data.dominoes:Dominoes", "CIFAR-10 cars/trucks above MNIST zeros/ones"),
        "embeddings": ("ftt.data.embeddings:Embeddings", "your features: npz, npy folder or parquet"),
        "folder": ("ftt.data.folders:Folder", "your images: folders of split, label and attribute, no list"),
        "huggingface": ("ftt.data.hub:Hub", "your Hugging Face data set, from disk or by name; extra [hub]"),
        "manifest": ("ftt.data.manifest:Manifest", "your images or texts: a CSV or Parquet list"),
        "officehome": ("ftt.data.domains:OfficeHome", "65 things in four domains; you place the folder"),
        "pacs": ("ftt.data.domains:PACS", "seven things in four domains; you place the folder"),
        "reviews": ("ftt.data.reviews:Reviews", "film reviews: sentiment and source, texts of a pip package"),
        "spuco-mnist": ("ftt.data.spuco_mnist:SpuCoMNIST", "SpuCo's MNIST: five pairs of digits, five colours"),
        "vlcs": ("ftt.data.domains:VLCS", "five things in four domains; you place the folder"),
        "waterbirds": ("ftt.data.waterbirds:Waterbirds", "birds before land or water; you place the folder"),
    },
    mark="from_options",
)

BACKBONES: Registry[type[Backbone]] = Registry(
    "backbone",
    "backbones",
    {
        "dense": ("ftt.backbones.dense:Dense", "dense:390x390: hidden layers with ReLU, random weights"),
        "hf": ("ftt.backbones.hf:HuggingFace", "hf:minilm (offline), hf:<folder or name>: text encoders, extra [text]"),
        "identity": ("ftt.backbones.identity:Identity", "the inputs themselves are the features"),
        "lite0": ("ftt.backbones.lite0:Lite0", "EfficientNet-Lite0, ImageNet weights from a pip package"),
        "mlp": ("ftt.backbones.mlp:Mlp", "a residual hidden layer over features that starts as the identity"),
        "timm": (
            "ftt.backbones.timm:Timm",
            "timm:<any>, timm:<any>@FILE; timm:resnet18.tv_in1k and timm:resnet50.tv_in1k are the paper's",
        ),
        "timm-random": ("ftt.backbones.timm:TimmRandom", "timm-random:<any>: the architecture with random weights"),
        "tinyconv": ("ftt.backbones.tinyconv:TinyConv", "three random convolutions; tinyconv:<seed>"),
    },
    mark="fingerprint",
)

FREEZERS: PartRegistry[Freezer] = PartRegistry(
    "freezer",
    "freezers",
    {
        "contrastive": ("ftt.freeze.contrastive:Contrastive", "learn without labels first, then principal components"),
        "offdiag": ("ftt.freeze.offdiag:OffDiagonal", "directions in which features vary together"),
        "pca": ("ftt.freeze.pca:PCA", "principal components of the initial features (the paper)"),
        "random": ("ftt.freeze.random:RandomProjection", "random directions: the control for PCA"),
    },
    mark="from_options",
)

METHODS: PartRegistry[Method] = PartRegistry(
    "method",
    "methods",
    {
        "cvar-dro": ("ftt.methods.cvar_dro:CVaRDRO", "the mean loss of the worst share of a batch"),
        "erm": ("ftt.methods.erm:ERM", "empirical risk minimisation: the mean loss"),
        "group-dro": ("ftt.methods.group_dro:GroupDRO", "groups with large losses weigh more"),
        "irm": ("ftt.methods.irm:IRM", "penalty on risks that differ between environments"),
        "jtt": ("ftt.methods.jtt:JTT", "train, find the errors, train again with them up-weighted"),
    },
    mark="from_options",
)

SOURCES: PartRegistry[Source] = PartRegistry(
    "source of features",
    "sources",
    {
        "auto": ("ftt.sources.auto:Auto", "initial features, trained ones or both, by held-out target score"),
        "erased": ("ftt.sources.erased:Erased", "initial features without the attribute (LEACE)"),
        "afr": ("ftt.sources.afr:AFR", "logits of a last layer refitted on rows the network gets wrong"),
        "initial": ("ftt.sources.initial:Initial", "all features of the initial model"),
        "inner-layers": ("ftt.sources.inner_layers:InnerLayers", "stages of the initial and of the trained network"),
        "lp-ft": ("ftt.sources.lp_ft:LpFt", "a network trained from a fitted head on"),
        "target": ("ftt.sources.target:Target", "a network fine-tuned on the target split itself"),
        "taught": ("ftt.sources.taught:Taught", "a network trained on labels that a target probe predicts"),
        "two-teachers": (
            "ftt.sources.two_teachers:TwoTeachers",
            "as taught, by a probe and a fine-tuned network together",
        ),
        "trained": ("ftt.sources.trained:TrainedAlone", "a network trained alone on the observed labels"),
        "wise-ft": ("ftt.sources.wise_ft:WiseFT", "weights between the initial and the trained network"),
    },
    mark="from_options",
)

EXPERIMENTS: Registry[Experiment] = Registry(
    "experiment",
    "experiments",
    {
        "auto": ("ftt.paper.auto_choice:AUTO_CHOICE", "Which way to choose a recipe loses least?"),
        "beyond": ("ftt.paper.beyond:BEYOND_TABLE", "Which recipe beats FTT, where, and at what cost?"),
        "beyond-rows": ("ftt.paper.beyond:BEYOND_ROWS", "How many target rows does each recipe need?"),
        "diagnosis": (
            "ftt.paper.diagnosis_grid:DIAGNOSIS",
            "Do estimated noises tell whether training helps?",
        ),
        "fig-dims": ("ftt.paper.probe_dimensions:FIG_DIMS", "How many principal components does probing need?"),
        "fig-dominoes": ("ftt.paper.noise_grid:FIG_DOMINOES", "How do ERM and FTT do in every noise setting?"),
        "fig-dominoes-p": ("ftt.paper.noise_grid:FIG_DOMINOES_P", "How does FTT do in every noise setting at every p?"),
        "fig1": ("ftt.paper.noise_grid:FIG1", "Does ERM harm where the core is noisier than the shortcut?"),
        "fig3": ("ftt.paper.toy_figure:FIG3", "Where does gradient flow end in the toy example?"),
        "fig4": ("ftt.paper.noise_tables:FIG4", "Does training help less as the core gets noisier?"),
        "random-weights": ("ftt.paper.ablations:RANDOM_WEIGHTS", "Does freezing help a network without pretraining?"),
        "recipes": ("ftt.paper.ablations:RECIPES", "Where does the gain of FTT come from?"),
        "reviews": ("ftt.paper.ablations:REVIEWS", "Does the same happen to texts?"),
        "selection": ("ftt.paper.epoch_selection:SELECTION", "Does choosing the epoch on noisy validation data help?"),
        "table-cmnist": (
            "ftt.paper.coloured_mnist:TABLE_CMNIST",
            "What if labels are noisier than colours?",
        ),
        "table-counts": ("ftt.paper.group_counts:TABLE_COUNTS", "Do the group counts equal the paper's?"),
        "table-main": ("ftt.paper.noise_tables:TABLE_MAIN", "Which method keeps its features under core noise?"),
        "table-p": ("ftt.paper.noise_tables:TABLE_P", "How sensitive is FTT to p?"),
        "table-shift": ("ftt.paper.domain_shift:TABLE_SHIFT", "Does freezing help without an explicit shortcut?"),
    },
    mark="checked",
)
