"""What the paper does not ask: where the gain comes from, networks without pretraining, text."""

from __future__ import annotations

from collections.abc import Mapping

from ftt.freeze.contrastive import Contrastive
from ftt.methods.irm import IRM
from ftt.paper.experiment import Experiment, Request
from ftt.paper.grid_statistics import at
from ftt.paper.result_table import Cell
from ftt.recipe import Recipe, preset

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
UNTRAINED = {
    "initial features": preset("init"),
    "ERM": preset("erm"),
    "PCA only": Recipe(preset("ftt", p=0.5).freeze, None),
    "contrastive only": Recipe(Contrastive(p=0.5, epochs=60), None),
    "FTT, PCA": preset("ftt", p=0.5),
    "FTT, contrastive": Recipe(Contrastive(p=0.5, epochs=60), preset("erm").method),
}
HARMS, HELPS, BETWEEN = (0.2, 0.0), (0.0, 0.2), (0.1, 0.1)
"""Core and spurious noise where training harms, where it helps, and between."""

Rows = Mapping[str, Recipe]


def recipes_cells(request: Request) -> list[Cell]:
    """Every recipe where training harms, four of them elsewhere."""
    few = {row: ROWS[row] for row in SHORT}
    return _cells(request, {HARMS: ROWS, HELPS: few, BETWEEN: few}, seeds=2)


def random_weights_cells(request: Request) -> list[Cell]:
    """PCA and contrastive freezing over a network that is not pretrained; its weights change with the seed."""
    return _cells(request, {HARMS: UNTRAINED, HELPS: UNTRAINED}, seeds=4, backbone="tinyconv:{seed}")


def reviews_cells(request: Request) -> list[Cell]:
    """Texts: sentiment of film reviews, with their source as the shortcut."""
    rows = {row: ROWS[row] for row in ("initial features", "ERM", "FTT, p = 0.25")}
    return _cells(request, {HARMS: rows, HELPS: rows}, seeds=1)


def _cells(
    request: Request, rows: Mapping[tuple[float, float], Rows], *, seeds: int, backbone: str | None = None
) -> list[Cell]:
    """Recipes by name at every noise setting; `seeds` training seeds unless the request says otherwise."""
    few = request.seeds is not None or request.budget == "smoke"
    return [
        Cell(
            row,
            at(core, spurious),
            request.specs(
                recipe,
                at_least=1 if few else seeds,
                backbone=backbone,
                core_noise=core,
                spurious_noise=spurious,
            ),
        )
        for (core, spurious), recipes in rows.items()
        for row, recipe in recipes.items()
    ]


RECIPES = Experiment(
    "recipes",
    "Every recipe on Dominoes (lite0, 5,000 training images, 4 epochs of batches of 64)",
    "Where does the gain of FTT come from: PCA, or any frozen copy?",
    recipes_cells,
    datasets=("dominoes",),
    reduced="not an experiment of the paper",
)
RANDOM_WEIGHTS = Experiment(
    "random-weights",
    "A network that is not pretrained (tinyconv on digits)",
    "Does PCA fail without pretraining, and does contrastive freezing help?",
    random_weights_cells,
    datasets=("digits",),
    reduced="not an experiment of the paper",
)
REVIEWS = Experiment(
    "reviews",
    "Film reviews: sentiment with the source as a shortcut (MiniLM, 2,000 training texts)",
    "Does the same happen to texts?",
    reviews_cells,
    datasets=("reviews",),
    reduced="not an experiment of the paper",
)
