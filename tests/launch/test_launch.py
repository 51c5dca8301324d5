"""One outcome per Spec whatever happens to it; shared work is done once; a failure is kept and stops nobody."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ftt.data.digits import Digits
from ftt.data.embeddings import Embeddings
from ftt.errors import FttError
from ftt.freeze.pca import PCA
from ftt.launch import Outcome, Resources, launch
from ftt.methods.erm import ERM
from ftt.recipe import Recipe
from ftt.result import Result
from ftt.spec import Spec, Training
from ftt.store import Home

ONE = Resources(workers=1, threads=1)
SPEC = Spec(data=Digits(), backbone="identity", recipe=Recipe(PCA(p=0.5), ERM()), train=Training(epochs=1))


def launched(specs: list[Spec], home: Path) -> list[Outcome]:
    return launch(specs, Home(home), resources=ONE)


def test_a_sweep_over_p_extracts_every_split_once_and_fits_one_basis(tmp_path: Path) -> None:
    launched([replace(SPEC, recipe=Recipe(PCA(p=p), ERM())) for p in (0.25, 0.5, 0.75)], tmp_path)
    made = Counter(record["stage"] for record in Home(tmp_path).artifacts.log())
    assert (made["features"], made["basis"], made["trained"]) == (3, 1, 3)
    assert len(list((tmp_path / "artifacts" / "features").glob("*/*.safetensors"))) == 3


def test_outcomes_come_in_the_order_of_the_specs_and_duplicates_are_run_once(tmp_path: Path) -> None:
    other = replace(SPEC, seed=1)
    outcomes = launched([SPEC, other, SPEC], tmp_path)
    assert [outcome.run.spec for outcome in outcomes] == [SPEC, other, SPEC]
    assert [outcome.result and outcome.result.run for outcome in outcomes] == [outcome.run for outcome in outcomes]
    made = Counter(record["stage"] for record in Home(tmp_path).artifacts.log())
    assert made["trained"] == 2


def test_what_has_a_result_is_not_run_again(tmp_path: Path) -> None:
    (first,) = launched([SPEC], tmp_path)
    path = Home(tmp_path).runs.folder(first.run) / "result.json"
    written = path.stat().st_mtime_ns
    (again,) = launched([SPEC], tmp_path)
    assert first.result is not None
    assert again.result is not None
    assert (first.result.from_store, again.result.from_store) == (False, True)
    assert again.result == first.result
    assert path.stat().st_mtime_ns == written


def test_every_run_is_reported_once_when_its_outcome_is_known_stored_ones_first(tmp_path: Path) -> None:
    stored, new = SPEC, replace(SPEC, seed=1)
    launched([stored], tmp_path)
    heard: list[Outcome] = []
    launch([new, stored, new], Home(tmp_path), resources=ONE, on_end=heard.append)
    assert [outcome.run.spec for outcome in heard] == [stored, new]
    assert [bool(outcome.result and outcome.result.from_store) for outcome in heard] == [True, False]


def test_from_the_store_alone_nothing_is_run_and_what_is_missing_is_left_out(tmp_path: Path) -> None:
    (first,) = launched([SPEC], tmp_path)
    found, missing = launch([SPEC, replace(SPEC, seed=1)], Home(tmp_path), on="store", resources=ONE)
    assert found.result == first.result
    assert (missing.result, missing.error) == (None, None)
    assert Home(tmp_path).runs.state(missing.run) == "pending"


def test_a_failure_stops_nobody_keeps_its_traceback_and_can_be_tried_again(tmp_path: Path) -> None:
    np.savez(tmp_path / "bad.npz", features=np.full((4, 2), np.nan), y=[0, 1] * 2, attribute=[0, 1] * 2, split=[0] * 4)
    diverging = replace(SPEC, train=Training(epochs=3, lr=1e9))
    no_data = replace(SPEC, data=Embeddings(path=str(tmp_path / "bad.npz")))
    first, second, third = launched([diverging, no_data, SPEC], tmp_path / "home")
    runs = Home(tmp_path / "home").runs
    assert first.result is None
    assert "diverged" in str(first.error)
    assert "NaN" in str(second.error)
    assert "\n" not in f"{first.error}{second.error}"
    assert third.error is None
    assert [runs.state(one.run) for one in (first, second, third)] == ["failed", "failed", "done"]
    kept = json.loads((runs.folder(first.run) / "failed.json").read_text())
    assert kept["error"] == first.error
    assert "Traceback" in kept["traceback"]
    assert kept["attempts"] == 1
    again = launched([diverging], tmp_path / "home")
    assert "diverged" in str(again[0].error)


def test_one_worker_runs_with_the_threads_asked_for_and_puts_the_old_number_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def run_spec(*_: object) -> Result:
        seen.append(torch.get_num_threads())
        raise RuntimeError("nothing was run")

    monkeypatch.setattr("ftt.runs.runner.run_spec", run_spec)
    before = torch.get_num_threads()
    resources = Resources(workers=1, threads=before + 2)
    launch([SPEC], Home(tmp_path), resources=resources)
    assert seen == [before + 2]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize(
    ("resources", "runs", "divided"),
    [
        (Resources(), 12, (8, 1)),
        (Resources(), 3, (3, 2)),
        (Resources(), 1, (1, 8)),
        (Resources(workers=2), 12, (2, 4)),
        (Resources(threads=3), 12, (2, 3)),
        (Resources(workers=5, threads=7), 12, (5, 7)),
        (Resources(threads=99), 12, (1, 99)),
        (Resources(workers=99), 12, (99, 1)),
    ],
)
def test_cores_are_divided_between_workers(resources: Resources, runs: int, divided: tuple[int, int]) -> None:
    assert resources.divide(runs, cores=8) == divided


def test_a_wrong_call_is_told(tmp_path: Path) -> None:
    with pytest.raises(FttError, match="did you mean 'local'") as told:
        launch([SPEC], Home(tmp_path), on="locale")
    assert "local, ray" in str(told.value)
    with pytest.raises(FttError, match="workers"):
        Resources(workers=0)
