"""What the paper does not ask: where the gain comes from, networks without pretraining, text."""

from __future__ import annotations

from ftt.data.digits import Digits
from ftt.data.dominoes import Dominoes
from ftt.experiments.noise_grid import at
from ftt.experiments.story import Ask
from ftt.experiments.tables import Cell
from ftt.freeze.contrastive import Contrastive
from ftt.methods.irm import IRM
from ftt.spec import Spec, Training
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
SEEDS = {"recipes": 2, "random-weights": 4}


def recipes_cells(ask: Ask) -> list[Cell]:
    """Every recipe where training harms, four of them elsewhere."""
    cells = []
    for core, spurious, rows in ((0.2, 0.0, tuple(ROWS)), (0.0, 0.2, SHORT), (0.1, 0.1, SHORT)):
        for row in rows:
            recipe = ROWS[row]
            specs = tuple(
                Spec(
                    data=Dominoes(core_noise=core, spurious_noise=spurious, train_size=5000, seed=seed),
                    backbone="lite0",
                    freeze=recipe.freeze,
                    method=recipe.method,
                    join=recipe.join,
                    train=Dominoes.default_training,
                    seed=seed,
                )
                for seed in range(ask.seeds or SEEDS["recipes"])
            )
            cells.append(Cell(row, at(core, spurious), specs))
    return cells


def random_weights_cells(ask: Ask) -> list[Cell]:
    """PCA and contrastive freezing over a network that is not pretrained."""
    rows = {
        "initial features": preset("init"),
        "ERM": preset("erm"),
        "PCA only": Recipe(preset("ftt", p=0.5).freeze, None),
        "contrastive only": Recipe(Contrastive(p=0.5, epochs=60), None),
        "FTT, PCA": preset("ftt", p=0.5),
        "FTT, contrastive": Recipe(Contrastive(p=0.5, epochs=60), preset("erm").method),
    }
    cells = []
    for core, spurious in ((0.2, 0.0), (0.0, 0.2)):
        for row, recipe in rows.items():
            specs = tuple(
                Spec(
                    data=Digits(core_noise=core, spurious_noise=spurious, seed=seed),
                    backbone=f"tinyconv:{seed}",
                    freeze=recipe.freeze,
                    method=recipe.method,
                    train=Training(epochs=40, lr=0.05),
                    seed=seed,
                )
                for seed in range(ask.seeds or SEEDS["random-weights"])
            )
            cells.append(Cell(row, at(core, spurious), specs))
    return cells
