"""Pages of real runs: data, mistakes with confidence, commands; hundreds of runs stay quick and small."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.report.test_cases import judged

import ftt
from ftt.arrays import unpack
from ftt.errors import FttError
from ftt.report.example_parts import Predictions
from ftt.report.page import render
from ftt.runs.reporting import probabilities, report_page
from ftt.runs.selection import finished_runs
from ftt.store import Home


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return Home(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def runs(home: Home) -> list[ftt.Result]:
    return [ftt.run("digits", name, core_noise=0.2, epochs=1, home=home) for name in ("init", "ftt")]


def test_confidences_are_those_of_the_probes_that_made_the_predictions(runs: list[ftt.Result], home: Home) -> None:
    result = runs[1]
    found = probabilities(result, result.spec.data.load(home.roots), home.artifacts)
    assert found is not None
    said = Predictions.of(result, found)
    votes = np.mean([unpack(probe.predicted) for probe in result.probes], axis=0)
    clear = np.isin(votes, (0, 1))
    assert np.array_equal(found.argmax(axis=1)[clear], said.predicted[clear])
    assert said.confidence is not None
    assert (said.confidence[clear] >= 0.5).all()


def test_without_stored_features_nothing_is_trained_and_agreement_is_shown(
    runs: list[ftt.Result], home: Home, tmp_path: Path
) -> None:
    empty = Home(tmp_path, home.roots)
    text = render(report_page(runs[1:], empty))
    assert "of the probe seeds" in text
    assert "probabilities are not available" in text
    assert not list(tmp_path.rglob("*.safetensors"))


def test_the_page_holds_takeaway_data_groups_mistakes_and_the_command(runs: list[ftt.Result], home: Home) -> None:
    page = report_page(runs, home, command="ftt report 12")
    headings = [section.heading for section in page.sections]
    assert headings == [
        "The data",
        "Accuracy by group",
        "All runs",
        "Training",
        "What is classified wrongly",
        "How it was made",
    ]
    text = render(page)
    assert "ftt report 12" in text
    assert "confidence" in text
    assert text.count("<img ") > 8


def test_runs_are_selected_by_first_digits_condition_or_sweep(
    runs: list[ftt.Result], home: Home, tmp_path: Path
) -> None:
    assert [r.run.id for r in finished_runs(home, [runs[0].run.id[:6]]).results] == [runs[0].run.id]
    assert [r.run.id for r in finished_runs(home, where="recipe = 'ftt'").results] == [runs[1].run.id]
    assert len(finished_runs(home).results) == 2
    with pytest.raises(FttError, match="no finished run called 'zz'"):
        finished_runs(home, ["zz"])
    sweep = tmp_path / "s.toml"
    sweep.write_text('[base]\ndataset = "digits"\ndata.core_noise = 0.2\n[grid]\nrecipe = ["init", "pca"]\n')
    found = finished_runs(home, [str(sweep)])
    assert [r.spec.recipe.name for r in found.results] == ["init"]
    assert found.notes == ["1 of 2 runs of the sweep have not finished."]


@pytest.mark.slow
def test_a_page_of_500_runs_takes_under_20_seconds_and_10_megabytes(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = (0.0, 0.05, 0.1, 0.15, 0.2)
    results = [
        judged(recipe, 0.6 + 0.3 * np.random.default_rng([seed, i, j]).random(), core=c, spurious=s, seed=seed)
        for i, c in enumerate(levels)
        for j, s in enumerate(levels)
        for recipe in ("init", "erm", "pca", "ftt")
        for seed in range(5)
    ]
    assert len({result.run.key for result in results}) == 500
    start, clock = time.process_time(), time.perf_counter()
    path = ftt.write_report(results, out=tmp_path / "page.html", home=home)
    seconds, size = time.process_time() - start, path.stat().st_size
    with capsys.disabled():
        wall = time.perf_counter() - clock
        sys.stdout.write(f"\n500 runs: {seconds:.1f} s of processor time, {wall:.1f} s in all, {size / 1e6:.2f} MB\n")
    assert seconds < 20
    assert size < 10_000_000
    assert len(re.findall(r'<tr role="row"', path.read_text())) > 100
