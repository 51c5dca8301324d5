"""Named experiments: every table and figure of the paper is there, says what it runs, and runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.planted import with_accuracies

import ftt
from ftt.data import Roots
from ftt.errors import FttError
from ftt.paper import grid_statistics
from ftt.paper.demo_claims import plan
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.printed_numbers import Printed
from ftt.paper.publish import Reproduction, publish
from ftt.paper.result_table import WORST, Cell, Measured, ResultTable
from ftt.registry import EXPERIMENTS
from ftt.spec import Spec
from ftt.store import Home

PAPER = [
    "fig1",
    "fig3",
    "fig4",
    "table-main",
    "table-shift",
    "table-p",
    "fig-dims",
    "fig-dominoes",
    "fig-dominoes-p",
    "table-counts",
]


def request(name: str, budget: str = "cpu", dataset: str = "") -> Request:
    """The request that an experiment makes of it."""
    return EXPERIMENTS.get(name).checked(Request(budget, dataset))


def cells_of(name: str, budget: str = "cpu", dataset: str = "") -> list[Cell]:
    return EXPERIMENTS.get(name).cells(request(name, budget, dataset))


def reproduction(name: str, table: ResultTable, asked: Request, home: Home | None = None) -> Reproduction:
    experiment = EXPERIMENTS.get(name)
    return Reproduction(experiment, asked, table, experiment.shows(table, asked, home or Home.from_environment()))


def requests() -> list[tuple[str, str, str]]:
    """Every experiment at every budget; the paper's budget is for its own tables, on data it has settings for."""
    return [
        (name, budget, dataset)
        for name in EXPERIMENTS.entries()
        for budget in (("paper", "cpu", "smoke") if name in PAPER else ("cpu", "smoke"))
        for dataset in EXPERIMENTS.get(name).datasets or ("",)
        # The paper has no IRM, CVaR-DRO or JTT on Dominoes.
        if (name, budget, dataset) != ("table-main", "paper", "dominoes")
    ]


def test_every_table_and_figure_of_the_paper_has_a_name() -> None:
    assert set(PAPER) <= set(EXPERIMENTS.entries())


@pytest.mark.parametrize(("name", "budget", "dataset"), requests())
def test_every_spec_of_a_named_experiment_survives_json_and_stands_in_one_cell(
    name: str, budget: str, dataset: str
) -> None:
    cells = cells_of(name, budget, dataset)
    listed = [spec for cell in cells for spec in cell.specs]
    assert all(Spec.from_description(json.loads(json.dumps(spec.describe()))) == spec for spec in listed)
    places = Counter((cell.row, cell.column) for cell in cells)
    assert all(count == 1 for count in places.values())
    assert EXPERIMENTS.get(name).differs(request(name, budget, dataset))


@pytest.mark.parametrize(("name", "words"), [("recipes", "irm"), ("random-weights", "digits"), ("reviews", "reviews")])
def test_an_experiment_the_paper_does_not_have_cannot_be_run_at_its_budget(name: str, words: str) -> None:
    with pytest.raises(FttError, match=f"published setting(.|\n)*{words}"):
        cells_of(name, "paper")


def test_figure_1_has_25_cells_with_two_seeds_and_five_in_its_corners() -> None:
    cells = cells_of("fig1")
    erm = {cell.column: len(cell.specs) for cell in cells if cell.row == grid_statistics.ERM}
    assert len(erm) == 25
    corners = {grid_statistics.at(c, s) for c in (0.0, 0.2) for s in (0.0, 0.2)}
    assert {column for column, seeds in erm.items() if seeds == 5} == corners
    assert set(erm.values()) == {2, 5}


def test_the_papers_budget_is_the_papers_setting() -> None:
    (first, *_) = cells_of("table-main", "paper", "waterbirds")
    spec = first.specs[0]
    assert len(first.specs) == 10
    assert (spec.backbone, spec.train.epochs, spec.train.lr) == ("timm:resnet50.tv_in1k", 100, 1e-3)
    assert spec.probe.grid == "paper"
    assert first.paper == Printed(95.0, 95.3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": "tiny"}, "budget"),
        ({"dataset": "dominos"}, "did you mean 'dominoes'"),
    ],
)
def test_a_request_that_cannot_be_met_is_refused_with_what_can(options: dict[str, str], words: str) -> None:
    with pytest.raises(FttError, match=words):
        request("fig1", **options)


def test_an_experiment_with_its_own_data_takes_no_data_set() -> None:
    with pytest.raises(FttError, match="own data"):
        request("fig3", dataset="dominoes")


def test_an_unknown_experiment_is_named_with_the_nearest_one() -> None:
    with pytest.raises(FttError, match="did you mean 'recipes'"):
        EXPERIMENTS.get("recipe")


def planted(core: float, spurious: float, row: str) -> float:
    """Accuracies as the theory wants them: ERM gains what the core is cleaner by, FTT never loses."""
    gain = {grid_statistics.INITIAL: 0.0, grid_statistics.ERM: 0.5 * (spurious - core), grid_statistics.FTT: 0.0}[row]
    return 0.75 + gain + (0.3 * max(spurious - core, 0) if row == grid_statistics.FTT else 0)


