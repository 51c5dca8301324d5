"""How much of the paper's setting is run: `paper` to the letter, `cpu` reduced for two cores, `smoke` for tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ftt import registry
from ftt.errors import unknown
from ftt.params import Json
from ftt.spec import Probing, Spec, Training
from ftt.train import Recipe
from ftt.train.presets import paper_setting

BUDGETS = ("paper", "cpu", "smoke")


@dataclass(frozen=True)
class Setting:
    """One data set at one budget.

    Attributes
    ----------
    data : mapping
        Name and parameters of the data set; noise, held-out domain and seed are added run by run.
    backbone, training : str, Training
        Left out (None) where every method has its own, published ones.
    methods : mapping
        Parameters of methods that the reduction changes, by name.
    seeds, probing : int, Probing
        Training seeds of a cell unless asked otherwise, and how it is probed.
    reduced : str
        What differs from the paper, in words.
    """

    data: Mapping[str, Json]
    backbone: str | None
    training: Training | None
    seeds: int
    probing: Probing
    reduced: str
    methods: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)

    def spec(self, recipe: Recipe, seed: int, probe_seeds: int | None = None, **options: Json) -> Spec:
        """The run of a recipe with a seed and further parameters of the data set (noise, held-out domain)."""
        name = self.data["name"]
        method, training, backbone = recipe.method, self.training, self.backbone
        if training is None or backbone is None:
            published = paper_setting(name, method.name if method else "erm")
            training, backbone = Training().replace(**published.training), published.backbone
            method = method.replace(**published.method) if method else None
        elif method is not None:
            method = method.replace(**self.methods.get(method.name, {}))
        return Spec(
            data=registry.DATASETS.build({**self.data, **options, "seed": seed}),
            backbone=backbone,
            freeze=recipe.freeze,
            method=method,
            join=recipe.join,
            train=training,
            probe=self.probing if probe_seeds is None else self.probing.replace(seeds=probe_seeds),
            seed=seed,
        )


_LETTER = Probing(grid="paper")
_PROBED = Probing(seeds=5)
_NOTHING = "nothing"
_SMOKE = Setting(
    {"name": "digits"},
    "tinyconv",
    Training(epochs=2, lr=0.05),
    1,
    Probing(repeats=1, averages=2),
    "a test of the machinery: scikit-learn's digits, a tiny random network, two epochs",
    methods={"irm": {"variant": "halves"}},
)
_PHOTOS = "EfficientNet-Lite0 in place of ResNet-50, images of 96 pixels, 3 epochs, no augmentation, one training seed"
_DOMAINS = (
    "EfficientNet-Lite0 in place of ResNet-50, images of 96 pixels, 120 steps of 16 images a domain (the paper: 5,001 "
    "of 32), Adam at 3e-4 (5e-5), IRM's warm-up 12 steps (500, the same tenth), no augmentation, one training seed"
)
_SHIFTED = Training(
    optimizer="adam",
    lr=3e-4,
    weight_decay=0.0,
    batch_size=48,
    steps=120,
    sampling="per-attribute",
    batchnorm="frozen",
)

SETTINGS: dict[tuple[str, str], Setting] = {
    ("dominoes", "paper"): Setting({"name": "dominoes", "paper_sizes": True}, None, None, 5, _LETTER, _NOTHING),
    ("dominoes", "cpu"): Setting(
        {"name": "dominoes", "train_size": 5000},
        "lite0",
        Training(epochs=4, batch_size=64),
        1,
        _PROBED,
        "EfficientNet-Lite0 in place of ResNet-18, 5,000 training and 3,000 probing images that share none (the paper: "
        "10,000 and 10,000), 4 epochs of batches of 64 (200 of 256), one training seed (5), C also below 0.01",
    ),
    **{
        (name, "paper"): Setting({"name": name}, None, None, seeds, _LETTER, _NOTHING)
        for name, seeds in (("waterbirds", 10), ("celeba", 10), ("pacs", 1), ("officehome", 1), ("vlcs", 1))
    },
    ("waterbirds", "cpu"): Setting(
        {"name": "waterbirds", "size": 96},
        "lite0",
        Training(epochs=3, batch_size=64),
        1,
        _PROBED,
        _PHOTOS,
        methods={"irm": {"variant": "halves"}},
    ),
    ("celeba", "cpu"): Setting(
        {"name": "celeba", "size": 96},
        "lite0",
        Training(epochs=1, batch_size=64, steps=300),
        1,
        _PROBED,
        _PHOTOS.replace("3 epochs", "300 steps of 64 images"),
        methods={"irm": {"variant": "halves"}},
    ),
    **{
        (name, "cpu"): Setting(
            {"name": name, "size": 96},
            "lite0",
            _SHIFTED,
            1,
            _PROBED,
            _DOMAINS,
            methods={"irm": {"warmup": 12}},
        )
        for name in ("pacs", "officehome", "vlcs")
    },
    **{
        (name, "smoke"): Setting(
            {"name": name, "size": 32},
            "tinyconv",
            _SHIFTED.replace(batch_size=12, steps=2),
            1,
            Probing(repeats=1, averages=2),
            "a test of the machinery: images of 32 pixels, a tiny random network, two steps",
            methods={"irm": {"warmup": 1}},
        )
        for name in ("pacs", "officehome", "vlcs")
    },
    **{(name, "smoke"): _SMOKE for name in ("dominoes", "waterbirds", "celeba")},
}


def setting(dataset: str, budget: str) -> Setting:
    """How a data set is run at a budget."""
    if budget not in BUDGETS:
        raise unknown("budget", budget, BUDGETS)
    return SETTINGS[dataset, budget]
