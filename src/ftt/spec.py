"""One run, described completely: data, backbone, recipe, training, probing, seed.

A `Spec` holds plain, validated values only, so it can be written as JSON, read back, sent to another machine and
compared. A `Run` is a Spec together with its key, a hash over the Spec and over the content of the files it reads:
two runs with the same key are the same run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

from ftt import registry
from ftt.errors import FttError, described
from ftt.params import LARGEST, Configurable, Json, Options, digest, param
from ftt.recipe import Recipe, as_recipe

if TYPE_CHECKING:
    from ftt.data import Dataset, Roots

FORMAT = 2
"""Raised when stored results of an older version may no longer be reused."""


@dataclass(frozen=True)
class Training(Configurable):
    """How the supervised stage is optimised."""

    name: ClassVar[str] = "training"

    epochs: int = param(6, help="passes over the training split", low=1, high=10**6)
    batch_size: int = param(128, help="samples per step, over all devices", low=1, high=10**6)
    optimizer: str = param("sgd", help="optimizer", choices=("sgd", "adam"))
    lr: float = param(0.01, help="learning rate", low=0, open_low=True)
    momentum: float = param(0.9, help="momentum of SGD", low=0, high=0.9999)
    weight_decay: float = param(1e-3, help="L2 penalty on the trained weights", low=0)
    schedule: str = param(
        "constant",
        help="learning rate over time: constant, one drop, or a half cosine",
        choices=("constant", "drop", "cosine"),
    )
    drop_after: int = param(50, help="epochs before the drop (schedule drop)", low=1)
    drop_factor: float = param(0.2, help="factor of the drop (schedule drop)", low=0, open_low=True)
    augment: str = param(
        "none",
        help="random views of the images; frozen features are then computed for every view",
        choices=("none", "crop-flip", "domainbed"),
    )
    steps: int | None = param(None, help="number of steps, whatever the epochs", low=1, high=10**8)
    sampling: str = param(
        "shuffle",
        help="every row once per epoch, or equally many rows of every attribute value per batch, with replacement",
        choices=("shuffle", "per-attribute"),
    )
    batchnorm: str = param("train", help="BatchNorm statistics of the trained branch", choices=("train", "frozen"))
    precision: str = param(
        "32-true", help="arithmetic of the forward pass", choices=("32-true", "bf16-mixed", "16-mixed")
    )
    select: str = param(
        "last",
        help="epoch that is kept: the last, or the best worst group (label and attribute) on the target split",
        choices=("last", "worst-group"),
        added=True,
    )


@dataclass(frozen=True)
class Probing(Configurable):
    """How the last layer is retrained on the target environment."""

    name: ClassVar[str] = "probing"

    grid: str = param(
        "wide", help="values of C: the paper's, these extended downwards, or DFR's", choices=("wide", "paper", "dfr")
    )
    penalty: str = param("l2", help="penalty of the logistic regressions", choices=("l2", "l1"))
    groups: str = param(
        "attribute",
        help="groups that are balanced and compared: the attribute, or label and attribute together",
        choices=("attribute", "label-attribute"),
    )
    scale: bool = param(False, help="scale every feature to unit variance first")
    penalties: str = param(
        "shared", help="one penalty for all features, or one per block of features", choices=("shared", "per-block")
    )
    criterion: str = param(
        "worst-group",
        help="held-out score that chooses C and the penalties",
        choices=("worst-group", "log-loss", "calibrated-log-loss"),
    )
    repeats: int = param(3, help="balanced half-and-half splits that choose C", low=1, high=10**4)
    averages: int = param(10, help="balanced sub-samples whose weights are averaged", low=1, high=10**4)
    dims: int | None = param(None, help="probe on this many principal components of the features", low=1)
    dims_from: str = param(
        "train",
        help="split these components are fitted on: train (the paper) or val (the released code)",
        choices=("train", "val"),
    )
    depth: str = param(
        "projected", help="trained branch after its last linear layer, or before it", choices=("projected", "backbone")
    )
    last_layer: str = param(
        "retrained",
        help="retrained on the target split, or as the method trained it (no target data are used)",
        choices=("retrained", "trained"),
        added=True,
    )
    max_iter: int = param(
        1000,
        help="iterations after which a logistic regression that has not converged is stopped",
        low=1,
        high=10**6,
        added=True,
    )
    seed: int = param(0, help="first seed of the sub-samples", low=0)
    seeds: int = param(1, help="number of probe seeds; results are averaged over them", low=1, high=10**4)


PROTOCOLS: dict[str, Options] = {
    "paper": {},
    "dfr-original": {
        "grid": "dfr",
        "penalty": "l1",
        "groups": "label-attribute",
        "scale": True,
        "repeats": 1,
        "averages": 20,
    },
}
"""Named ways of probing; ``dfr-original`` is that of Kirichenko et al.: four groups, L1, twenty averages."""


def checked_seed(seed: Any) -> int:
    """A seed as a plain integer."""
    if isinstance(seed, bool) or not isinstance(seed, Integral) or not 0 <= seed <= LARGEST:  # type: ignore[operator]
        raise FttError("seed must be a non-negative integer", given=repr(seed)[:80], allowed="0 <= seed < 2**63")
    return int(seed)


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything that determines the numbers of one run."""

    data: Dataset
    backbone: str
    recipe: Recipe
    train: Training = Training()
    probe: Probing = Probing()
    seed: int = 0

    def __post_init__(self) -> None:
        for name, kind in (("data", Configurable), ("train", Training), ("probe", Probing)):
            if not isinstance(getattr(self, name), kind):
                raise FttError(
                    f"invalid {name} of a Spec",
                    given=repr(getattr(self, name))[:80],
                    allowed="a data set, such as ftt.load('digits').source" if name == "data" else f"a {kind.__name__}",
                )
        if not isinstance(self.backbone, str):
            raise FttError("backbone must be a name", given=repr(self.backbone)[:80], allowed='backbone = "lite0"')
        object.__setattr__(self, "seed", checked_seed(self.seed))
        object.__setattr__(self, "recipe", as_recipe(self.recipe))

    def describe(self) -> dict[str, Json]:
        """The nested JSON form; `from_description` reads it back."""
        return {
            "data": self.data.describe(),
            "backbone": self.backbone,
            "recipe": self.recipe.describe(),
            "train": self.train.describe(),
            "probe": self.probe.describe(),
            "seed": self.seed,
        }

    @classmethod
    def from_description(cls, text: Options) -> Spec:
        """Rebuild a Spec from its JSON form, validating every part."""
        with described("a run", "what Spec.describe() returns"):
            return cls(
                data=registry.DATASETS.build(text["data"]),
                backbone=text["backbone"],
                recipe=Recipe.from_description(text["recipe"]),
                train=Training.from_options(text["train"]),
                probe=Probing.from_options(text["probe"]),
                seed=text["seed"],
            )

    def identify(self, roots: Roots) -> Run:
        """The run of this Spec on the data and weights that are here now."""
        return Run(self, self._key(self.data.fingerprint(roots), roots))

    def _key(self, data: Mapping[str, Json], roots: Roots) -> str:
        from ftt import backbones  # A Spec can be described without torch.

        # Without a method nothing is optimised, so neither the optimizer's settings nor the seed can matter.
        trained = self.recipe.trains
        identity = {
            "data": data,
            "backbone": backbones.fingerprint(self.backbone, roots),
            "recipe": self.recipe.identity(),
            "train": self.train.identity() if trained else None,
            "seed": self.seed if trained else None,
            "probe": self.probe.identity(),
        }
        return digest(FORMAT, identity)


@dataclass(frozen=True)
class Run:
    """A Spec and its key: SHA-256 of the Spec, of the content of the files it reads, and of the format version."""

    spec: Spec
    key: str

    @property
    def id(self) -> str:
        """The first sixteen digits of the key: what people type."""
        return self.key[:16]


def identify(specs: Iterable[Spec], roots: Roots) -> list[Run]:
    """The runs of many Specs; the files of data that several of them read are examined once."""
    known: dict[Any, dict[str, Json]] = {}
    runs = []
    for spec in specs:
        if spec.data not in known:
            known[spec.data] = spec.data.fingerprint(roots)
        runs.append(Run(spec, spec._key(known[spec.data], roots)))
    return runs
