"""The cost of a table is known before its data are placed and its weights are fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftt.data import Roots
from ftt.errors import FttError
from ftt.paper.experiment import Request
from ftt.registry import DATASETS, EXPERIMENTS
from ftt.runs import time_estimate
from ftt.runs.plan import GPU, plan
from ftt.runs.stand_in import sample_of
from ftt.runs.time_estimate import Cost
from ftt.spec import Spec
from ftt.store import Home


def specs(name: str, budget: str, dataset: str) -> list[Spec]:
    return [spec for cell in EXPERIMENTS.get(name).cells(Request(budget, dataset)) for spec in cell.specs]


@pytest.mark.parametrize(
    ("dataset", "train", "everything"),
    [("waterbirds", 4795, 11_788), ("celeba", 95_194, 117_791), ("pacs", None, None)],
)
def test_rows_are_the_published_ones(dataset: str, train: int | None, everything: int | None, tmp_path: Path) -> None:
    sample = sample_of(DATASETS.build({"name": dataset}), Roots(tmp_path, None))
    if train is None:
        # Sketch is held out: 3,929 of the 9,991 images.
        assert sample.rows == sample.train_rows + 3929
    else:
        assert (sample.train_rows, sample.rows) == (train, everything)
    assert sample.inputs.read(sample.y[:1]).shape == (1, 224, 224, 3)


def test_own_data_that_are_missing_stay_an_error(tmp_path: Path) -> None:
    own = DATASETS.build({"name": "manifest", "path": str(tmp_path / "list.csv")})
    with pytest.raises(FttError, match=r"list\.csv"):
        sample_of(own, Roots(tmp_path, None))


def test_the_main_table_is_counted_without_its_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = Cost(training=0.1, forward=0.03, train_rows=4795, rows=11_788)
    monkeypatch.setattr(time_estimate, "pilot", lambda spec, roots: cost)
    monkeypatch.setattr(time_estimate, "operations_of", lambda spec, roots: 4e9)
    found = plan(specs("table-main", "paper", "waterbirds"), Home(tmp_path, Roots(tmp_path, None)))
    assert (found.runs, len(found.trainings)) == (300, 300)
    # Sixty trainings of each method: 100 epochs of 4,795 birds, JTT 60 + 300.
    steps = 60 * 4795 * (4 * 100 + 360)
    seen = sum(1 for work in found.works) * 11_788
    assert found.gpu_seconds == pytest.approx((3 * steps + seen) * 4e9 / GPU)
    assert any(sentence.endswith("on one GPU (10 TFLOP/s sustained)") for sentence in found.sentences())


def test_a_small_network_is_timed_and_counted(tmp_path: Path) -> None:
    spec, roots = specs("table-main", "smoke", "waterbirds")[0], Roots(tmp_path, None)
    cost = time_estimate.pilot(spec, roots)
    assert min(cost.training, cost.forward) > 0
    # The second convolution alone: 32 filters of 16 × 3 × 3 at 8 × 8 places, two operations each.
    assert time_estimate.operations_of(spec, roots) > 2 * 32 * 16 * 9 * 64
