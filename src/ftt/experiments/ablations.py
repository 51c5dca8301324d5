"""What the paper does not ask: where the gain comes from, networks without pretraining, text."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ftt.data.digits import Digits
from ftt.data.dominoes import Dominoes
from ftt.data.reviews import Reviews
from ftt.experiments.noise_grid import at
from ftt.experiments.story import Ask
from ftt.experiments.tables import Cell
from ftt.freeze.contrastive import Contrastive
from ftt.methods.irm import IRM
from ftt.params import Configurable
from ftt.spec import Probing, Spec, Training
from ftt.train import Recipe, preset

ROWS = {
    "initial features": preset("init"),
    "ERM": preset("erm"),
    "IRM (halves)": Recipe(None, IRM(variant="halves")),
    "CVaR-DRO": preset("cvar-dro"),
    "GroupDRO": preset("group-dro"),
    "JTT": preset("jtt"),
    "PCA, p = 0.25": Recipe(preset("ftt").freeze, None),
    "FTT, p = 0.25": preset("ftt"),
    "FTT, released basis": preset("ftt-released"),
    "FTT, random projection": preset("ftt-random"),
    "FTT, late join": preset("ftt-late"),
    "FTT over GroupDRO": preset("ftt", method="group-dro"),
}
SHORT = ("initial features", "ERM", "FTT, p = 0.25", "FTT, late join")
HARMS, HELPS, BETWEEN = (0.2, 0.0), (0.0, 0.2), (0.1, 0.1)
"""Core and spurious noise where training harms, where it helps, and between."""


def recipes_cells(ask: Ask) -> list[Cell]:
    """Every recipe where training harms, four of them elsewhere."""
    few = {row: ROWS[row] for row in SHORT}
    return _cells(
        ask.seeds or 2,
        {HARMS: ROWS, HELPS: few, BETWEEN: few},
        lambda core, spurious, seed: Dominoes(core_noise=core, spurious_noise=spurious, train_size=5000, seed=seed),
        Dominoes.default_training,
    )


def random_weights_cells(ask: Ask) -> list[Cell]:
    """PCA and contrastive freezing over a network that is not pretrained; its weights change with the seed."""
    rows = {
        "initial features": preset("init"),
        "ERM": preset("erm"),
        "PCA only": Recipe(preset("ftt", p=0.5).freeze, None),
        "contrastive only": Recipe(Contrastive(p=0.5, epochs=60), None),
        "FTT, PCA": preset("ftt", p=0.5),
        "FTT, contrastive": Recipe(Contrastive(p=0.5, epochs=60), preset("erm").method),
    }
    return _cells(
        ask.seeds or 4,
        {HARMS: rows, HELPS: rows},
        lambda core, spurious, seed: Digits(core_noise=core, spurious_noise=spurious, seed=seed),
        Training(epochs=40, lr=0.05),
        backbone="tinyconv:{seed}",
    )


def reviews_cells(ask: Ask) -> list[Cell]:
    """Texts: sentiment of film reviews, with their source as the shortcut."""
    rows = {row: ROWS[row] for row in ("initial features", "ERM", "FTT, p = 0.25")}
    return _cells(
        ask.seeds or 1,
        {HARMS: rows, HELPS: rows},
        lambda core, spurious, seed: Reviews(core_noise=core, spurious_noise=spurious, seed=seed),
        Reviews.default_training,
        backbone=Reviews.default_backbone,
        probing=Probing(seeds=5),
    )


def _cells(
    seeds: int,
    rows: Mapping[tuple[float, float], Mapping[str, Recipe]],
    data: Callable[[float, float, int], Configurable],
    training: Training,
    backbone: str = "lite0",
    probing: Probing | None = None,
) -> list[Cell]:
    """Recipes by name at every noise setting, once per seed."""
    return [
        Cell(
            row,
            at(core, spurious),
            tuple(
                Spec(
                    data=data(core, spurious, seed),
                    backbone=backbone.format(seed=seed),
                    freeze=recipe.freeze,
                    method=recipe.method,
                    join=recipe.join,
                    train=training,
                    probe=probing or Probing(),
                    seed=seed,
                )
                for seed in range(seeds)
            ),
        )
        for (core, spurious), recipes in rows.items()
        for row, recipe in recipes.items()
    ]
