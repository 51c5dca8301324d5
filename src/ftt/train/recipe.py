"""A recipe is a freezer plus a method; presets name the columns of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from ftt import registry
from ftt.errors import FttError, unknown
from ftt.freeze.base import Freezer
from ftt.methods.base import Method
from ftt.params import Json

JOINS = ("joint", "late")


@dataclass(frozen=True)
class Recipe:
    """How features are made.

    ``Recipe(freeze=PCA(p=0.25), method=ERM())`` is FTT. Without `freeze` it is the plain method (p = 0); without
    `method` nothing is trained and the frozen features are all there is (p = 1); without both the initial features
    stay as they are.

    `join` says where frozen and trained features meet. ``joint`` (the paper): the head trains on both, so the trained
    branch learns what the frozen one lacks. ``late``: the branch trains alone, as without a freezer, and the leading
    directions of the initial and of the trained features, brought to one scale, meet at probing; one training then
    serves every p.
    """

    freeze: Freezer | None = None
    method: Method | None = None
    join: str = "joint"

    def __post_init__(self) -> None:
        if self.join not in JOINS:
            raise unknown("join", self.join, JOINS)

    def normal(self) -> Recipe:
        """The same recipe in its simplest form: p = 0 freezes nothing, p = 1 leaves nothing to train."""
        if self.freeze is not None and self.freeze.p == 0:
            return Recipe(None, self.method)
        if self.freeze is not None and self.freeze.p == 1:
            return Recipe(self.freeze, None)
        return self if self.freeze and self.method else replace(self, join="joint")

    def describe(self) -> dict[str, Json]:
        return {
            "freeze": self.freeze.describe() if self.freeze else None,
            "method": self.method.describe() if self.method else None,
            "join": self.join,
        }

    def identity(self) -> dict[str, Json]:
        """What the key of a training is made of."""
        return {
            "freeze": self.freeze.identity() if self.freeze else None,
            "method": self.method.identity() if self.method else None,
            "join": self.join,
        }

    @classmethod
    def from_description(cls, text: Mapping[str, Json]) -> Recipe:
        """Rebuild a recipe from its JSON form."""
        freezer = cast(Freezer, registry.FREEZERS.build(text["freeze"])) if text["freeze"] else None
        method = cast(Method, registry.METHODS.build(text["method"])) if text["method"] else None
        return cls(freezer, method, text["join"])


@dataclass(frozen=True)
class Preset:
    """A named recipe: freezer and method by name, what differs from their defaults, and one line about it."""

    freeze: str | None
    method: str | None
    summary: str
    join: str = "joint"
    freeze_options: Mapping[str, Json] = field(default_factory=dict)


PRESETS = {
    "init": Preset(None, None, "the initial features, nothing trained"),
    "erm": Preset(None, "erm", "plain training (p = 0)"),
    "irm": Preset(None, "irm", "invariant risk minimisation"),
    "cvar-dro": Preset(None, "cvar-dro", "train on the worst share of every batch"),
    "group-dro": Preset(None, "group-dro", "train for the worst group"),
    "jtt": Preset(None, "jtt", "just train twice"),
    "pca": Preset("pca", None, "principal components only (p = 1)", freeze_options={"p": 1.0}),
    "ftt": Preset("pca", "erm", "Freeze then Train: principal components frozen, the rest by ERM"),
    "ftt-late": Preset("pca", "erm", "ERM's features and the initial ones, joined at probing", join="late"),
    "ftt-released": Preset(
        "pca", "erm", "FTT with the released code's wrong basis", freeze_options={"variant": "released"}
    ),
    "ftt-random": Preset("random", "erm", "FTT with a random projection in place of PCA"),
}


def preset(
    name: str,
    *,
    p: float | None = None,
    freeze: str | None = None,
    method: str | None = None,
    join: str | None = None,
) -> Recipe:
    """The recipe of a preset, with p, freezer, method or join replaced.

    Examples
    --------
    >>> preset("ftt", p=0.5).freeze
    PCA(p=0.5, variant='paper', seed=0, rows=None)
    """
    if name not in PRESETS:
        raise unknown("recipe", name, PRESETS, hint="ftt ls recipes")
    chosen = PRESETS[name]
    freezer_name = freeze or chosen.freeze
    method_name = None if method == "none" else method or chosen.method
    if p is not None and freezer_name is None:
        raise FttError(
            f"the recipe {name!r} freezes nothing, so p has no meaning in it",
            given=f"p = {p}",
            allowed=", ".join(key for key, value in PRESETS.items() if value.freeze),
            hint="leave out --p, or use --recipe ftt",
        )
    options = dict(chosen.freeze_options) if freezer_name == chosen.freeze else {}
    if p is not None:
        options["p"] = p
    freezer = cast(Freezer, registry.FREEZERS.build({"name": freezer_name, **options})) if freezer_name else None
    trained = cast(Method, registry.METHODS.build({"name": method_name})) if method_name else None
    return Recipe(freezer, trained, join or chosen.join).normal()
