"""One run: what the probe is shown, how often the files are examined, and what bad input leaves behind."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.heard import Heard
from tests.planted import planted_report, planted_result

from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.data.embeddings import Embeddings
from ftt.errors import FttError
from ftt.methods.irm import IRM
from ftt.probe import fit_together
from ftt.progress import shown_on
from ftt.recipe import Recipe, preset
from ftt.report.tables import result_table
from ftt.result import Result
from ftt.runs import runner
from ftt.runs.runner import run_spec
from ftt.spec import Probing, Spec, Training
from ftt.store import Home

SPEC = Spec(data=Digits(core_noise=0.1), backbone="identity", recipe=preset("ftt"), train=Training(epochs=1))


def features(path: Path, seed: int = 0, rows: int = 120) -> Embeddings:
    """A file of features in which the label is, written with this seed."""
    rng = np.random.default_rng(seed)
    y, a = np.arange(rows) % 2, np.arange(rows) // 2 % 2
    planted = rng.standard_normal((rows, 4)).astype(np.float32) + y[:, None]
    np.savez(path, features=planted, y=y, attribute=a, split=np.repeat(["train", "val", "test"], rows // 3))
    return Embeddings(path=str(path))


def counting(monkeypatch: pytest.MonkeyPatch, owner: type[Any], name: str) -> list[object]:
    """The objects of which this method was called, from now on."""
    called: list[object] = []
    before: Callable[..., Any] = getattr(owner, name)

    def counted(this: object, *given: object) -> Any:
        called.append(this)
        return before(this, *given)

    monkeypatch.setattr(owner, name, counted)
    return called


def test_many_numbers_of_dimensions_share_one_rotation_and_one_training(tmp_path: Path) -> None:
    home = Home(tmp_path)
    results = {k: run_spec(replace(SPEC, probe=Probing(dims=k)), home) for k in (2, 8, 128)}
    assert [result.dims for result in results.values()] == [2, 8, 128]
    assert home.artifacts.made["trained"] == 1
    assert home.artifacts.made["basis"] == 2, "one for the freezer, one for the probe"
    assert results[8].worst_group_accuracy > results[2].worst_group_accuracy


def test_all_dimensions_give_what_no_rotation_gives(tmp_path: Path) -> None:
    """A full rotation changes neither the penalty nor the fit."""
    home = Home(tmp_path)
    whole, rotated = run_spec(SPEC, home), run_spec(replace(SPEC, probe=Probing(dims=128)), home)
    assert rotated.average_accuracy == pytest.approx(whole.average_accuracy, abs=0.006)


def test_more_dimensions_than_there_are_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FttError, match="fewer features than dims"):
        run_spec(replace(SPEC, probe=Probing(dims=129)), Home(tmp_path))


def test_data_that_cannot_be_used_leaves_no_trace_of_a_run(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    bad = np.full((4, 2), np.nan)
    np.savez(path, features=bad, y=np.arange(4) % 2, attribute=np.arange(4) % 2, split=np.array(["train"] * 4))
    home = Home(tmp_path / "home")
    with pytest.raises(FttError, match="NaN"):
        run_spec(replace(SPEC, data=Embeddings(path=str(path))), home)
    assert home.runs.states() == []


def test_a_training_that_diverges_says_so(tmp_path: Path) -> None:
    wild = replace(SPEC, train=Training(epochs=3, lr=1e9))
    with pytest.raises(FttError, match="diverged"):
        run_spec(wild, Home(tmp_path))


def test_several_probe_seeds_share_the_training_and_are_averaged(tmp_path: Path) -> None:
    home = Home(tmp_path)
    alone = [run_spec(replace(SPEC, probe=Probing(seed=seed)), home) for seed in (3, 4, 5)]
    together = run_spec(replace(SPEC, probe=Probing(seed=3, seeds=3)), home)
    assert home.artifacts.made["trained"] == 1
    assert [probe.seed for probe in together.probes] == [3, 4, 5]
    assert [probe.C for probe in together.probes] == [result.C for result in alone]
    for name, rate in together.report.by_attribute.items():
        of_each = [probe.report.by_attribute[name] for probe in together.probes]
        wanted = [result.report.by_attribute[name] for result in alone]
        assert [one.value for one in of_each] == pytest.approx([one.value for one in wanted], abs=0.005)
        assert rate.value == pytest.approx(np.mean([one.value for one in of_each]))
        assert {rate.n} == {one.n for one in of_each} == {one.n for one in wanted}
    overall = [probe.report.overall.value for probe in together.probes]
    assert together.average_accuracy == pytest.approx(np.mean(overall))
    low, high = together.report.worst[1].interval()
    assert low < together.worst_group_accuracy < high


def test_one_probe_seed_is_listed_and_is_the_result(tmp_path: Path) -> None:
    result = run_spec(replace(SPEC, probe=Probing(seed=7)), Home(tmp_path))
    (only,) = result.probes
    assert (only.seed, only.C, only.report) == (7, result.C, result.report)
    written: dict[str, Any] = json.loads(json.dumps(result.to_json()))
    (listed,) = written["probe"]["seeds"]
    for name in ("worst_group", "worst_group_accuracy", "average_accuracy", "by_group", "by_label_and_group"):
        assert listed[name] == written[name], name
    for name in ("C", "at_edge", "converged", "worst_by_C"):
        assert listed[name] == written["probe"][name], name


def test_groups_without_rows_have_no_accuracy_in_the_mean() -> None:
    """What a training domain leaves empty is null in the JSON, n/a in the table, and never the worst."""
    full = planted_report({"sea": 0.5, "ice": 0.75})
    empty = {name: replace(rate, right=0, n=0) for name, rate in full.by_attribute.items() if name == "ice"}
    reports = [replace(full, by_attribute={**full.by_attribute, **empty})] * 2
    result = planted_result(*reports)
    written: dict[str, Any] = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert written["by_group"]["ice"]["accuracy"] is None
    assert written["worst_group"] == "sea"
    assert ["ice", "n/a"] in [row[:2] for row in result_table(result).rows]


@pytest.mark.parametrize("recipe", [preset("init"), preset("ftt"), Recipe(None, IRM(variant="halves"))])
def test_a_result_reads_back_from_json_equal(recipe: Recipe, tmp_path: Path) -> None:
    result = run_spec(replace(SPEC, recipe=recipe, probe=Probing(seeds=2)), Home(tmp_path))
    copy = Result.from_json(json.loads(json.dumps(result.to_json())))
    assert copy == result
    assert copy.report == result.report
    assert copy.to_json() == result.to_json()
    assert run_spec(result.spec, Home(tmp_path)) == result


def test_a_result_with_one_changed_digit_is_reported_and_computed_again(tmp_path: Path) -> None:
    home, heard = Home(tmp_path), Heard()
    first = run_spec(SPEC, home)
    path = home.runs.folder(first.run) / "result.json"
    whole = path.read_text()
    digit = f'"average_accuracy": {first.average_accuracy}'
    path.write_text(whole.replace(digit, digit[:-1] + str((int(digit[-1]) + 1) % 10)))
    assert path.read_text() != whole
    with shown_on(heard):
        again = run_spec(SPEC, home)
    assert any(str(path) in line and "checksum" in line for line in heard.said)
    assert not again.from_store
    assert replace(again, seconds=first.seconds) == first
    assert run_spec(SPEC, home).from_store
    assert home.artifacts.made["trained"] == 1, "only the probing was repeated"


def test_a_run_examines_its_files_when_it_starts_and_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue 11: it was done ten times and once more per epoch."""
    spec = replace(SPEC, data=features(tmp_path / "own.npz"), train=Training(epochs=5), probe=Probing(seeds=2))
    examined = counting(monkeypatch, Embeddings, "fingerprint")
    read = counting(monkeypatch, Embeddings, "content")
    home = Home(tmp_path / "home")
    assert not run_spec(spec, home).from_store
    assert len(examined) == len(read) == 2
    assert run_spec(spec, home).from_store
    assert len(examined) == 3, "to find a result takes one look"


