"""The experiments there are, by name."""

from __future__ import annotations

from ftt.data.digits import Digits
from ftt.data.dominoes import Dominoes
from ftt.errors import unknown
from ftt.experiments.tables import Cell, Experiment
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


def _setting(core: float, spurious: float) -> str:
    return f"core {core:.0%} / spurious {spurious:.0%}"


def _recipes(seeds: int) -> list[Cell]:
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
                for seed in range(seeds)
            )
            cells.append(Cell(row, _setting(core, spurious), specs))
    return cells


def _random_weights(seeds: int) -> list[Cell]:
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
                for seed in range(seeds)
            )
            cells.append(Cell(row, _setting(core, spurious), specs))
    return cells


EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        Experiment(
            "recipes",
            "Every recipe on Dominoes (lite0, 5,000 training images, 4 epochs of batches of 64)",
            "Where does FTT's gain come from: PCA, or any frozen copy?",
            _recipes,
        ),
        Experiment(
            "random-weights",
            "A network that is not pretrained (tinyconv on digits)",
            "Does PCA fail without pretraining, and does contrastive freezing help?",
            _random_weights,
        ),
    )
}


def find(name: str) -> Experiment:
    """The experiment of this name."""
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS, hint="ftt ls experiments")
    return EXPERIMENTS[name]
