"""Named experiments: cells are run once, told with their spread, and found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftt.data import Places
from ftt.data.digits import Digits
from ftt.errors import FttError
from ftt.experiments.catalogue import EXPERIMENTS, find
from ftt.experiments.demo import CLAIMS, RECIPES, SETTINGS, Row, specs, verdict
from ftt.experiments.tables import Cell, Experiment, as_markdown, as_rows, measure
from ftt.spec import Spec, Training
from ftt.store import Home
from ftt.train import preset


def cells(seeds: int) -> list[Cell]:
    listed = []
    for row in ("init", "erm"):
        recipe = preset(row)
        runs = tuple(
            Spec(
                data=Digits(core_noise=0.2, seed=seed),
                backbone="identity",
                freeze=recipe.freeze,
                method=recipe.method,
                train=Training(epochs=1),
                seed=seed,
            )
            for seed in range(seeds)
        )
        listed.append(Cell(row, "noisy", runs))
    return listed


def test_a_table_holds_mean_and_half_range_and_is_not_run_twice(tmp_path: Path) -> None:
    experiment = Experiment("small", "a small table", "why?", cells)
    home = Home(tmp_path)
    measured = measure(experiment, 2, home, Places.from_environment())
    again = measure(experiment, 2, home, Places.from_environment())
    assert all(result["from_store"] for m in again for result in m.results)
    worst = [result["worst_group_accuracy"] for result in measured[0].results]
    columns, rows = as_rows(measured)
    assert columns == ["features", "noisy"]
    mean, spread = 100 * sum(worst) / 2, 100 * abs(worst[0] - worst[1]) / 2
    assert rows[0][0] == "init"
    assert rows[0][1].startswith(f"{mean:.1f} ± {spread:.1f} (")
    text = as_markdown(experiment, 2, measured)
    assert "`ftt reproduce small --seeds 2`" in text
    assert "| " + " | ".join(rows[0]) + " |" in text


def test_a_cell_that_was_not_asked_for_is_a_dash() -> None:
    first, second = (Cell(row, column, ()) for row, column in (("a", "x"), ("b", "y")))
    from ftt.experiments.tables import Measured

    result = {"worst_group_accuracy": 0.5, "average_accuracy": 0.75}
    _, rows = as_rows([Measured(first, (result,)), Measured(second, (result,))])
    assert rows == [["a", "50.0 ± 0.0 (75.0)", "–"], ["b", "–", "50.0 ± 0.0 (75.0)"]]


@pytest.mark.parametrize("name", list(EXPERIMENTS))
def test_every_spec_of_a_named_experiment_survives_json_and_differs_from_the_others(name: str) -> None:
    listed = [spec for cell in find(name).cells(2) for spec in cell.specs]
    assert all(Spec.from_description(spec.describe()).key == spec.key for spec in listed)
    assert len({spec.key for spec in listed}) == len(listed)


def test_an_unknown_experiment_is_named_with_the_nearest_one() -> None:
    with pytest.raises(FttError, match="did you mean 'recipes'"):
        find("recipe")


def test_the_demo_runs_three_recipes_at_two_noises_and_shares_them_with_the_table_of_recipes() -> None:
    listed = specs("dominoes")
    assert [(setting, recipe) for setting, recipe, _ in listed] == [(s, r) for s in SETTINGS for r in RECIPES]
    table = {spec.key for cell in find("recipes").cells(2) for spec in cell.specs}
    assert {spec.key for *_, spec in listed} <= table


def test_the_verdict_counts_the_directions_that_showed() -> None:
    rows = [
        Row(setting, recipe, {}, gain) for (setting, recipe), gain in zip(CLAIMS, (-0.2, 0.0, 0.1, 0.01), strict=True)
    ]
    assert verdict(rows).startswith("3 of 4")
