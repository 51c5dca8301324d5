"""Results sorted into settings, variants and seeds, and the sentences made from them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.planted import planted_report, planted_result

from ftt.arrays import pack
from ftt.data.digits import Digits
from ftt.errors import FttError
from ftt.metrics import report_groups
from ftt.recipe import preset
from ftt.report.cases import Cases, best_of, difference
from ftt.report.run_charts import curve_figures, group_figure, noise_figures, training_figure
from ftt.report.run_page import comparison_table, focus_panels, run_page
from ftt.report.tables import percent
from ftt.report.takeaway import takeaway
from ftt.result import Judged, Result
from ftt.spec import Run, Spec

ROWS = 800
LABEL, GROUP = np.arange(ROWS) % 2, (np.arange(ROWS) // 2) % 2


def judged(
    recipe: str, right: float, *, core: float = 0.2, spurious: float = 0.0, seed: int = 0, p: float = 0.25
) -> Result:
    """A run that is right on this share of the rows of both groups."""
    chosen = preset(recipe, p=p) if recipe == "ftt" else preset(recipe)
    spec = Spec(
        data=Digits(core_noise=core, spurious_noise=spurious, seed=seed), backbone="identity", recipe=chosen, seed=seed
    )
    order = np.random.default_rng(5).permutation(ROWS)
    predicted = np.where(order < right * ROWS, LABEL, 1 - LABEL)
    base = planted_result(planted_report({"zero": 0.5, "one": 0.5}), spec=spec)
    report = report_groups(predicted, LABEL, GROUP, spec.data.info)
    probe = replace(base.probes[0], report=report, predicted=pack(predicted))
    key = f"{abs(hash((recipe, core, spurious, seed, p))):064x}"
    log = [{"accuracy_by_group": [[0.5 + e / 10, 0.6], [None, 0.7]], "epoch": e, "stage": 0} for e in range(3)]
    return replace(
        base,
        run=Run(spec, key),
        probes=(probe,),
        judged=Judged(pack(LABEL), pack(GROUP)),
        train_log=log if chosen.trains else [],
    )


THREE = [judged("init", 0.76), judged("erm", 0.58), judged("ftt", 0.76)]


def test_runs_that_differ_in_their_seed_are_one_case() -> None:
    cases = Cases.of([judged("erm", share, seed=seed) for seed, share in enumerate((0.5, 0.6, 0.7))])
    (case,) = cases.cases
    assert [result.spec.seed for result in case.results] == [0, 1, 2]
    assert case.mean() == pytest.approx(np.mean(case.values()))
    assert case.error() == pytest.approx(np.std(case.values(), ddof=1) / 3**0.5)
    assert cases.setting_fields == cases.variant_fields == []


def test_settings_and_recipes_are_sorted_and_named_by_what_differs() -> None:
    given = [
        judged("ftt", 0.7, core=0.2),
        *THREE[:2],
        judged("init", 0.8, core=0.0),
        judged("ftt", 0.8, core=0.2, p=0.5),
    ]
    cases = Cases.of(given)
    assert [cases.label(case) for case in cases.cases] == ["init", "init", "erm", "ftt, p = 0.25", "ftt, p = 0.5"]
    assert [cases.where(case) for case in cases.cases][:2] == ["core noise 0 %", "core noise 20 %"]
    assert cases.setting_fields == ["data.core_noise"]


def test_the_takeaway_says_what_training_lost_and_what_freezing_kept() -> None:
    (sentence,) = takeaway(Cases.of(THREE))
    gain = 100 * (THREE[1].worst_group_accuracy - THREE[0].worst_group_accuracy)
    assert f"training (erm) lost {-gain:.1f} points on it" in sentence
    assert "freezing a quarter (ftt) kept it (+0.0 points" in sentence
    assert percent(THREE[0].worst_group_accuracy) in sentence


def test_the_takeaway_of_one_run_names_its_worst_group_with_interval_and_count() -> None:
    (sentence,) = takeaway(Cases.of(THREE[1:2]))
    name, rate = THREE[1].report.headline
    low, high = rate.interval()
    for part in (name, percent(rate.value), percent(low), percent(high), f"{rate.n:,} test rows"):
        assert part in sentence


def test_the_takeaway_over_settings_gives_the_range_of_the_change() -> None:
    grid = [judged(r, 0.7 if r == "erm" and c else 0.8, core=c) for c in (0.0, 0.2) for r in ("init", "erm")]
    change = "erm changes the worst group by −9.8 points (core noise 20 %) to +0.0 points (core noise 0 %)"
    assert takeaway(Cases.of(grid))[-1] == f"Over 2 settings, against init: {change}."


def test_best_is_bold_only_where_it_can_be_told_apart() -> None:
    cases = Cases.of(THREE)
    assert best_of(cases.cases) is None
    clear = Cases.of([THREE[0], THREE[1]])
    assert best_of(clear.cases) is clear.cases[0]
    assert "**" not in comparison_table(cases).to_markdown().partition("\n")[2]
    assert f"**{percent(THREE[0].worst_group_accuracy)}**" in comparison_table(clear).to_markdown()


def test_runs_on_other_rows_are_not_paired() -> None:
    first, second = Cases.of(THREE[:2]).cases
    other = replace(second, results=(replace(second.results[0], judged=Judged(pack(LABEL), pack(1 - GROUP))),))
    assert difference(second, first) is not None
    assert difference(other, first) is None


def test_the_heat_map_holds_every_cell_with_its_interval_and_count() -> None:
    figure = group_figure(focus_panels(Cases.of(THREE[1:2])))
    spec = figure.spec()
    values = spec["data"]["values"]
    rates = THREE[1].report.by_label_and_attribute
    assert {(row["label"], row["attribute"]): row["n"] for row in values} == {
        pair: rate.n for pair, rate in rates.items()
    }
    assert all(row["low"] < row["accuracy"] < row["high"] for row in values)
    (label, attribute), rate = THREE[1].report.worst_of_label_and_attribute
    assert f"{label}, {attribute} at {percent(rate.value)} %" in figure.alt


def test_training_curves_leave_out_groups_without_rows() -> None:
    figure = training_figure(focus_panels(Cases.of(THREE)))
    assert figure is not None
    assert "even, zero" in str(figure.spec())
    assert "erm 60.0 % (even, one) and 70.0 %" in figure.alt
    assert training_figure(focus_panels(Cases.of(THREE[:1]))) is None


def test_two_noises_give_heat_maps_and_three_values_of_p_a_curve() -> None:
    grid = [judged(r, 0.7, core=c, spurious=s) for r in ("init", "erm") for c in (0.0, 0.2) for s in (0.0, 0.2)]
    assert [figure.name for figure in noise_figures(Cases.of(grid))] == ["noise", "noise-gain"]
    over = [judged("erm", 0.6), *(judged("ftt", 0.7, p=p) for p in (0.25, 0.5))]
    (figure,) = curve_figures(Cases.of(over))
    assert figure.name == "over-p"
    assert "57.5 % at 0, 69.2 % at 0.5" in figure.alt
    assert not noise_figures(Cases.of(THREE))


def test_no_runs_are_refused() -> None:
    with pytest.raises(FttError, match="no finished runs"):
        run_page([])