@pytest.mark.parametrize("moment", ["fit", "probe_features", "report_on"])
def test_a_file_edited_in_mid_run_is_refused_and_leaves_no_result_under_either_key(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, home = tmp_path / "own.npz", Home(tmp_path / "home")
    spec = replace(SPEC, data=features(path))
    before = spec.identify(home.roots)
    stage = getattr(runner, moment)

    def edited(*given: Any, **named: Any) -> Any:
        features(path, seed=1)
        return stage(*given, **named)

    monkeypatch.setattr(runner, moment, edited)
    with pytest.raises(FttError, match="changed while the run was in progress"):
        run_spec(spec, home)
    monkeypatch.undo()
    after = spec.identify(home.roots)
    assert before.key != after.key
    for run in (before, after):
        assert home.runs.find(run) is None
        assert not (home.runs.folder(run) / "result.json").exists()
    assert run_spec(spec, home).run == after


def test_whole_numbers_and_floats_of_a_list_give_one_key(tmp_path: Path) -> None:
    data = features(tmp_path / "own.npz")
    keys = {
        replace(SPEC, data=data.replace(shares=shares)).identify(Roots.from_environment()).key
        for shares in ([3, 1, 1], [3.0, 1.0, 1.0], (3, 1.0, np.float64(1)))
    }
    assert len(keys) == 1


def test_the_key_follows_the_content_of_a_file_and_not_its_path(tmp_path: Path) -> None:
    def key(data: Embeddings) -> str:
        return replace(SPEC, data=data).identify(Roots.from_environment()).key

    first, copy = features(tmp_path / "one.npz"), features(tmp_path / "two.npz")
    assert key(first) == key(copy)
    assert key(first) != key(features(tmp_path / "three.npz", seed=1))


def test_the_number_of_probe_seeds_is_part_of_the_key() -> None:
    def key(probe: Probing) -> str:
        return replace(SPEC, probe=probe).identify(Roots.from_environment()).key

    assert key(Probing(seeds=1)) == key(Probing())
    assert key(Probing(seeds=2)) != key(Probing())


def test_each_warning_of_a_probe_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def complaining(*given: Any, **named: Any) -> None:
        for _ in range(3):
            warnings.warn("the probe did not converge", UserWarning, stacklevel=1)
        fit_together(*given, **named)

    monkeypatch.setattr(runner, "fit_together", complaining)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = run_spec(replace(SPEC, probe=Probing(seeds=3)), Home(tmp_path))
    assert result.warnings.count("the probe did not converge") == 1


def test_a_result_says_what_it_was_measured_on_and_how_long_it_took(tmp_path: Path) -> None:
    result = run_spec(SPEC, Home(tmp_path))
    assert result.noise["core"] == pytest.approx(0.1, abs=0.02)
    assert result.environment["torch"]
    assert set(result.seconds) == {"fit", "transform", "probe"}
    assert [record["epoch"] for record in result.train_log] == [0]


def test_max_iter_of_the_probe_stops_its_fits(tmp_path: Path) -> None:
    stopped = run_spec(replace(SPEC, probe=Probing(max_iter=1)), Home(tmp_path))
    assert not any(probe.converged for probe in stopped.probes)
    assert any("did not converge" in warning for warning in stopped.warnings)
