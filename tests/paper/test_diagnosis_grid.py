"""The experiments of the diagnosis and of the automatic choice, on small data."""

from __future__ import annotations

from pathlib import Path

import ftt
from ftt.api import requested
from ftt.launch import Resources, launch
from ftt.paper.auto_choice import NEEDED, PENALISED
from ftt.paper.diagnosis_grid import judge


def test_both_pages_are_made_from_runs_of_small_data(tmp_path: Path) -> None:
    home, one = ftt.Home.from_environment(tmp_path / "home", tmp_path / "cache"), Resources(workers=1)
    made = ftt.reproduce("diagnosis", budget="smoke", dataset="digits", home=home, resources=one)
    titles = [table.title for table in made.findings.tables]
    assert len(titles) == 4
    assert any("core noise, all settings" in sentence for sentence in made.findings.sentences)
    assert len(made.findings.tables[1].rows) == 4
    chosen = ftt.reproduce("auto", budget="smoke", dataset="digits", home=home, resources=one)
    ways = {row[0].partition(":")[0] for row in chosen.findings.tables[0].rows}
    assert {"always erm", "auto", "by the diagnosis"} <= ways
    assert "diagnosis" in made.to_markdown(["diagnosis.png"])


def test_block_penalties_are_probed_from_the_store_and_what_is_missing_there_is_named(tmp_path: Path) -> None:
    home, one = ftt.Home.from_environment(tmp_path / "home", tmp_path / "cache"), Resources(workers=1)
    experiment, wanted = requested("auto", budget="smoke", dataset="digits", seeds=2)
    setting = experiment.cells(wanted)[0].column
    done = [cell for cell in experiment.cells(wanted) if cell.column == setting and cell.row in NEEDED]
    # The second training seed lacks everything but the initial features.
    launch([cell.specs[0] for cell in done], home, resources=one)
    trained = home.artifacts.made["trained"]
    made = ftt.reproduce("auto", budget="smoke", dataset="digits", seeds=2, home=home, resources=one, on="store")
    assert home.artifacts.made["trained"] == trained == 2
    rows = {row[0]: row[-1] for row in made.findings.tables[0].rows}
    assert {rows[f"always joined: {name}"] for name in ("both", *PENALISED)} == {"1"}
    assert f"missing at {setting}, seed 0: all-three, two-teachers" in made.findings.sentences
    assert any(line.startswith(f"missing at {setting}, seed 1: ") for line in made.findings.sentences)
    assert made.table.at(next(iter(PENALISED)), setting) is not None


def test_small_gains_are_not_judged_and_refusals_count_as_cannot_tell() -> None:
    found = ftt.diagnose(ftt.load("digits", core_noise=0.2))
    assert judge(found, -0.1) == "right"
    assert judge(found, 0.1) == "wrong"
    assert judge(found, 0.01) == "small"
    assert judge(found, None) == "small"
