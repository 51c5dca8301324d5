"""The one table of settings: (data set, budget) → sizes, backbone, training and probing, with what differs per method.

`ftt run`, `reproduce`, `demo`, sweeps, `ftt.fit` and the estimators read it. Budgets: ``paper`` is the published
setting to the letter (Appendix B; JTT and CVaR-DRO as in the JTT paper), ``cpu`` is reduced for two cores, ``smoke``
tests the machinery.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ftt import registry
from ftt.data.inputs import Kind
from ftt.errors import unknown
from ftt.params import Configurable, Options
from ftt.recipe import Recipe
from ftt.spec import Probing, Spec, Training, checked_seed

BUDGETS = ("cpu", "paper", "smoke")
BACKBONES: Mapping[Kind, str] = {"images": "lite0", "features": "identity", "texts": "hf:minilm"}
"""The backbone of data that has no row of its own, by what its inputs are."""


@dataclass(frozen=True)
class MethodSetting:
    """What one method changes: its own parameters, and those of the training."""

    options: Options = field(default_factory=dict)
    training: Options = field(default_factory=dict)


@dataclass(frozen=True)
class Changes:
    """What one run sets differently from the table, by part."""

    backbone: str | None = None
    data: Options = field(default_factory=dict)
    train: Options = field(default_factory=dict)
    probe: Options = field(default_factory=dict)
    freeze: Options = field(default_factory=dict)
    method: Options = field(default_factory=dict)


UNCHANGED = Changes()


@dataclass(frozen=True)
class Setting:
    """One data set at one budget.

    Attributes
    ----------
    data : mapping
        Name and sizes of the data set; noise, held-out domain and seed are set run by run.
    backbone : str, optional
        By default the one for the kind of inputs.
    training, probing : Training, Probing
        How it is trained and probed.
    seeds : int
        Training seeds of a cell of a table.
    methods : mapping of str to MethodSetting
        What differs per method.
    published : bool
        Whether only the methods listed in `methods` have a setting.
    reduced : str
        What differs from the paper, in words.
    """

    data: Options
    backbone: str | None = None
    training: Training = field(default_factory=Training)
    probing: Probing = field(default_factory=Probing)
    seeds: int = 1
    methods: Mapping[str, MethodSetting] = field(default_factory=dict)
    published: bool = False
    reduced: str = "nothing"

    def spec(self, recipe: Recipe, *, seed: int = 0, changes: Changes = UNCHANGED) -> Spec:
        """The run of a recipe; what the caller changes goes before what the table says."""
        special, seed = self._method(recipe), checked_seed(seed)
        source = registry.DATASETS.get(self.data["name"])
        # One seed for the noise and for the training, unless the data's own is given.
        seeded = {"seed": seed} if any(part.name == "seed" for part in source.params()) else {}
        data = source.from_options({**self.data, **seeded, **changes.data})
        backbone = changes.backbone or self.backbone or BACKBONES[data.kind]
        # An unknown backbone is better reported before anything runs.
        registry.BACKBONES.get(backbone)
        method, freezer = recipe.method, recipe.freeze
        if method is not None:
            method = method.replace(**{**_unset(method, special.options), **changes.method})
        if freezer is not None:
            freezer = freezer.replace(**changes.freeze)
        return Spec(
            data=data,
            backbone=backbone,
            recipe=replace(recipe, freeze=freezer, method=method),
            train=self.training.replace(**{**special.training, **changes.train}),
            probe=self.probing.replace(**changes.probe),
            seed=seed,
        )

    def _method(self, recipe: Recipe) -> MethodSetting:
        name = recipe.method.name if recipe.method else None
        if name is not None and self.published and name not in self.methods:
            hint = "use --budget cpu, or set the training yourself"
            raise unknown(f"published setting of {self.data['name']} with method", name, self.methods, hint=hint)
        return self.methods.get(name or "", MethodSetting())


def setting(dataset: str, budget: str = "cpu") -> Setting:
    """How a data set is run at a budget.

    Examples
    --------
    >>> setting("dominoes", "paper").backbone
    'timm:resnet18.tv_in1k'
    """
    if budget not in BUDGETS:
        raise unknown("budget", budget, BUDGETS)
    registry.DATASETS.get(dataset)
    if (dataset, budget) in _TABLE:
        return _TABLE[dataset, budget]
    if budget == "paper":
        published = sorted({name for name, level in _TABLE if level == "paper"})
        raise unknown("published setting of the data set", dataset, published, hint="leave out --budget paper")
    reduced = "not an experiment of the paper"
    return replace(_OWN_SMOKE if budget == "smoke" else _OWN, data={"name": dataset}, reduced=reduced)


def training_for(data: Configurable | None) -> Training:
    """The training that `ftt run` gives to this data set by default."""
    return setting(data.name).training if data is not None else Training()


def _unset(part: Configurable, options: Options) -> Options:
    """Those options whose parameter is still at its default: what a caller has set stays."""
    defaults = {known.name: known.default for known in part.params()}
    return {name: value for name, value in options.items() if getattr(part, name) == defaults[name]}


_RESNET18, _RESNET50 = "timm:resnet18.tv_in1k", "timm:resnet50.tv_in1k"
_LETTER = Probing(grid="paper")
_FIVE = Probing(seeds=5)
_QUICK = Probing(repeats=1, averages=2)
_ERM = {"erm": MethodSetting()}
_HALVES = {"irm": MethodSetting({"variant": "halves"})}

_OWN = Setting({}, training=Training(epochs=6, batch_size=128), probing=_FIVE)
_OWN_SMOKE = Setting({}, training=Training(epochs=2), probing=_QUICK)

_DIGITS = Setting(
    {"name": "digits"},
    "tinyconv",
    Training(epochs=40, lr=0.05),
    _FIVE,
    methods=_HALVES,
    reduced="not an experiment of the paper: scikit-learn's digits and a tiny network with random weights",
)
_SMOKE = replace(
    _DIGITS,
    training=Training(epochs=2, lr=0.05),
    probing=_QUICK,
    reduced="a test of the machinery: scikit-learn's digits, a tiny random network, two epochs",
)

_DOMINOES_LETTER = Setting(
    {"name": "dominoes", "paper_sizes": True},
    _RESNET18,
    Training(epochs=200, batch_size=256, lr=0.01, weight_decay=1e-3, schedule="drop", drop_after=50, drop_factor=0.2),
    _LETTER,
    seeds=5,
    methods=_ERM,
    published=True,
)
_DOMINOES_CPU = Setting(
    {"name": "dominoes"},
    "lite0",
    Training(epochs=4, batch_size=64),
    _FIVE,
    reduced="EfficientNet-Lite0 in place of ResNet-18, 5,000 training and 3,000 probing images that share none (the "
    "paper: 10,000 and 10,000), 4 epochs of batches of 64 (200 of 256), fewer training seeds (5), C also below 0.01",
)

_PHOTO = Training(lr=1e-3, weight_decay=1e-3, epochs=100, batch_size=128, augment="crop-flip")
_WATERBIRDS_LETTER = Setting(
    {"name": "waterbirds"},
    _RESNET50,
    _PHOTO,
    _LETTER,
    seeds=10,
    methods={
        **_ERM,
        **_HALVES,
        "cvar-dro": MethodSetting({"alpha": 0.2}, {"lr": 1e-4, "weight_decay": 1.0, "batch_size": 64}),
        "jtt": MethodSetting(
            {"identify_epochs": 60, "upweight": 100},
            {"lr": 1e-5, "weight_decay": 1.0, "batch_size": 64, "epochs": 300},
        ),
    },
    published=True,
)
_CELEBA_LETTER = Setting(
    {"name": "celeba"},
    _RESNET50,
    _PHOTO.replace(weight_decay=1e-4, epochs=50),
    _LETTER,
    seeds=10,
    methods={
        **_ERM,
        **_HALVES,
        "cvar-dro": MethodSetting({"alpha": 0.00852}, {"lr": 1e-5, "weight_decay": 0.1, "batch_size": 64}),
        "jtt": MethodSetting(
            {"identify_epochs": 1, "upweight": 50}, {"lr": 1e-5, "weight_decay": 0.1, "batch_size": 64}
        ),
    },
    published=True,
)
_PHOTOS = "EfficientNet-Lite0 in place of ResNet-50, images of 96 pixels, 3 epochs, no augmentation, one training seed"
_WATERBIRDS_CPU = Setting(
    {"name": "waterbirds", "size": 96},
    "lite0",
    Training(epochs=3, batch_size=64),
    _FIVE,
    methods=_HALVES,
    reduced=_PHOTOS,
)
_CELEBA_CPU = replace(
    _WATERBIRDS_CPU,
    data={"name": "celeba", "size": 96},
    training=Training(epochs=1, batch_size=64, steps=300),
    reduced=_PHOTOS.replace("3 epochs", "300 steps of 64 images"),
)


def _photo_smoke(name: str) -> Setting:
    return Setting(
        {"name": name, "size": 32},
        "tinyconv",
        Training(epochs=1, batch_size=16, lr=0.05, steps=2),
        _QUICK,
        methods=_HALVES,
        reduced="a test of the machinery: images of 32 pixels, a tiny random network, two steps",
    )


_DOMAINBED = Training(
    optimizer="adam", lr=5e-5, weight_decay=0.0, batch_size=96, steps=5001, sampling="per-attribute", batchnorm="frozen"
)
_SHIFTED = _DOMAINBED.replace(lr=3e-4, batch_size=48, steps=120)
_DOMAINS = (
    "EfficientNet-Lite0 in place of ResNet-50, images of 96 pixels, 120 steps of 16 images per domain (the paper: "
    "5,001 of 32), Adam at 3e-4 (5e-5), IRM's warm-up 12 steps (500, the same tenth), no augmentation, one "
    "training seed"
)


def _domains(name: str) -> dict[tuple[str, str], Setting]:
    """PACS, Office-Home and VLCS differ in their folders only."""
    return {
        (name, "paper"): Setting(
            {"name": name},
            _RESNET50,
            _DOMAINBED.replace(augment="domainbed"),
            _LETTER,
            methods={**_ERM, "irm": MethodSetting(), "group-dro": MethodSetting({"eta": 0.01})},
            published=True,
        ),
        (name, "cpu"): Setting(
            {"name": name, "size": 96},
            "lite0",
            _SHIFTED,
            _FIVE,
            methods={"irm": MethodSetting({"warmup": 12})},
            reduced=_DOMAINS,
        ),
        (name, "smoke"): Setting(
            {"name": name, "size": 32},
            "tinyconv",
            _SHIFTED.replace(batch_size=12, steps=2),
            _QUICK,
            methods={"irm": MethodSetting({"warmup": 1})},
            reduced="a test of the machinery: images of 32 pixels, a tiny random network, two steps",
        ),
    }


_REVIEWS = Setting(
    {"name": "reviews"},
    "hf:minilm@64",
    Training(epochs=1, batch_size=32, optimizer="adam", lr=1e-4, weight_decay=0.0),
    _FIVE,
    reduced="not an experiment of the paper",
)

_CMNIST = Setting(
    {"name": "cmnist", "train_size": 10_000, "val_size": 2000},
    "mlp:64",
    Training(epochs=8, batch_size=250, optimizer="adam", lr=1e-3, weight_decay=2e-3),
    Probing(seeds=3),
    seeds=3,
    methods={
        "irm": MethodSetting({"penalty": 1e4, "warmup": 100}, {"epochs": 50, "batch_size": 2000}),
        "group-dro": MethodSetting({"groups": "label-attribute"}),
        "jtt": MethodSetting({"upweight": 5}),
    },
    reduced="not an experiment of the paper: two environments of 5,000 images (25,000), one hidden layer of 64 "
    "beside the pixels (two of 390), 320 steps of 250 images, IRM 250 of 2,000 (501 of all 50,000)",
)

_SPUCO = Setting(
    {"name": "spuco-mnist", "train_size": 10_000, "val_size": 2500, "test_size": 5000},
    "lite0",
    Training(epochs=2, batch_size=64),
    _FIVE,
    methods=_HALVES,
    reduced="not an experiment of the paper: 10,000 training images (48,004), EfficientNet-Lite0 in place "
    "of a LeNet, two epochs of batches of 64",
)

_TABLE: dict[tuple[str, str], Setting] = {
    ("cmnist", "cpu"): _CMNIST,
    ("cmnist", "smoke"): replace(
        _CMNIST,
        data={"name": "cmnist", "train_size": 400, "val_size": 200, "test_size": 400},
        training=_CMNIST.training.replace(epochs=1),
        probing=_QUICK,
        seeds=1,
        reduced="a test of the machinery: 400 training images, one epoch",
    ),
    ("spuco-mnist", "cpu"): _SPUCO,
    ("spuco-mnist", "smoke"): replace(
        _SPUCO,
        data={"name": "spuco-mnist", "train_size": 500, "val_size": 500, "test_size": 500},
        backbone="tinyconv",
        training=Training(epochs=1, lr=0.05),
        probing=_QUICK,
        reduced="a test of the machinery: 500 training images, a tiny random network, one epoch",
    ),
    ("dominoes", "paper"): _DOMINOES_LETTER,
    ("dominoes", "cpu"): _DOMINOES_CPU,
    ("dominoes", "smoke"): _SMOKE,
    ("waterbirds", "paper"): _WATERBIRDS_LETTER,
    ("waterbirds", "cpu"): _WATERBIRDS_CPU,
    ("waterbirds", "smoke"): _photo_smoke("waterbirds"),
    ("celeba", "paper"): _CELEBA_LETTER,
    ("celeba", "cpu"): _CELEBA_CPU,
    ("celeba", "smoke"): _photo_smoke("celeba"),
    **_domains("pacs"),
    **_domains("officehome"),
    **_domains("vlcs"),
    ("digits", "cpu"): _DIGITS,
    ("digits", "smoke"): _SMOKE,
    ("reviews", "cpu"): _REVIEWS,
    ("reviews", "smoke"): replace(_REVIEWS, training=_REVIEWS.training.replace(steps=2), probing=_QUICK),
    ("embeddings", "cpu"): replace(_OWN, data={"name": "embeddings"}, training=Training(epochs=20)),
}
