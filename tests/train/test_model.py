"""What is frozen stays frozen, what is shared is computed once, what is exported agrees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tests.contracts.small import ROWS, small_data

import ftt
from ftt.errors import FttError
from ftt.probe import DFRProbe
from ftt.recipe import Recipe, preset
from ftt.spec import Training
from ftt.store import ArtifactStore
from ftt.train import Services, fit
from ftt.train.loop import learning_rate

SHORT = Training(epochs=2, batch_size=32, lr=0.05)


def test_pca_keeps_what_sklearn_keeps() -> None:
    from sklearn.decomposition import PCA

    phi = np.random.default_rng(0).standard_normal((200, 12)).astype(np.float32) @ np.diag(np.arange(1, 13)).astype(
        np.float32
    )
    ours, theirs = ftt.PCA(p=0.5).basis([phi], 12).first(6), PCA(6, svd_solver="full").fit(phi.astype(np.float64))
    agreement = np.abs(ours.weight.T.astype(np.float64) @ theirs.components_.T)
    np.testing.assert_allclose(agreement, np.eye(6), atol=1e-4)
    assert ours.explained == pytest.approx(theirs.explained_variance_ratio_.sum(), abs=1e-5)
    np.testing.assert_allclose(np.abs(ours(phi)), np.abs(theirs.transform(phi)), atol=1e-2)


def test_the_released_basis_keeps_no_more_than_a_random_one_and_pca_keeps_most() -> None:
    data = ftt.load("digits")
    kept = {}
    for name, freezer in {
        "pca": ftt.PCA(),
        "released": ftt.PCA(variant="released"),
        "random": ftt.RandomProjection(),
    }.items():
        kept[name] = fit(data, Recipe(freezer, None), "identity").explained
    assert kept["pca"] is not None
    assert kept["pca"] > 0.85
    assert kept["released"] == pytest.approx(0.25, abs=0.06)
    assert kept["random"] == pytest.approx(0.25, abs=0.06)


def test_training_leaves_the_frozen_features_alone() -> None:
    data = small_data()
    before = fit(data, Recipe(ftt.PCA(p=0.25), None), "tinyconv").transform(data["val"])
    after = fit(data, Recipe(ftt.PCA(p=0.25), ftt.ERM()), "tinyconv", training=SHORT).transform(data["val"])
    np.testing.assert_array_equal(after[:, :16], before)


def test_the_frozen_branch_is_in_eval_mode_while_views_are_trained_on() -> None:
    """BatchNorm in train mode would move its statistics, and with them the frozen features."""
    data = small_data()
    training = Training(epochs=1, batch_size=32, augment="crop-flip")
    model = fit(data, Recipe(ftt.PCA(p=0.25), ftt.ERM()), "timm-random:test_resnet", training=training)
    untouched = fit(data, Recipe(ftt.PCA(p=0.25), None), "timm-random:test_resnet")
    for name, value in untouched.backbone.state_dict().items():
        assert torch.equal(model.backbone.state_dict()[name], value), name
    assert model.network is not None
    moved = model.network.backbone.state_dict()
    assert any(not torch.equal(moved[k], v) for k, v in untouched.backbone.state_dict().items() if "running" in k)


def test_frozen_batchnorm_of_the_trained_branch_keeps_its_statistics() -> None:
    training = Training(epochs=1, batch_size=32, batchnorm="frozen")
    model = fit(small_data(), Recipe(None, ftt.ERM()), "timm-random:test_resnet", training=training)
    assert model.network is not None
    initial = fit(small_data(), "init", "timm-random:test_resnet").backbone.state_dict()
    trained = model.network.backbone.state_dict()
    assert all(torch.equal(trained[k], v) for k, v in initial.items() if "running" in k)


@pytest.mark.parametrize("rows", [2, 9])
@pytest.mark.parametrize("name", ["identity", "tinyconv"])
def test_projection_and_head_multiplied_first_give_the_same_logits_and_gradients(name: str, rows: int) -> None:
    from ftt.backbones import create
    from ftt.train.two_branch import build

    inputs = small_data("features" if name == "identity" else "images")["train"].inputs
    backbone = create(name, inputs)
    network = build(backbone, 4, 3, seed=0).double().eval()
    x = backbone.prepare(inputs.read(np.arange(rows))).double()
    frozen = torch.randn(rows, 4, dtype=torch.float64)
    short = network(x, frozen)
    long = network.head(torch.cat([frozen, network.project(network.backbone(x))], dim=1))
    torch.testing.assert_close(short, long)
    parameters = list(network.parameters())
    found, expected = (torch.autograd.grad(out.square().sum(), parameters) for out in (short, long))
    torch.testing.assert_close(found, expected)


def test_a_sweep_over_p_extracts_features_once_and_fits_one_basis(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    data = small_data()
    for p in (0.25, 0.5, 0.75):
        fit(data, Recipe(ftt.PCA(p=p), ftt.ERM()), "tinyconv", training=SHORT, services=Services(cache=store))
    assert store.made["features"] == 1
    assert store.made["basis"] == 1
    assert store.made["trained"] == 3


def test_a_late_join_shares_one_training_with_erm_and_with_every_p(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    data = small_data()
    for recipe in (Recipe(None, ftt.ERM()), *(Recipe(ftt.PCA(p=p), ftt.ERM(), "late") for p in (0.25, 0.5))):
        fit(data, recipe, "tinyconv", training=SHORT, services=Services(cache=store))
    assert store.made["trained"] == 1


def test_late_blocks_have_one_scale_on_the_training_split() -> None:
    data = small_data()
    phi = fit(data, preset("ftt-late"), "tinyconv", training=SHORT).transform(data["train"])
    frozen, trained = phi[:, :16].var(axis=0).mean(), phi[:, 16:].var(axis=0).mean()
    assert frozen == pytest.approx(1, rel=1e-3)
    assert trained == pytest.approx(1, rel=1e-3)


def test_p_zero_is_the_plain_method_and_p_one_is_pca_only() -> None:
    assert preset("ftt", p=0) == preset("erm")
    assert preset("ftt", p=1) == Recipe(ftt.PCA(p=1.0), None)
    assert preset("ftt", p=1) == preset("pca")


def test_training_on_the_test_split_is_refused() -> None:
    from ftt.data.grouped import require_fittable

    with pytest.raises(FttError, match="may not see the split 'test'"):
        require_fittable(small_data()["test"], "training")


def test_the_exported_module_gives_the_probes_predictions() -> None:
    data = small_data()
    for recipe in (preset("init"), preset("erm"), preset("ftt"), preset("ftt-late"), preset("all-three")):
        model = fit(data, recipe, "tinyconv", training=SHORT)
        probe = DFRProbe(averages=2).fit(model.transform(data["val"]), data["val"].y, attribute=data["val"].a)
        module = model.export(probe)
        x = model.backbone.prepare(data["test"].inputs.read(np.arange(ROWS)))
        logits = module(x).numpy()
        np.testing.assert_allclose(logits[:, 1], probe.decision_function(model.transform(data["test"])), atol=1e-4)
        assert not any(parameter.requires_grad for parameter in module.parameters())


def test_a_probe_of_scikit_learn_can_be_exported_and_one_that_is_not_fitted_is_refused() -> None:
    from sklearn.linear_model import LogisticRegression

    data = small_data("features")
    model = fit(data, "init", "identity")
    probe = LogisticRegression().fit(model.transform(data["val"]), data["val"].y)
    x = model.backbone.prepare(data["test"].inputs.read(np.arange(ROWS)))
    logits = model.export(probe)(x).numpy()
    np.testing.assert_array_equal(logits.argmax(1), probe.predict(model.transform(data["test"])))
    with pytest.raises(FttError, match="fitted linear probe"):
        model.export(DFRProbe())


def test_the_model_card_says_how_it_was_made(tmp_path: Path) -> None:
    model = fit(small_data(), preset("ftt"), "tinyconv", training=SHORT)
    text = (model.save(tmp_path / "m", licence="MIT") / "README.md").read_text()
    for word in ("tinyconv", '"p": 0.25', '"name": "erm"', "| licence | MIT |", "Limits"):
        assert word in text
    assert {p.name for p in (tmp_path / "m").iterdir()} == {"README.md", "config.json", "weights.safetensors"}


def test_damaged_saved_models_are_refused(tmp_path: Path) -> None:
    data = small_data()
    for p, name in ((0.25, "a"), (0.5, "b")):
        fit(data, Recipe(ftt.PCA(p=p), None), "tinyconv").save(tmp_path / name)
    config, weights = (tmp_path / "a" / name for name in ("config.json", "weights.safetensors"))
    whole = {path: path.read_bytes() for path in (config, weights)}
    damages: list[tuple[Path, bytes]] = [
        (weights, whole[weights][:-4] + b"\0\0\0\1"),
        (weights, whole[weights][:-100]),
        (weights, b""),
        (config, whole[config].replace(b'"scale": 1.0', b'"scale": 2.0')),
        (config, whole[config][:-10]),
        (config, (tmp_path / "b" / "config.json").read_bytes()),
        (config, b"[" * 100_000),
    ]
    for path, content in damages:
        assert content != whole[path]
        path.write_bytes(content)
        with pytest.raises(FttError, match="the saved model is damaged"):
            ftt.FreezeThenTrain.load(tmp_path / "a")
        path.write_bytes(whole[path])
    assert ftt.FreezeThenTrain.load(tmp_path / "a").recipe.freeze == ftt.PCA(p=0.25)


def test_saving_over_a_model_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = small_data()
    folder = fit(data, "init", "tinyconv").save(tmp_path / "m")
    monkeypatch.setattr("ftt.train.saved.card", lambda model, notes: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        fit(data, "pca", "tinyconv").save(folder)
    assert ftt.FreezeThenTrain.load(folder).recipe == Recipe()
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_saving_never_takes_other_files_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    model = fit(small_data(), "init", "tinyconv")
    with pytest.raises(FttError, match=r"folder of its own(.|\n)*thesis.tex"):
        model.save(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(FttError, match="the current folder"):
        model.save(".")
    assert (tmp_path / "thesis.tex").read_text() == "x"


def test_loading_what_is_no_model_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FttError, match="no saved model"):
        ftt.FreezeThenTrain.load(tmp_path)


@pytest.mark.parametrize(
    ("schedule", "rates"), [("constant", [1, 1, 1]), ("drop", [1, 1, 0.2]), ("cosine", [1, 0.75, 0.25])]
)
def test_learning_rates_follow_the_schedule(schedule: str, rates: list[float]) -> None:
    training = Training(lr=1.0, schedule=schedule, drop_after=2)
    assert [learning_rate(training, epoch, 3) for epoch in range(3)] == pytest.approx(rates)


def test_the_log_counts_observed_labels_by_group() -> None:
    data = small_data()
    log = fit(data, Recipe(None, ftt.ERM()), "tinyconv", training=SHORT).log
    assert [record["epoch"] for record in log] == [0, 1]
    expected = data.counts("train").tolist()
    assert all(record["rows_by_group"] == expected for record in log)
    assert log[-1]["loss"] < log[0]["loss"]


@pytest.mark.slow
def test_training_on_the_shortcut_harms_a_probe_and_freezing_does_not() -> None:
    """The paper's claim in small: the core is noisy, the shortcut clean (half of the features frozen, three seeds)."""
    worst: dict[str, list[float]] = {"init": [], "erm": [], "ftt": []}
    for seed in range(3):
        data = ftt.load("digits", core_noise=0.2, spurious_noise=0.0, seed=seed)
        recipes = {
            "init": Recipe(),
            "erm": Recipe(None, ftt.ERM()),
            "ftt": Recipe(ftt.PCA(p=0.5), ftt.ERM()),
        }
        for name, recipe in recipes.items():
            model = fit(data, recipe, f"tinyconv:{seed}", training=Training(epochs=40, lr=0.05), seed=seed)
            probe = DFRProbe().fit(model.transform(data["val"]), data["val"].y, attribute=data["val"].a)
            worst[name].append(ftt.group_report(probe, model, data["test"]).worst[1].value)
    means = {name: float(np.mean(values)) for name, values in worst.items()}
    assert means["erm"] < means["init"] - 0.02
    assert means["ftt"] > means["erm"] + 0.02