def planted_table(experiment: Experiment) -> ResultTable:
    measured = []
    for cell in experiment.cells(experiment.checked(Request())):
        data: dict[str, Any] = cell.specs[0].data.describe()
        value = planted(data["core_noise"], data["spurious_noise"], cell.row)
        measured.append(Measured(cell, tuple(with_accuracies(value, value, spec=spec) for spec in cell.specs)))
    return ResultTable(measured)


def test_figure_1_states_the_rank_correlation_and_what_ftt_recovers(tmp_path: Path) -> None:
    made = reproduction("fig1", planted_table(EXPERIMENTS.get("fig1")), request("fig1"))
    rank, everywhere, noisy, clean, rest, less, worst, seeds, _ = made.findings.sentences
    assert "25 settings: −1.00" in rank
    assert "+10.0 to −10.0" in rank
    # Means of (core − spurious) / 2 over the four settings with a noiseless shortcut and the six others.
    assert clean.startswith("FTT − ERM, η_core > η_spu = 0: +6.2 points")
    assert rest.startswith("FTT − ERM, η_core > η_spu > 0: +4.2 points")
    assert less.endswith("below 0 in 10 of 10 settings")
    assert everywhere.endswith("of 25 settings")
    assert noisy.endswith("of 20 settings")
    assert "+0.0 points" in worst
    assert seeds == "training seeds: 2 in 21 settings, 5 in 4 settings"
    files = publish(made, tmp_path)
    assert [path.name for path in files] == ["fig1.md", "fig1.png", "fig1.jsonl"]
    page = files[0].read_text()
    assert "`ftt reproduce fig1 --budget cpu`" in page
    assert "![fig1](fig1.png)" in page
    assert len(files[2].read_text().splitlines()) == 3 * (21 * 2 + 4 * 5)


def test_a_page_says_how_many_runs_are_missing() -> None:
    first, *others = cells_of("fig1", "smoke")
    results = [Measured(cell, (with_accuracies(0.7, 0.8, spec=cell.specs[0]),)) for cell in others]
    table = ResultTable([Measured(first, ()), *results])
    page = Reproduction(EXPERIMENTS.get("fig1"), request("fig1", "smoke"), table, Findings([])).to_markdown()
    assert f"{len(others)} runs, 1 missing" in page


def test_the_command_of_a_page_names_the_data_set_where_there_is_a_choice() -> None:
    asked = Request("cpu", "dominoes", seeds=2, probe_seeds=3)
    made = Reproduction(EXPERIMENTS.get("table-p"), asked, ResultTable([]), Findings([]))
    assert made.command == "ftt reproduce table-p --budget cpu --dataset dominoes --seeds 2 --probe-seeds 3"
    assert made.stem == "table-p-dominoes"


def test_a_cell_is_measured_once_whatever_table_it_stands_in() -> None:
    def runs(name: str, dataset: str = "") -> set[Spec]:
        return {spec for cell in cells_of(name, dataset=dataset) for spec in cell.specs}

    assert runs("fig-dominoes") == runs("fig1")
    assert len(runs("table-p", "dominoes") - runs("fig1")) == 3 * 3
    assert runs("fig4", "dominoes") <= runs("fig1")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["table-p", "fig-dims", "fig4", "table-main"])
def test_a_smoke_run_ends_in_a_page(name: str, tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    one = ftt.Resources(workers=1)
    made = ftt.reproduce(name, budget="smoke", dataset="dominoes", home=home, out=tmp_path / "out", resources=one)
    page = made.files[0].read_text()
    assert all(cell.text(WORST) in page for cell in made.table.cells)
    assert made.failures == {}


@pytest.mark.parametrize("name", ["fig3", "table-counts"])
def test_what_is_not_made_of_runs_still_has_a_page(name: str, tmp_path: Path) -> None:
    assert cells_of(name, "smoke") == []
    made = reproduction(
        name, ResultTable([]), request(name, "smoke"), Home(tmp_path / "home", Roots(tmp_path / "cache", None))
    )
    sentences = made.findings.sentences
    assert sentences
    assert name == "fig3" or all("not counted" in sentence for sentence in sentences)
    assert publish(made, tmp_path)[0].read_text().startswith("# ")


def test_figure_3_ends_worse_where_the_core_is_noisier() -> None:
    (table,) = reproduction("fig3", ResultTable([]), request("fig3")).findings.tables
    ratios = [float(row[3]) for row in table.rows]
    closed = [float(row[4]) for row in table.rows]
    assert ratios[1] > 1.5 * ratios[0]
    assert ratios == pytest.approx(closed, abs=2e-3)


def test_the_demo_shares_its_runs_with_the_table_of_recipes() -> None:
    table = {spec for cell in cells_of("recipes") for spec in cell.specs}
    assert {spec for line in plan("dominoes", full=True) for spec in line.specs} <= table
