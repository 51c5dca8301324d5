"""From names and flags to a Spec."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ftt import registry
from ftt.cli.flags import Sources, parse
from ftt.errors import FttError, unknown
from ftt.spec import PROTOCOLS, Probing, Spec, Training
from ftt.train import Recipe
from ftt.train.presets import paper_setting

BUDGETS = ("cpu", "paper")


@dataclass(frozen=True)
class Asked:
    """What was chosen by name: data set, recipe, and how much of the paper's setting."""

    dataset: str
    recipe: Recipe
    backbone: str | None
    budget: str
    protocol: str
    seed: int

    def sources(self) -> Sources:
        """Whose parameters may be set by flags, by role."""
        found: dict[str, Any] = {"data": registry.DATASETS.get(self.dataset), "train": Training, "probe": Probing}
        if self.recipe.method is not None:
            found["method"] = type(self.recipe.method)
        if self.recipe.freeze is not None:
            found["freeze"] = type(self.recipe.freeze)
        return found

    def spec(self, arguments: Sequence[str]) -> Spec:
        """The Spec of these choices and of the flags that follow them."""
        if self.budget not in BUDGETS:
            raise unknown("budget", self.budget, BUDGETS)
        if self.protocol not in PROTOCOLS:
            raise unknown("protocol", self.protocol, PROTOCOLS)
        given = parse(arguments, self.sources())
        source = registry.DATASETS.get(self.dataset)
        freezer, method = self.recipe.freeze, self.recipe.method
        data = source.from_options({"seed": self.seed, **given["data"]})
        training, backbone, published = source.default_training, data.backbone(), {}
        if self.budget == "paper" and method is not None:
            setting = paper_setting(self.dataset, method.name)
            training, backbone = training.replace(**setting.training), setting.backbone
            published = dict(setting.method)
        spec = Spec(
            data=data,
            backbone=self.backbone or backbone,
            freeze=freezer.replace(**given["freeze"]) if freezer else None,
            method=method.replace(**{**published, **given["method"]}) if method else None,
            join=self.recipe.join,
            train=training.replace(**given["train"]),
            probe=Probing.from_options({**PROTOCOLS[self.protocol], **given["probe"]}),
            seed=self.seed,
        )
        # A backbone that does not exist is better told before the data are read.
        registry.BACKBONES.get(spec.backbone)
        return spec


def by_dims(spec: Spec, dims: str | None) -> list[Spec]:
    """The Spec itself, or one for every number of dimensions to probe on."""
    if dims is None:
        return [spec]
    try:
        numbers = [int(part) for part in dims.split(",")]
    except ValueError:
        raise FttError("--probe-dims takes whole numbers", given=dims, allowed="2,4,8,16") from None
    return [replace(spec, probe=spec.probe.replace(dims=number)) for number in numbers]
