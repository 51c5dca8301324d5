"""A recipe is a freezer plus a method; presets name the columns of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from ftt import registry
from ftt.errors import FttError, unknown
from ftt.freeze.base import Freezer
from ftt.methods.base import Method
from ftt.params import Json


@dataclass(frozen=True)
class Recipe:
    """How features are made.

    ``Recipe(freeze=PCA(p=0.25), method=ERM())`` is FTT. Without `freeze` it is the plain method (p = 0); without
    `method` nothing is trained and the frozen features are all there is (p = 1); without both the initial features
    stay as they are.
    """

    freeze: Freezer | None = None
    method: Method | None = None

    def normal(self) -> Recipe:
        """The same recipe in its simplest form: p = 0 freezes nothing, p = 1 leaves nothing to train."""
        if self.freeze is None or self.method is None:
            return self
        if self.freeze.p == 0:
            return replace(self, freeze=None)
        if self.freeze.p == 1:
            return replace(self, method=None)
        return self

    def describe(self) -> dict[str, Json]:
        return {
            "freeze": self.freeze.describe() if self.freeze else None,
            "method": self.method.describe() if self.method else None,
        }


@dataclass(frozen=True)
class Preset:
    """A named recipe: freezer and method by name, and one line about it."""

    freeze: str | None
    method: str | None
    summary: str
    p: float = 0.25


PRESETS = {
    "init": Preset(None, None, "the initial features, nothing trained"),
    "erm": Preset(None, "erm", "plain training (p = 0)"),
    "pca": Preset("pca", None, "principal components only (p = 1)", p=1.0),
    "ftt": Preset("pca", "erm", "Freeze then Train: principal components frozen, the rest by ERM"),
}


def preset(name: str, *, p: float | None = None, freeze: str | None = None, method: str | None = None) -> Recipe:
    """The recipe of a preset, with p, freezer or method replaced.

    Examples
    --------
    >>> preset("ftt", p=0.5).freeze
    PCA(p=0.5)
    """
    if name not in PRESETS:
        raise unknown("recipe", name, PRESETS, hint="ftt ls recipes")
    chosen = PRESETS[name]
    freezer_name, method_name = freeze or chosen.freeze, method or chosen.method
    if p is not None and freezer_name is None:
        raise FttError(
            f"the recipe {name!r} freezes nothing, so p has no meaning in it",
            given=f"p = {p}",
            allowed=", ".join(key for key, value in PRESETS.items() if value.freeze),
            hint="leave out --p, or use --recipe ftt",
        )
    options = {"name": freezer_name, "p": chosen.p if p is None else p}
    freezer = cast(Freezer, registry.FREEZERS.build(options)) if freezer_name else None
    trained = cast(Method, registry.METHODS.build({"name": method_name})) if method_name else None
    return Recipe(freezer, trained).normal()
