"""Sources of features share their trainings, and each does what its formula says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from tests.contracts.small import small_data

from ftt.backbones import create
from ftt.recipe import Recipe, preset
from ftt.sources.erased import leace
from ftt.sources.taught import Taught
from ftt.sources.wise_ft import WiseFT, interpolate
from ftt.spec import Training
from ftt.store import ArtifactStore
from ftt.train import Services, fit

SHORT = Training(epochs=1, batch_size=32, lr=0.05)
BEYOND = ("erm", "ftt-late", "both", "taught", "initial-taught", "all-three", "wise-ft", "leace", "target", "ftt")


def test_all_recipes_at_one_noise_and_seed_need_four_trainings_together(tmp_path: Path) -> None:
    """ERM, the taught student, the joint FTT and the network trained on the target split.

    On data without noise the teacher may repeat the observed labels: the student is then the ERM training itself.
    """
    store = ArtifactStore(tmp_path)
    for name in BEYOND:
        fit(small_data(), preset(name), "tinyconv", training=SHORT, services=Services(cache=store))
    assert store.made["trained"] in (3, 4)


def test_blocks_side_by_side_have_one_mean_variance() -> None:
    data = small_data()
    model = fit(data, "both", "tinyconv", training=SHORT)
    phi, (first, second) = model.transform(data["train"]), model.widths
    assert (first, second) == (64, 64)
    for block in (phi[:, :first], phi[:, first:]):
        assert block.var(axis=0, dtype=np.float64).mean() == pytest.approx(1, rel=1e-4)


def test_a_student_ignores_the_observed_labels_of_training() -> None:
    """With the teacher on the initial features alone they enter nowhere."""
    data = small_data()
    train = data.split == "train"
    noisy = np.where(train, 1 - data.y, data.y)
    other = type(data)(data.inputs, noisy, data.a, data.split, data.info, y_clean=data.y_clean)
    recipe = Recipe(sources=(Taught(teacher="initial"),))
    first, second = (fit(d, recipe, "tinyconv", training=SHORT).transform(data["val"]) for d in (data, other))
    np.testing.assert_array_equal(first, second)


def test_a_second_round_is_another_training() -> None:
    data = small_data()
    one, two = (
        fit(data, Recipe(sources=(Taught(rounds=rounds),)), "tinyconv", training=SHORT).transform(data["val"])
        for rounds in (1, 2)
    )
    assert one.shape == two.shape


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_interpolated_weights_end_at_both_networks(alpha: float) -> None:
    inputs = small_data()["train"].inputs
    initial, other = create("tinyconv:0", inputs), create("tinyconv:1", inputs)
    between = interpolate(initial, other, alpha).state_dict()
    for name, value in (other if alpha else initial).state_dict().items():
        assert torch.equal(between[name], value), name


def test_wise_ft_at_zero_is_the_initial_network_where_nothing_is_recalibrated() -> None:
    data = small_data()
    model = fit(data, Recipe(sources=(WiseFT(alpha=0.0),)), "tinyconv", training=SHORT)
    np.testing.assert_array_equal(model.transform(data["val"]), fit(data, "init", "tinyconv").transform(data["val"]))


def test_after_erasure_no_linear_classifier_tells_the_attribute_and_the_label_stays() -> None:
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, 2000), rng.integers(0, 2, 2000)
    mixing = rng.standard_normal((6, 6))
    phi = np.c_[2.0 * y, 3.0 * a, rng.standard_normal((2000, 4))] @ mixing + 5
    erase = leace(phi, a)
    cleaned = erase(phi.astype(np.float32)).astype(np.float64)
    centred = cleaned - cleaned.mean(axis=0)
    assert np.abs(centred.T @ (a - a.mean())).max() / len(a) < 1e-4
    assert LogisticRegression().fit(cleaned, a).score(cleaned, a) < 0.55
    assert LogisticRegression().fit(cleaned, y).score(cleaned, y) > 0.95


def test_erasure_is_the_smallest_change_that_erases() -> None:
    """LEACE changes nothing along directions that say nothing of the attribute."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 2, 3000)
    phi = np.c_[a + 0.1 * rng.standard_normal(3000), rng.standard_normal((3000, 3))]
    cleaned = leace(phi, a)(phi.astype(np.float32))
    assert np.abs(cleaned[:, 1:] - phi[:, 1:]).std() < 0.1
    assert cleaned[:, 0].std() < 0.5 * phi[:, 0].std()
