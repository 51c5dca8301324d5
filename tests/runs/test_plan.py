"""What a dry run tells: shared trainings once, what is stored not at all, and nothing is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ftt.data.digits import Digits
from ftt.recipe import preset
from ftt.runs import time_estimate
from ftt.runs.plan import Plan, plan
from ftt.runs.runner import run_spec
from ftt.runs.time_estimate import Cost, Work
from ftt.spec import Spec, Training
from ftt.store import Home

SPEC = Spec(data=Digits(), backbone="tinyconv", recipe=preset("erm"), train=Training(epochs=1))
LATE = [replace(SPEC, recipe=preset("ftt-late", p=p)) for p in (0.25, 0.5)]
JOINT = replace(SPEC, recipe=preset("ftt"))


@pytest.fixture(autouse=True)
def _known_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        time_estimate, "pilot", lambda spec, roots: Cost(training=2.0, forward=1.0, train_rows=10, rows=30)
    )


def test_a_training_that_runs_share_is_planned_once_and_nothing_is_written(tmp_path: Path) -> None:
    made = plan([SPEC, *LATE, JOINT, SPEC], Home(tmp_path))
    assert (made.runs, made.finished) == (4, 0)
    assert [work.name.split(": ")[1] for work in made.trainings] == ["erm, seed 0", "ftt, seed 0"]
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "artifacts").exists()


def test_what_an_earlier_run_left_in_the_store_is_not_planned_again(tmp_path: Path) -> None:
    home = Home(tmp_path)
    run_spec(SPEC, home)
    before = plan([SPEC, *LATE, JOINT], Home(tmp_path / "empty"))
    after = plan([SPEC, *LATE, JOINT], home)
    assert (after.runs, after.finished) == (4, 1)
    assert [work.name for work in after.works if work.stored] == ["digits, tinyconv: erm, seed 0"]
    assert len(after.trainings) == 1
    assert after.seconds < before.seconds
    assert plan([SPEC], home).works == ()
    assert plan([SPEC], home).sentences() == ["1 run, 1 of them already in the store"]


def test_a_checkpoint_is_announced(tmp_path: Path) -> None:
    home = Home(tmp_path)
    from ftt.train.fitting import job_of

    key = job_of(SPEC.data.load(home.roots), SPEC.recipe, "tinyconv", training=SPEC.train, seed=0).key(SPEC.recipe)
    home.checkpoint_folder(key).mkdir(parents=True)
    made = plan([SPEC], home)
    assert [work.resumes for work in made.works] == [True]
    assert "1 resumed from a checkpoint" in made.sentences()[1]


def test_workers_divide_the_time_but_not_one_training() -> None:
    works = (Work("training", "a", 60.0), Work("training", "b", 20.0), Work("training", "c", 40.0, stored=True))
    assert Plan(3, 0, works, probing=None, workers=1).seconds == 80
    assert Plan(3, 0, works, probing=None, workers=4).seconds == 60
    assert Plan(3, 0, works, probing=40.0, workers=1).seconds == 120
