"""Everything registered keeps its contract: a new method, freezer or backbone is tested by existing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from ftt import registry
from ftt.backbones import create
from ftt.data import ArrayInputs, GroupedData
from ftt.data.inputs import Kind
from ftt.errors import FttError
from ftt.freeze.freezer import Freezer
from ftt.methods.method import Method
from ftt.metrics import group_report
from ftt.model import Model
from ftt.probe import DFRProbe
from ftt.recipe import PRESETS, Recipe, preset
from ftt.spec import Training
from ftt.train import FreezeThenTrain, fit
from ftt.train.export import FeatureModule
from tests.contracts.small import ROWS, small_data

TWO_STEPS = Training(epochs=1, batch_size=ROWS // 2, lr=0.05)
MEMBERS: dict[str, tuple[str, Kind]] = {
    "dense": ("dense:8x4", "features"),
    "hf": ("hf:minilm", "texts"),
    "identity": ("identity", "features"),
    "lite0": ("lite0", "images"),
    "mlp": ("mlp:8", "features"),
    "timm-random": ("timm-random:test_resnet", "images"),
    "tinyconv": ("tinyconv", "images"),
}
"""A member of every family that needs no network; `timm` is the same class as `timm-random` with fetched weights."""


def freezer(name: str) -> Freezer:
    options = {"epochs": 1, "batch_size": 32} if name == "contrastive" else {}
    return registry.FREEZERS.build({"name": name, "p": 0.5, **options})


def method(name: str) -> Method:
    return registry.METHODS.build({"name": name})


def same_features(first: FreezeThenTrain, second: FreezeThenTrain) -> bool:
    data = small_data(first.backbone.accepts[0])
    return bool(np.array_equal(first.transform(data["val"]), second.transform(data["val"])))


def fit_probe_and_report(recipe: Recipe, backbone: str, kind: Kind) -> FreezeThenTrain:
    """The whole way with clean labels under a tripwire."""
    data = small_data(kind, tripwire=True)
    model = fit(data, recipe, backbone, training=TWO_STEPS)
    probe = DFRProbe(averages=2).fit(model.transform(data["val"]), data["val"].y, attribute=data["val"].a)
    assert 0 <= group_report(probe, model, data["test"]).overall.value <= 1
    return model


def check_saved_model(features: FreezeThenTrain, data: GroupedData, folder: Path) -> None:
    """Saved with a probe and read back: the same features to the bit, and the predictions of the probe."""
    phi, target = features.transform(data["val"]), data["val"]
    probe = DFRProbe(averages=2).fit(phi, target.y, attribute=target.a)
    loaded = Model.load(Model.of(features, probe, data).save(folder / "model"))
    np.testing.assert_array_equal(loaded.transform(target), phi)
    np.testing.assert_allclose(loaded.predict_proba(target), probe.predict_proba(phi), atol=1e-5)
    assert loaded.features.recipe == features.recipe


def test_every_backbone_family_is_covered() -> None:
    assert set(MEMBERS) | {"timm"} == set(registry.BACKBONES.entries())


@pytest.mark.parametrize("name", list(registry.METHODS.entries()))
class TestMethod:
    def test_two_steps_move_the_weights_and_give_finite_features(self, name: str) -> None:
        model = fit_probe_and_report(Recipe(None, method(name)), "tinyconv", "images")
        assert model.network is not None
        assert np.isfinite(model.transform(small_data()["val"])).all()
        before = create("tinyconv", small_data()["train"].inputs).state_dict()
        moved = [not torch.equal(before[k], v) for k, v in model.network.backbone.state_dict().items()]
        assert any(moved)

    def test_the_same_seed_gives_the_same_bits_and_another_does_not(self, name: str) -> None:
        recipe = Recipe(None, method(name))
        first, second = (fit(small_data(), recipe, "tinyconv", training=TWO_STEPS, seed=3) for _ in range(2))
        other = fit(small_data(), recipe, "tinyconv", training=TWO_STEPS, seed=4)
        assert same_features(first, second)
        assert not same_features(first, other)

    def test_save_and_load_give_the_same_features(self, name: str, tmp_path: Path) -> None:
        model = fit(small_data(), Recipe(freezer("pca"), method(name)), "tinyconv", training=TWO_STEPS)
        loaded = FreezeThenTrain.load(model.save(tmp_path / "model"))
        assert same_features(model, loaded)
        assert loaded.recipe == model.recipe

    def test_its_description_builds_it_again(self, name: str) -> None:
        assert registry.METHODS.build(method(name).describe()) == method(name)

    def test_its_file_names_the_paper_the_formula_and_the_limits(self, name: str) -> None:
        import inspect
        import sys

        text = inspect.getdoc(sys.modules[type(method(name)).__module__]) or ""
        assert "When not to use" in text
        assert len(text.splitlines()) > 5


@pytest.mark.parametrize("name", list(registry.FREEZERS.entries()))
class TestFreezer:
    @pytest.mark.parametrize("join", ["joint", "late"])
    def test_it_goes_the_whole_way_without_reading_a_clean_label(self, name: str, join: str) -> None:
        model = fit_probe_and_report(Recipe(freezer(name), method("erm"), join), "tinyconv", "images")
        assert model.explained is not None
        assert 0 < model.explained <= 1 + 1e-6
        assert model.transform(small_data()["val"]).shape == (ROWS, 64)

    def test_labels_do_not_move_what_is_frozen(self, name: str) -> None:
        data = small_data()
        shuffled = np.random.default_rng(1).permutation(data.y)
        other = type(data)(data.inputs, shuffled, data.a, data.split, data.info, y_clean=data.y_clean)
        first, second = (fit(d, Recipe(freezer(name), None), "tinyconv") for d in (data, other))
        assert same_features(first, second)

    def test_every_p_is_a_prefix_of_the_same_basis(self, name: str) -> None:
        phi = np.random.default_rng(0).standard_normal((50, 8)).astype(np.float32)
        basis = freezer(name).basis([phi[:20], phi[20:]], 8)
        np.testing.assert_array_equal(basis.first(3).weight, basis.first(8).weight[:, :3])

    def test_save_and_load_give_the_same_features(self, name: str, tmp_path: Path) -> None:
        model = fit(small_data(), Recipe(freezer(name), None), "tinyconv")
        loaded = FreezeThenTrain.load(model.save(tmp_path / "model"))
        assert same_features(model, loaded)


@pytest.mark.parametrize("name", list(PRESETS))
class TestPreset:
    def test_it_goes_the_whole_way_without_reading_a_clean_label(self, name: str) -> None:
        model = fit_probe_and_report(preset(name), "tinyconv", "images")
        assert np.isfinite(model.transform(small_data()["val"])).all()
        assert sum(model.widths) == model.transform(small_data()["val"]).shape[1]

    def test_its_description_reads_back_and_its_name_finds_it(self, name: str) -> None:
        recipe = preset(name)
        assert Recipe.from_description(json.loads(json.dumps(recipe.describe()))) == recipe
        assert recipe.name == name

    def test_save_load_predict_and_export_agree(self, name: str, tmp_path: Path) -> None:
        data = small_data()
        model = fit(data, preset(name), "tinyconv", training=TWO_STEPS)
        check_saved_model(model, data, tmp_path)
        x = model.backbone.prepare(data["val"].inputs.read(np.arange(ROWS)))
        np.testing.assert_allclose(FeatureModule(model)(x).numpy(), model.transform(data["val"]), atol=1e-4)


@pytest.mark.parametrize("name", list(MEMBERS))
class TestBackbone:
    def test_its_features_have_the_promised_shape_and_are_deterministic(self, name: str) -> None:
        member, kind = MEMBERS[name]
        inputs = small_data(kind)["train"].inputs
        backbone = create(member, inputs).eval()
        batch = backbone.prepare(inputs.read(np.arange(8)))
        with torch.inference_mode():
            first, second = backbone(batch), backbone(batch)
        assert first.shape == (8, backbone.num_features)
        assert torch.equal(first, second)
        assert create(member, inputs).weights_id == backbone.weights_id

    def test_it_trains_two_steps_and_survives_save_and_load(self, name: str, tmp_path: Path) -> None:
        member, kind = MEMBERS[name]
        model = fit_probe_and_report(Recipe(freezer("pca"), method("erm")), member, kind)
        data = small_data(kind)
        check_saved_model(model, data, tmp_path)

    def test_inputs_of_another_kind_are_refused(self, name: str) -> None:
        member, kind = MEMBERS[name]
        wrong = small_data("images" if kind == "texts" else "texts")["train"].inputs
        with pytest.raises(FttError, match="cannot take"):
            create(member, wrong)


def test_timm_weights_that_are_not_available_are_an_error_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from ftt.backbones import timm

    def unreachable(*_: object, **__: object) -> None:
        raise OSError("no network")

    monkeypatch.setattr("timm.create_model", unreachable)
    with pytest.raises(FttError, match="could not be fetched"):
        timm.Timm("resnet18.tv_in1k")


def test_an_unknown_timm_model_is_an_error_with_a_suggestion() -> None:
    images = ArrayInputs(np.zeros((1, 32, 32, 3), dtype=np.uint8), "images")
    with pytest.raises(FttError, match="resnet"):
        create("timm:resnet81", images)
