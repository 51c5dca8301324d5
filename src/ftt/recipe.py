"""A recipe is a freezer plus a method; presets name the columns of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ftt import registry
from ftt.errors import FttError, described, unknown
from ftt.params import Configurable, Json, Options

if TYPE_CHECKING:
    from ftt.freeze.freezer import Freezer
    from ftt.methods.method import Method
    from ftt.sources.source import Source

JOINS = ("joint", "late")


@dataclass(frozen=True)
class Recipe:
    """How features are made.

    ``Recipe(freeze=PCA(p=0.25), method=ERM())`` is FTT. Without `freeze` it is the plain method (p = 0); without
    `method` nothing is trained and only the frozen features remain (p = 1); without both the initial features are
    used as they are.

    `join` says where frozen and trained features meet. ``joint`` (the paper): the head is trained on both, so the
    trained branch learns what the frozen one lacks. ``late``: the branch is trained alone, as without a freezer, and
    the leading directions of the initial and of the trained features, brought to the same scale, meet at probing; one
    training then serves every p.

    Beyond the paper a recipe names `sources`: blocks of features that meet at probing, each brought to unit mean
    variance. ``Recipe(sources=(Initial(), TrainedAlone()))`` is every initial beside every ERM feature.
    """

    freeze: Freezer | None = None
    method: Method | None = None
    join: str = "joint"
    sources: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        if self.join not in JOINS:
            raise unknown("join", self.join, JOINS)
        sources: Any = self.sources
        if not isinstance(sources, tuple) or not all(isinstance(source, Configurable) for source in sources):
            raise FttError(
                "sources of a recipe must be a tuple of sources",
                given=repr(self.sources)[:80],
                allowed="for example Recipe(sources=(Initial(), TrainedAlone()))",
            )
        if self.sources and (self.freeze or self.method):
            raise FttError(
                "a recipe has either sources, or a freezer and a method",
                given=", ".join(source.name for source in self.sources),
                allowed="Recipe(sources=…), or Recipe(freeze=…, method=…)",
            )
        # Known by what they do: importing their base classes would import torch.
        for name, mark in (("freeze", "frozen_dims"), ("method", "stages")):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Configurable) and hasattr(value, mark)):
                raise FttError(
                    f"{name} of a recipe must be a {'freezer' if name == 'freeze' else name} or None",
                    given=repr(value),
                    allowed="for example Recipe(freeze=ftt.PCA(p=0.25), method=ftt.ERM())",
                )

    @property
    def name(self) -> str:
        """The preset it is, whatever p and other numbers; otherwise freezer and method, as in ``pca+jtt``.

        Examples
        --------
        >>> preset("ftt", p=0.5).name, preset("ftt", method="jtt", join="late").name
        ('ftt', 'pca+jtt-late')
        """
        kind = self._kind()
        for name, chosen in PRESETS.items():
            if chosen.build()._kind() == kind:
                return name
        if self.sources:
            return kind[4]
        freezer, method, join = kind[0], kind[2], kind[3]
        return "+".join(part for part in (freezer, method) if part) + ("-late" if join == "late" else "")

    def _kind(self) -> tuple[str, ...]:
        """What tells recipes of different names apart."""
        freezer, method = self.freeze.name if self.freeze else "", self.method.name if self.method else ""
        sources = "+".join(source.title for source in self.sources)
        return freezer, str(getattr(self.freeze, "variant", "")), method, self.join, sources

    @property
    def trains(self) -> bool:
        """Whether anything is optimised."""
        return self.method is not None or any(source.trainings for source in self.sources)

    @property
    def uses_target(self) -> bool:
        """Whether the target split is looked at before probing."""
        return any(source.uses_target for source in self.sources)

    def normal(self) -> Recipe:
        """The same recipe in its simplest form: p = 0 freezes nothing, p = 1 leaves nothing to train."""
        if self.freeze is not None and self.freeze.p == 0:
            return Recipe(None, self.method)
        if self.freeze is not None and self.freeze.p == 1:
            return Recipe(self.freeze, None)
        return self if self.freeze and self.method else replace(self, join="joint")

    def describe(self) -> dict[str, Json]:
        """The JSON form; `from_description` reads it back."""
        return {
            "freeze": self.freeze.describe() if self.freeze else None,
            "method": self.method.describe() if self.method else None,
            "join": self.join,
            **({"sources": [source.describe() for source in self.sources]} if self.sources else {}),
        }

    def identity(self) -> dict[str, Json]:
        """What the key of a training is made of."""
        return {
            "freeze": self.freeze.identity() if self.freeze else None,
            "method": self.method.identity() if self.method else None,
            "join": self.join,
            **({"sources": [source.identity() for source in self.sources]} if self.sources else {}),
        }

    @classmethod
    def from_description(cls, text: Options) -> Recipe:
        """Rebuild a recipe from its JSON form."""
        with described("a recipe", "what Recipe.describe() returns"):
            freezer = registry.FREEZERS.build(text["freeze"]) if text["freeze"] else None
            method = registry.METHODS.build(text["method"]) if text["method"] else None
            sources = tuple(registry.SOURCES.build(source) for source in text.get("sources", ()))
            return cls(freezer, method, text["join"], sources)


@dataclass(frozen=True)
class Preset:
    """A recipe by name: freezer and method by name, what differs from their defaults, and a one-line summary."""

    freeze: str | None
    method: str | None
    summary: str
    join: str = "joint"
    freeze_options: Mapping[str, Any] = field(default_factory=dict)
    sources: tuple[Mapping[str, Any], ...] = ()

    def build(self) -> Recipe:
        """The recipe itself."""
        freezer = registry.FREEZERS.build({"name": self.freeze, **self.freeze_options}) if self.freeze else None
        method = registry.METHODS.build({"name": self.method}) if self.method else None
        return Recipe(freezer, method, self.join, tuple(registry.SOURCES.build(source) for source in self.sources))


def _source(part: str | Mapping[str, Any]) -> Mapping[str, Any]:
    return {"name": part} if isinstance(part, str) else part


PRESETS = {
    "init": Preset(None, None, "the initial features, nothing trained"),
    "erm": Preset(None, "erm", "plain training (p = 0)"),
    "irm": Preset(None, "irm", "invariant risk minimisation"),
    "cvar-dro": Preset(None, "cvar-dro", "training on the worst share of every batch"),
    "group-dro": Preset(None, "group-dro", "training for the worst group"),
    "jtt": Preset(None, "jtt", "just train twice"),
    "pca": Preset("pca", None, "principal components only (p = 1)", freeze_options={"p": 1.0}),
    "ftt": Preset("pca", "erm", "Freeze then Train: principal components frozen, the rest trained by ERM"),
    "ftt-late": Preset("pca", "erm", "initial and ERM features, trained apart and joined at probing", join="late"),
    "ftt-released": Preset(
        "pca", "erm", "FTT with the wrong basis of the released code", freeze_options={"variant": "released"}
    ),
    "ftt-random": Preset("random", "erm", "FTT with a random projection in place of PCA"),
    **{
        name: Preset(None, None, f"{summary} (beyond the paper)", sources=tuple(_source(part) for part in parts))
        for name, parts, summary in (
            ("auto", ("auto",), "initial features, ERM features or both, by held-out target score"),
            ("both", ("initial", "trained"), "initial and ERM features side by side"),
            ("taught", ("taught",), "a student trained on labels that a target probe predicts"),
            ("initial-taught", ("initial", "taught"), "initial and taught features side by side"),
            ("all-three", ("initial", "trained", "taught"), "initial, ERM and taught features side by side"),
            (
                "two-teachers",
                ("initial", "trained", "two-teachers"),
                "the best of these with 3,000 target rows: all-three, its student taught by a target probe and network",
            ),
            ("initial-two-teachers", ("initial", "two-teachers"), "as initial-taught, from two teachers"),
            (
                "target-taught",
                ("initial", {"name": "two-teachers", "teacher": "initial"}),
                "as initial-two-teachers, with nothing trained on the observed labels: two trainings in place of three",
            ),
            ("inner-layers", ("initial", "trained", "inner-layers"), "as both, with the inner stages of both networks"),
            ("wise-ft", ("wise-ft",), "weights between the initial and the ERM network"),
            ("lp-ft", ("lp-ft",), "training that starts from a fitted head"),
            ("afr", ("afr",), "ERM with its last layer refitted on rows it gets wrong"),
            ("leace", ("erased",), "initial features without the attribute"),
            ("target", ("target",), "fine-tuning on the target split itself"),
            ("target-head", ({"name": "target", "head": True},), "the same, judged by the network's own head"),
        )
    },
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
    return parts(name, p=p, freeze=freeze, method=method, join=join).normal()


def parts(
    name: str, *, p: float | None = None, freeze: str | None = None, method: str | None = None, join: str | None = None
) -> Recipe:
    """As `preset`, before p decides which parts are left: their parameters can be set whatever p is."""
    if name not in PRESETS:
        raise unknown("recipe", name, PRESETS, hint="ftt ls recipes")
    chosen = PRESETS[name]
    if freeze is not None and freeze != chosen.freeze:
        chosen = replace(chosen, freeze=freeze, freeze_options={})
    if method is not None:
        chosen = replace(chosen, method=None if method == "none" else method)
    recipe = replace(chosen, join=join or chosen.join).build()
    if p is None:
        return recipe
    if recipe.freeze is None:
        raise FttError(
            f"the recipe {name!r} freezes nothing, so it has no p",
            given=f"p = {p}",
            allowed=", ".join(key for key, value in PRESETS.items() if value.freeze),
            hint="leave out --p, or use --recipe ftt",
        )
    return replace(recipe, freeze=recipe.freeze.replace(p=p))


def as_recipe(recipe: Recipe | str) -> Recipe:
    """A recipe given as an object or by the name of a preset."""
    if isinstance(recipe, Recipe):
        return recipe.normal()
    if isinstance(recipe, str):
        return preset(recipe)
    raise FttError(
        "a recipe must be a name or a Recipe",
        given=repr(recipe),
        allowed=f"{', '.join(PRESETS)}, or ftt.Recipe(freeze=ftt.PCA(p=0.25), method=ftt.ERM())",
        hint="ftt ls recipes",
    )
