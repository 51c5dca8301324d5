"""Sources of features share their trainings, and each does what its formula says."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from tests.contracts.small import small_data

import ftt
from ftt.arrays import FloatArray
from ftt.backbones import create, extract
from ftt.backbones.stages import Stages, find_stages
from ftt.data import ArrayInputs, GroupedData
from ftt.errors import FttError
from ftt.probe import DFRProbe
from ftt.recipe import PRESETS, Recipe, preset
from ftt.runs.compose import compose
from ftt.sources import auto
from ftt.sources.afr import refit
from ftt.sources.erased import leace
from ftt.sources.inner_layers import InnerLayers
from ftt.sources.lp_ft import start_from
from ftt.sources.target import Target
from ftt.sources.taught import Taught
from ftt.sources.two_teachers import TwoTeachers
from ftt.sources.wise_ft import WiseFT, interpolate
from ftt.spec import Training
from ftt.store import ArtifactStore, Home
from ftt.train import Services, fit
from ftt.train.fitting import Job
from ftt.train.model import Block
from ftt.train.two_branch import build

SHORT = Training(epochs=1, batch_size=32, lr=0.05)
BEYOND = tuple(name for name, chosen in PRESETS.items() if chosen.sources)
TWO = ("two-teachers", "initial-two-teachers", "target-taught")


def noisy_data() -> GroupedData:
    """With noise, teachers answer neither as the observed labels nor as each other: no two trainings are the same."""
    data = small_data()
    flipped = np.where(np.arange(len(data.y)) % 4 == 0, 1 - data.y, data.y)
    return type(data)(data.inputs, flipped, data.a, data.split, data.info, y_clean=data.y_clean)


@pytest.mark.parametrize(
    ("recipes", "trainings"),
    [
        (("init", "both", "erm", "auto", "ftt-late", "inner-layers", "wise-ft", "afr", "leace"), 1),
        (("init", "erm", "ftt", "both", "target", "target-head", "initial-two-teachers", "two-teachers"), 4),
        (("init", "target", "target-head", "target-taught", "leace"), 2),
        (("erm", "ftt", *(name for name in BEYOND if name not in TWO)), 5),
        (("erm", "ftt", "ftt-late", *BEYOND), 7),
    ],
    ids=["one training", "the best and what it is compared with", "target rows only", "all but two teachers", "all"],
)
def test_recipes_at_one_noise_and_seed_share_their_trainings(
    recipes: tuple[str, ...], trainings: int, tmp_path: Path
) -> None:
    """ERM, joint FTT, ERM from a fitted head, the target split, a student of one teacher and two students of two."""
    store = ArtifactStore(tmp_path)
    for name in recipes:
        fit(noisy_data(), preset(name), "tinyconv", training=SHORT, services=Services(cache=store))
    assert store.made["trained"] == trainings


def test_two_ways_of_probing_never_train_twice(tmp_path: Path) -> None:
    store, home = Home(tmp_path), ["digits", "all-three"]
    for probing in ({}, {"penalties": "per-block"}, {"grid": "paper", "probe_seeds": 2}):
        ftt.run(*home, core_noise=0.2, epochs=1, home=store, **probing)
    # ERM and the student.
    assert store.artifacts.made["trained"] == 2


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


def test_a_second_round_is_taught_by_a_probe_that_sees_the_first_student(monkeypatch: pytest.MonkeyPatch) -> None:
    data, given, seen = noisy_data(), Taught.teach, []

    def watched(self: Taught, job: Job, blocks: list[Block]) -> FloatArray:
        seen.append([block.branch for block in blocks])
        # Others than in the first round, so that its student is another.
        return given(self, job, blocks)[:, :: -1 if len(seen) == 2 else 1]

    monkeypatch.setattr(Taught, "teach", watched)
    model = fit(data, Recipe(sources=(Taught(rounds=2),)), "tinyconv", training=SHORT)
    assert len(seen[1]) == len(seen[0]) + 1
    assert model.blocks[0].branch is not seen[1][-1]


def test_soft_labels_are_another_training_than_hard_ones() -> None:
    data = noisy_data()
    hard, soft = (
        fit(data, Recipe(sources=(Taught(labels=labels),)), "tinyconv", training=SHORT).transform(data["val"])
        for labels in ("hard", "soft")
    )
    assert not np.allclose(hard, soft)


def test_soft_labels_of_a_teacher_that_is_certain_are_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cross-entropy with probabilities 0 and 1 is that of labels."""
    data = noisy_data()
    certain = np.eye(2)[np.arange(len(data["train"])) % 2]
    monkeypatch.setattr(Taught, "teach", lambda *_: certain)
    hard, soft = (
        fit(data, Recipe(sources=(Taught(labels=labels),)), "tinyconv", training=SHORT).transform(data["val"])
        for labels in ("hard", "soft")
    )
    np.testing.assert_allclose(hard, soft, atol=1e-5)


