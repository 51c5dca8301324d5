"""One run, described completely: data, backbone, recipe, training, probing, seed. Its key is its hash.

A `Spec` holds plain, validated values only, so it can be written as JSON, read back, sent to another machine and
compared. Two runs with the same key are the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ftt import registry
from ftt.params import Configurable, Json, digest, param

FORMAT = 1
"""Raised when stored results of an older version may no longer be reused."""


@dataclass(frozen=True)
class Training(Configurable):
    """How the supervised stage is optimised."""

    name: ClassVar[str] = "training"

    epochs: int = param(6, help="passes over the training split", low=1)
    batch_size: int = param(128, help="samples per step, over all devices", low=1)
    optimizer: str = param("sgd", help="optimiser", choices=("sgd", "adam"))
    lr: float = param(0.01, help="learning rate", low=0, open_low=True)
    momentum: float = param(0.9, help="momentum of SGD", low=0, high=0.9999)
    weight_decay: float = param(1e-3, help="L2 penalty on the trained weights", low=0)
    schedule: str = param(
        "constant",
        help="learning rate over time: constant, one drop, or a half cosine",
        choices=("constant", "drop", "cosine"),
    )
    drop_after: int = param(50, help="epochs before the drop (schedule drop)", low=1)
    drop_factor: float = param(0.2, help="what the drop multiplies by (schedule drop)", low=0, open_low=True)
    augment: str = param(
        "none",
        help="random views; frozen features are then computed anew for every view",
        choices=("none", "crop-flip", "domainbed"),
    )
    steps: int | None = param(None, help="stop after so many steps, whatever the epochs", low=1, added=True)
    sampling: str = param(
        "shuffle",
        help="every row once an epoch, or equally many of every attribute value in a batch, drawn with replacement",
        choices=("shuffle", "per-attribute"),
        added=True,
    )
    batchnorm: str = param("train", help="statistics of the trained branch's BatchNorm", choices=("train", "frozen"))
    precision: str = param(
        "32-true", help="arithmetic of the forward pass", choices=("32-true", "bf16-mixed", "16-mixed")
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
        help="what is balanced and judged: the attribute, or label and attribute together",
        choices=("attribute", "label-attribute"),
    )
    scale: bool = param(False, help="bring every feature to unit variance first")
    repeats: int = param(3, help="balanced half-and-half splits that choose C", low=1)
    averages: int = param(10, help="balanced sub-samples whose weights are averaged", low=1)
    dims: int | None = param(None, help="probe on this many principal components of the features only", low=1)
    dims_from: str = param(
        "train",
        help="where these components come from: train (the paper), val (the released code)",
        choices=("train", "val"),
    )
    depth: str = param(
        "projected", help="the trained branch after its last linear layer, or before", choices=("projected", "backbone")
    )
    seed: int = param(0, help="seed of the sub-samples", low=0)
    seeds: int = param(
        1, help="probings with so many seeds, from `seed` on; figures are their means", low=1, added=True
    )


PROTOCOLS: dict[str, Mapping[str, Json]] = {
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
"""Ways of probing with a name; ``dfr-original`` is that of Kirichenko et al.: four groups, L1, twenty averages."""


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Everything that determines the numbers of one run."""

    data: Configurable
    backbone: str
    freeze: Configurable | None
    method: Configurable | None
    join: str = "joint"
    train: Training = Training()
    probe: Probing = Probing()
    seed: int = 0

    def describe(self) -> dict[str, Json]:
        """The nested JSON form; `from_description` reads it back."""
        return {
            "data": self.data.describe(),
            "backbone": self.backbone,
            "freeze": self.freeze.describe() if self.freeze else None,
            "method": self.method.describe() if self.method else None,
            "join": self.join,
            "train": self.train.describe(),
            "probe": self.probe.describe(),
            "seed": self.seed,
        }

    @classmethod
    def from_description(cls, text: Mapping[str, Json]) -> Spec:
        """Rebuild a Spec from its JSON form, validating every part."""
        train = {key: value for key, value in text["train"].items() if key != "name"}
        probe = {key: value for key, value in text["probe"].items() if key != "name"}
        return cls(
            data=registry.DATASETS.build(text["data"]),
            backbone=text["backbone"],
            freeze=registry.FREEZERS.build(text["freeze"]) if text["freeze"] else None,
            method=registry.METHODS.build(text["method"]) if text["method"] else None,
            join=text["join"],
            train=Training.from_options(train),
            probe=Probing.from_options(probe),
            seed=text["seed"],
        )

    @property
    def key(self) -> str:
        """SHA-256 of everything above and of the format version."""
        # Without a method nothing is optimised, so neither the optimiser's settings nor the seed can matter.
        trained = self.method is not None
        identity = {
            "data": self.data.identity(),
            "backbone": self.backbone,
            "freeze": self.freeze.identity() if self.freeze else None,
            "method": self.method.identity() if self.method else None,
            "join": self.join if trained and self.freeze else None,
            "train": self.train.identity() if trained else None,
            "seed": self.seed if trained else None,
            "probe": self.probe.identity(),
        }
        return digest(FORMAT, identity)

    @property
    def run_id(self) -> str:
        """The first sixteen digits of the key: what people type."""
        return self.key[:16]
