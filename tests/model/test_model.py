"""A saved model predicts what its run predicted, takes what users have, and says what it is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from safetensors.torch import save_file
from tests.contracts.small import small_data
from tests.model.conftest import Drawn

import ftt
from ftt.arrays import unpack
from ftt.errors import FttError
from ftt.model import Model
from ftt.model.accepted import Accepted
from ftt.model.model import Head
from ftt.probe import DFRProbe
from ftt.store import ArtifactStore
from ftt.train import saved


def digits_model(folder: Path, recipe: str = "init", **options: Any) -> tuple[ftt.Result, Model]:
    result = ftt.run("digits", recipe, home=folder / "home", backbone="identity", core_noise=0.2, epochs=1, **options)
    return result, Model.load(ftt.save(result, folder / "model", home=folder / "home"))


def codes(model: Model, given: Any) -> Any:
    return np.array([model.classes.index(name) for name in model.predict(given)])


@pytest.mark.parametrize("options", [{}, {"dims": 5}, {"depth": "backbone"}, {"last_layer": "trained"}], ids=str)
def test_with_one_probe_seed_it_predicts_what_the_run_predicted(tmp_path: Path, options: dict[str, Any]) -> None:
    result, model = digits_model(tmp_path, "ftt", probe_seeds=1, **options)
    test = ftt.load("digits", core_noise=0.2)["test"]
    np.testing.assert_array_equal(codes(model, test), unpack(result.probes[0].predicted))
    assert model.about.report is not None
    assert model.about.report.to_json() == result.report.to_json()


def test_the_mean_of_several_probes_is_as_accurate_as_they_are_on_average(tmp_path: Path) -> None:
    result, model = digits_model(tmp_path, probe_seeds=5)
    assert len(result.probes) == 5
    assert model.about.report is not None
    assert model.about.report.overall.value == pytest.approx(result.average_accuracy, abs=0.01)
    assert model.about.report.worst[1].value == pytest.approx(result.worst_group_accuracy, abs=0.02)


def test_the_mean_of_probes_is_the_mean_of_their_scores() -> None:
    data = small_data("features")
    X, y, a = data["val"].inputs.read(np.arange(64)), data["val"].y, data["val"].a
    probes = [DFRProbe(averages=2, random_state=seed).fit(X, y, attribute=a) for seed in range(3)]
    head = Head.mean_of(probes, 2)
    scores = X @ head.coef_.T + head.intercept_
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], np.mean([p.decision_function(X) for p in probes], axis=0))


def test_a_class_without_probing_rows_is_never_predicted() -> None:
    data = small_data("features")
    X, y = data["val"].inputs.read(np.arange(64)), 2 * data["val"].y
    head = Head.mean_of([DFRProbe(averages=2).fit(X, y)], 3)
    assert set(head.codes(X)) == {0, 2}


def test_saving_a_finished_run_makes_nothing_that_the_store_has(drawn: Drawn, tmp_path: Path) -> None:
    before = ArtifactStore(drawn.home / "artifacts").log()
    folder = ftt.save(drawn.result.run.id[:8], tmp_path / "model", home=drawn.home)
    assert ArtifactStore(drawn.home / "artifacts").log() == before
    np.testing.assert_array_equal(Model.load(folder).predict_proba(drawn.new), drawn.model.predict_proba(drawn.new))


@pytest.mark.slow
def test_it_needs_neither_data_nor_store_nor_the_folder_it_was_made_in(drawn: Drawn, tmp_path: Path) -> None:
    shutil.copytree(drawn.folder / "model", tmp_path / "elsewhere")
    image = shutil.copy(drawn.new[0], tmp_path / "new.png")
    code = f"import ftt; print(ftt.Model.load('elsewhere').predict([{Path(image).name!r}])[0])"
    places = {name: str(tmp_path / "none") for name in ("FTT_HOME", "FTT_CACHE", "FTT_DATA")}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | places, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == drawn.model.predict(drawn.new[:1])[0]
    assert not (tmp_path / "none").exists()


def test_neither_a_file_of_weights_nor_the_hub_is_needed_again(tmp_path: Path) -> None:
    from ftt.backbones import create

    data, weights = small_data(), tmp_path / "weights.safetensors"
    state = create("timm-random:test_resnet", data.inputs).state_dict()
    save_file({name.removeprefix("net."): value.contiguous() for name, value in state.items()}, weights)
    features, target = ftt.fit(data, "init", f"timm:test_resnet@{weights}"), data["val"]
    probe = DFRProbe(averages=2).fit(features.transform(target), target.y, attribute=target.a)
    folder = Model.of(features, probe, data).save(tmp_path / "model")
    weights.unlink()
    np.testing.assert_array_equal(Model.load(folder).transform(target), features.transform(target))
    assert str(tmp_path) not in (folder / "config.json").read_text() + (folder / "README.md").read_text()


def test_paths_a_table_and_pixels_give_the_same(drawn: Drawn) -> None:
    wanted = drawn.model.predict_proba(drawn.new)
    pixels = drawn.model.accepted.image_files(drawn.new).read(np.arange(len(drawn.new)))
    table = pandas.DataFrame({"id": range(len(drawn.new)), "path": [str(path) for path in drawn.new]})
    for given in (list(map(str, drawn.new)), table, pixels):
        np.testing.assert_allclose(drawn.model.predict_proba(given), wanted, atol=1e-6)
    np.testing.assert_allclose(wanted.sum(axis=1), 1)
    assert (drawn.model.predict(drawn.new) == np.array(drawn.model.classes)[wanted.argmax(axis=1)]).all()
    assert drawn.model.to_frame(drawn.new).columns.tolist() == ["label", "probability", "p_bright", "p_dark"]
    assert drawn.model.predict_proba([]).shape == (0, 2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["no.png"], "the file is missing"),
        ([5], "row 0 is not a path"),
        (np.zeros((2, 8, 8, 3), dtype=np.uint8), "does not take such inputs"),
        (np.zeros((2, 16, 16, 3)), "float64"),
        (pandas.DataFrame({"a": ["x"], "b": ["y"]}), "no column called 'path'"),
    ],
    ids=["missing", "number", "size", "floats", "columns"],
)
def test_what_it_cannot_take_is_refused_in_words(drawn: Drawn, given: Any, words: str) -> None:
    with pytest.raises(FttError, match=words):
        drawn.model.predict(given)


def test_a_threshold_moves_decisions_and_the_reported_accuracies(tmp_path: Path) -> None:
    result, model = digits_model(tmp_path)
    bold = Model.load(ftt.save(result, tmp_path / "bold", home=tmp_path / "home", threshold=0.9))
    test = ftt.load("digits", core_noise=0.2)["test"]
    np.testing.assert_array_equal(codes(bold, test), (model.predict_proba(test)[:, 1] > 0.9).astype(int))
    assert bold.about.report is not None
    assert bold.about.report.overall.value == pytest.approx((codes(bold, test) == test.y_clean).mean())
    for wrong in (0.0, 1.0, 7.0):
        with pytest.raises(FttError, match="threshold"):
            ftt.save(result, tmp_path / "wrong", home=tmp_path / "home", threshold=wrong)


def test_the_card_has_metrics_that_the_hugging_face_library_reads(drawn: Drawn) -> None:
    from huggingface_hub import ModelCard

    card = ModelCard.load(drawn.folder / "model" / "README.md")
    assert drawn.model.about.report is not None
    assert card.data.pipeline_tag == "image-classification"
    found = {(entry.metric_name or "").partition(" (")[0]: entry.metric_value for entry in card.data.eval_results or []}
    assert found["average accuracy"] == pytest.approx(drawn.model.about.report.overall.value, abs=1e-4)
    assert found["worst group accuracy"] == pytest.approx(drawn.model.about.report.headline[1].value, abs=1e-4)
    assert "accuracy, dark, red" in found


def test_names_from_data_cannot_break_the_card(tmp_path: Path) -> None:
    from dataclasses import replace

    from huggingface_hub import ModelCard

    data = small_data("features")
    odd = replace(data.info, name='x": [\n---\n# <b>', classes=("a: b | c", "- '\"\\"), attributes=("\x1b[31m", "{"))
    named = replace(data, info=odd)
    features = ftt.fit(named, "init", "identity")
    probe = DFRProbe(averages=2).fit(features.transform(named["val"]), named["val"].y, attribute=named["val"].a)
    folder = Model.of(features, probe, named).save(tmp_path / "model")
    names = [entry.metric_name or "" for entry in ModelCard.load(folder / "README.md").data.eval_results or []]
    assert any("a: b | c" in name for name in names)
    text = (folder / "README.md").read_text()
    assert "\x1b" not in text
    assert "<b>" not in text.partition("\n---\n")[2]
    assert Model.load(folder).classes == odd.classes


def test_it_shows_itself_in_a_notebook(drawn: Drawn) -> None:
    page = drawn.model._repr_html_()
    for word in ("bright, dark", "tinyconv", "95 % interval", "worst group"):
        assert word in page


def test_examples_are_kept_unless_they_are_not_wanted(drawn: Drawn, tmp_path: Path) -> None:
    assert drawn.model.examples is not None
    assert len(drawn.model.examples) == 8
    folder = ftt.save(drawn.result, tmp_path / "model", home=drawn.home, examples=0)
    assert Model.load(folder).examples is None
    assert "inputs of the probing split" not in (folder / "README.md").read_text()


def test_paths_of_the_training_data_stay_at_home(drawn: Drawn) -> None:
    folder = drawn.folder / "model"
    assert str(drawn.folder) not in (folder / "config.json").read_text() + (folder / "README.md").read_text()


def test_features_alone_and_folders_of_older_layouts_are_refused(drawn: Drawn, tmp_path: Path) -> None:
    drawn.model.features.save(tmp_path / "features")
    with pytest.raises(FttError, match="features without a probe"):
        Model.load(tmp_path / "features")
    config, arrays = saved.read(drawn.folder / "model")
    saved.write(tmp_path / "old", {**config, "layout": 3}, arrays, "")
    with pytest.raises(FttError, match=r"another layout(.|\n)*ftt save"):
        Model.load(tmp_path / "old")


def test_a_run_that_is_unknown_unfinished_or_on_changed_data_is_refused(drawn: Drawn, tmp_path: Path) -> None:
    with pytest.raises(FttError, match="there is no run 'ffffffff'"):
        ftt.save("ffffffff", tmp_path / "model", home=drawn.home)
    copied = shutil.copytree(drawn.home, tmp_path / "home")
    (copied / "runs" / drawn.result.run.id / "result.json").unlink()
    with pytest.raises(FttError, match="has not finished"):
        ftt.save(drawn.result.run.id, tmp_path / "model", home=copied)
    image = drawn.folder / "images" / "0.png"
    content = image.read_bytes()
    try:
        image.write_bytes((drawn.folder / "images" / "1.png").read_bytes())
        with pytest.raises(FttError, match="have changed since this run"):
            ftt.save(drawn.result, tmp_path / "model", home=drawn.home)
    finally:
        image.write_bytes(content)
    assert not (tmp_path / "model").exists()


def test_a_probe_of_another_width_is_refused(drawn: Drawn) -> None:
    with pytest.raises(FttError, match="does not fit"):
        Model(drawn.model.features, Head(np.zeros((2, 3)), np.zeros(2)), drawn.model.accepted, ("a", "b"))


def test_columns_of_the_training_table_are_remembered(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, 120), rng.integers(0, 2, 120)
    X = np.c_[y + 0.2 * rng.standard_normal(120), a, rng.standard_normal((120, 2))]
    np.savez(tmp_path / "own.npz", vectors=X, y=y, attribute=a)
    options: dict[str, Any] = {"path": str(tmp_path / "own.npz"), "features": "vectors", "epochs": 1}
    result = ftt.run("embeddings", "init", home=tmp_path / "home", **options)
    model = Model.load(ftt.save(result, tmp_path / "model", home=tmp_path / "home"))
    assert model.accepted == Accepted("features", (4,), "vectors")
    frame = ftt.predict(model, tmp_path / "own.npz")
    assert frame["label"].tolist() == model.predict(X).tolist() == model.predict(pandas.DataFrame(X)).tolist()
    assert json.loads((tmp_path / "model" / "config.json").read_text())["model"]["inputs"]["column"] == "vectors"
