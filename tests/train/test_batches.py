"""Batches drawn per attribute value, and trainings that are measured in steps."""

from __future__ import annotations

import numpy as np
from tests.contracts.small import small_data

from ftt.backbones.identity import Identity
from ftt.data.grouped import DatasetInfo, Fittable
from ftt.data.inputs import ArrayInputs
from ftt.rows import InMemory
from ftt.spec import Training
from ftt.train import fit
from ftt.train.batches import Batches, Frozen

DOMAINS = ("art", "photo", "sketch")


def domains(sizes: tuple[int, ...], batch_size: int) -> Batches:
    a = np.repeat(np.arange(len(sizes)), sizes)
    inputs = ArrayInputs(np.zeros((len(a), 3), dtype=np.float32), "features")
    info = DatasetInfo("small", ("dog", "cat"), DOMAINS, "")
    split = Fittable("train", inputs, a, np.arange(len(a)).astype(str), info, y=a % 2)
    backbone = Identity.create("", inputs)
    training = Training(batch_size=batch_size, sampling="per-attribute")
    return Batches(split, backbone, Frozen(InMemory(np.zeros((len(a), 0), np.float32))), training)


def test_a_batch_holds_as_many_rows_of_every_domain_however_rare_it_is() -> None:
    batches = domains((500, 40, 10), batch_size=9)
    steps = batches.order(np.arange(550), seed=0, epoch=0)
    assert len(steps) == 62
    for rows in steps:
        assert np.bincount(batches.split.a[rows], minlength=3).tolist() == [3, 3, 3]


def test_drawn_batches_are_a_function_of_seed_and_epoch() -> None:
    batches = domains((50, 40, 10), batch_size=8)
    rows = np.arange(100)
    first, again, other = (batches.order(rows, seed=0, epoch=epoch) for epoch in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))


def test_a_training_in_steps_stops_at_that_step_and_logs_the_broken_epoch() -> None:
    data = small_data("features")
    n = len(data["train"])
    per_epoch = -(-n // 15)
    wanted = 2 * per_epoch + 1
    model = fit(data, "erm", "identity", training=Training(epochs=1, batch_size=15, steps=wanted))
    rows = [int(np.sum(record["rows_by_group"])) for record in model.log]
    assert rows == [n, n, 15]