def test_soft_labels_need_a_method_that_can_train_on_them() -> None:
    with pytest.raises(FttError, match="cannot train on probabilities"):
        fit(small_data(), Recipe(sources=(Taught(labels="soft", by="group-dro"),)), "tinyconv", training=SHORT)


def test_parameters_of_sources_are_those_of_a_run() -> None:
    spec = compose({"dataset": "digits", "recipe": "all-three", "labels": "soft", "taught.rounds": 2})
    assert spec.recipe.sources[2] == Taught(labels="soft", rounds=2)
    assert compose({"dataset": "digits", "recipe": "all-three"}).recipe == preset("all-three")
    with pytest.raises(FttError, match="ambiguous"):
        compose({"dataset": "digits", "recipe": "all-three", "by": "jtt"})


def test_hard_labels_leave_the_key_of_a_student_as_it_was() -> None:
    assert "labels" not in Taught().identity()
    assert Taught(labels="soft").identity()["labels"] == "soft"


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


def test_stages_are_means_over_the_image_of_the_last_layer_of_a_resolution() -> None:
    inputs = small_data()["train"].inputs
    backbone = create("tinyconv:0", inputs).eval()
    x = backbone.prepare(inputs.read(np.arange(4)))
    stages = Stages(backbone, find_stages(backbone, x))
    layers = list(backbone.net)  # type: ignore[arg-type]
    with torch.inference_mode():
        by_hand = [torch.nn.Sequential(*layers[:end])(x).mean(dim=(2, 3)) for end in (3, 6)]
        assert torch.equal(stages(x), torch.cat(by_hand, dim=1))
        # A copy looks at its own layers.
        other = copy.deepcopy(stages)
        other.backbone.net[0].weight.zero_()  # type: ignore[union-attr, index]
        assert not torch.equal(other(x), stages(x))


def test_every_resolution_of_lite0_but_the_last_is_a_stage() -> None:
    images = ArrayInputs(np.zeros((1, 64, 32, 3), dtype=np.uint8), "images")
    backbone = create("lite0", images).eval()
    widths = find_stages(backbone, backbone.prepare(images.read(np.arange(1))))
    # The images are halved five times. A stage ends where the first block of the next has widened its channels.
    assert list(widths.values()) == [96, 144, 240, 672]


def test_inner_layers_are_principal_components_of_every_stage_of_both_networks() -> None:
    data = small_data()
    model = fit(data, Recipe(sources=(InnerLayers(dims=10),)), "tinyconv", training=SHORT)
    assert model.widths == (10,) * 4
    phi = model.transform(data["train"]).astype(np.float64)
    for start in range(0, 40, 10):
        block = phi[:, start : start + 10]
        covariance = np.cov(block.T)
        assert np.abs(block.mean(axis=0)).max() < 1e-3
        assert np.abs(covariance - np.diag(np.diag(covariance))).max() < 1e-3 * covariance.max()


def test_features_have_no_inner_layers() -> None:
    with pytest.raises(FttError, match="no inner stages"):
        fit(small_data("features"), "inner-layers", "identity", training=SHORT)


def test_a_network_that_starts_from_a_probe_answers_as_the_probe_does() -> None:
    data = small_data()
    train = data["train"]
    backbone = create("tinyconv:0", train.inputs)
    network = build(backbone, 0, 2, seed=0)
    phi = extract(backbone, train.inputs, "train")
    probe = DFRProbe().fit(phi, train.y)
    start_from(network, probe)
    with torch.inference_mode():
        x = backbone.prepare(train.inputs.read(np.arange(len(train))))
        answers = network.eval()(x, torch.zeros(len(train), 0)).softmax(dim=1).numpy()
    np.testing.assert_allclose(answers, probe.predict_proba(phi), atol=1e-5)


