"""What the demo runs, and the rows it makes of the results in whichever order they arrive."""

from __future__ import annotations

from statistics import fmean

import pytest
from tests.planted import with_accuracies

from ftt.data import Roots
from ftt.paper.demo_claims import (
    CLAIMS,
    DATASETS,
    LINES,
    RECIPES,
    SEEDS,
    SETTINGS,
    DemoRow,
    Rows,
    images_seen,
    judged,
    plan,
    running_order,
)
from ftt.spec import Run, Spec

HARM, HELP = SETTINGS
WORST = {"init": 0.74, "erm": 0.60, "ftt": 0.75}


@pytest.mark.parametrize("dataset", DATASETS)
def test_runs_of_one_setting_differ_only_in_recipe_and_seed(dataset: str) -> None:
    planned = plan(dataset)
    assert [(line.noises, line.recipe) for line in planned] == [(s, r) for s in SETTINGS for r in RECIPES]
    specs = [spec for line in planned for spec in line.specs]
    assert len({spec.identify(Roots.from_environment()).key for spec in specs}) == 6 * SEEDS[dataset]
    for noises in SETTINGS:
        lines = [line for line in planned if line.noises == noises]
        assert len({str(spec.train.describe()) for line in lines for spec in line.specs}) == 1
        assert len({tuple(spec.data for spec in line.specs) for line in lines}) == 1
    assert set(CLAIMS) == {(noises, recipe) for noises in SETTINGS for recipe in ("erm", "ftt")}


def test_only_the_setting_where_training_harms_is_small() -> None:
    for short, full in zip(plan("dominoes"), plan("dominoes", full=True), strict=True):
        assert (short == full) == (short.noises == HELP)
    small = plan("dominoes")[0].specs[0]
    assert (small.data.describe()["train_size"], small.train.epochs) == (2000, 2)
    assert plan("digits") == plan("digits", full=True)


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_run_is_begun_once_and_trainings_are_compared_by_what_they_see(dataset: str) -> None:
    planned = plan(dataset)
    order = running_order(planned)
    assert len(planned) == LINES
    assert sorted(map(order.index, (spec for line in planned for spec in line.specs))) == list(range(len(order)))
    assert [spec.recipe.method is None for spec in order[: SEEDS[dataset] + 1]] == [True] * SEEDS[dataset] + [False]
    trained = [(line.noises, images_seen(line.specs[0])) for line in planned if line.recipe != "init"]
    assert all(images_seen(line.specs[0]) == 0 for line in planned if line.recipe == "init")
    harm, help_ = ({size for noises, size in trained if noises == wanted} for wanted in SETTINGS)
    assert (len(harm), len(help_)) == (1, 1)
    assert (max(harm) < max(help_)) == (dataset == "dominoes")


def landed(rows: Rows, spec: Spec, worst: float) -> DemoRow | None:
    return rows.add(Run(spec, "0" * 64), with_accuracies(worst, worst, spec=spec))


def test_rows_are_in_the_order_of_the_table_and_gains_wait_for_the_initial_features() -> None:
    lines = plan("dominoes")
    rows = Rows(lines)
    early = landed(rows, lines[1].specs[0], WORST["erm"])
    assert early is not None
    assert early.gain is None
    assert not judged(rows.complete(), HARM)
    for line in (lines[2], lines[0]):
        landed(rows, line.specs[0], WORST[line.recipe])
    assert [row.recipe for row in rows.complete()] == ["init", "erm", "ftt"]
    assert [row.gain and round(row.gain, 6) for row in rows.complete()] == [None, -0.14, 0.01]
    assert judged(rows.complete(), HARM)
    assert not judged(rows.complete(), HELP)


def test_a_row_is_complete_with_its_last_seed_and_shows_means_and_an_interval_over_seeds() -> None:
    (line,) = (line for line in plan("digits") if (line.noises, line.recipe) == (HARM, "init"))
    rows, worst = Rows([line]), [0.70, 0.72, 0.74, 0.76, 0.78]
    ends = [landed(rows, spec, value) for spec, value in zip(line.specs, worst, strict=True)]
    assert ends[:-1] == [None] * 4
    row = ends[-1]
    assert row is not None
    assert (round(row.worst, 9), round(row.average, 9)) == (fmean(worst), fmean(worst))
    low, high = row.interval()
    # t(0.975, 4) = 2.776 times 0.0316 / √5.
    assert (round(row.worst - low, 3), round(high - row.worst, 3)) == (0.039, 0.039)


def test_an_interval_of_one_seed_is_over_test_images() -> None:
    result = with_accuracies(0.7, 0.7)
    assert DemoRow(HARM, "init", result, None).interval() == result.report.worst[1].interval()