def test_training_from_a_fitted_head_is_another_training_than_erm() -> None:
    data = small_data()
    erm, lp_ft = (fit(data, preset(name), "tinyconv", training=SHORT) for name in ("erm", "lp-ft"))
    assert not np.allclose(erm.transform(data["val"]), lp_ft.transform(data["val"]))


def test_refitted_last_layer_solves_the_weighted_problem_of_scikit_learn() -> None:
    """Around zero start weights with γ = 0 it is logistic regression with balanced classes and C = 1 / (2 λ)."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((300, 4)), rng.integers(0, 3, 300)
    rows = np.c_[x + np.eye(3, 4)[y], np.ones(300)]
    lam = 0.01
    found = refit(rows, y, np.zeros((5, 3)), gamma=0.0, lam=lam)
    weights = 1 / np.bincount(y)[y]
    oracle = LogisticRegression(C=1 / (2 * lam), fit_intercept=False, tol=1e-8, max_iter=5000)
    oracle.fit(rows, y, sample_weight=weights / weights.sum())
    np.testing.assert_allclose(found, oracle.coef_.T, atol=2e-3)


def test_rows_that_the_network_gets_wrong_weigh_more_with_a_larger_gamma() -> None:
    rng = np.random.default_rng(0)
    y = np.array([0, 1] * 100)
    shortcut = np.where(np.arange(200) < 180, y, 1 - y)
    rows = np.c_[2.0 * y - 1 + rng.standard_normal(200), 2.0 * shortcut - 1, np.ones(200)]
    start = np.array([[0.0, 0.0], [-3.0, 3.0], [0.0, 0.0]])
    follows = [np.diff(refit(rows, y, start, gamma, 1e-3)[1])[0] for gamma in (0.0, 8.0)]
    assert follows[1] < 0 < follows[0]


def test_own_head_gives_the_logits_of_the_network_itself() -> None:
    data = small_data()
    model = fit(data, Recipe(sources=(Target(head=True),)), "tinyconv", training=SHORT)
    assert model.widths == (2,)
    network, val = model.network, data["val"]
    assert network is not None
    with torch.inference_mode():
        x = network.backbone.prepare(val.inputs.read(np.arange(len(val))))
        logits = network(x, torch.zeros(len(val), 0)).numpy()
    np.testing.assert_allclose(model.transform(val), logits, rtol=1e-4, atol=1e-4)


def test_two_teachers_share_the_target_network_with_target_fine_tuning(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    for recipe in (preset("target"), Recipe(sources=(TwoTeachers(teacher="initial"),))):
        fit(small_data(), recipe, "tinyconv", training=SHORT, services=Services(cache=store))
    assert store.made["trained"] == 2


def test_auto_keeps_the_features_that_probe_best_on_held_out_target_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the three choices is kept when its score is best, with the features of the recipe of that name."""
    data = small_data()
    wide = {"init": 64, "both": 128, "erm": 64}
    for best, number in (("init", 0), ("both", 1), ("erm", 2)):
        scores = iter(np.eye(3)[number])
        monkeypatch.setattr(auto, "held_out_score", lambda *_, scores=scores: float(next(scores)))
        found, plain = (fit(data, name, "tinyconv", training=SHORT).transform(data["val"]) for name in ("auto", best))
        assert found.shape[1] == wide[best]
        np.testing.assert_array_equal(found, plain)


def test_auto_shares_the_training_of_erm_and_looks_at_no_test_row(tmp_path: Path) -> None:
    data, store = small_data(), ArtifactStore(tmp_path)
    for name in ("erm", "auto"):
        model = fit(data, name, "tinyconv", training=SHORT, services=Services(cache=store))
    assert store.made["trained"] == 1
    test = data.split == "test"
    y, a = np.where(test, 0, data.y), np.where(test, 0, data.a)
    other = type(data)(data.inputs, y, a, data.split, data.info)
    again = fit(other, "auto", "tinyconv", training=SHORT)
    np.testing.assert_array_equal(model.transform(data["val"]), again.transform(other["val"]))
