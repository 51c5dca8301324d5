"""The Python front doors mirror the commands: names or objects in, typed results out, words where it cannot be."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import torch

import ftt
from ftt.data import ArrayInputs, DatasetInfo, GroupedData
from ftt.errors import FttError
from ftt.runs.compose import compose
from ftt.store import ArtifactStore
from tests.planted import planted_report, planted_result

MARKUP = "<img src=x onerror=alert(1)>"
ONE = ftt.Resources(workers=1, threads=1)
QUICK: dict[str, Any] = {"backbone": "identity", "epochs": 1, "probe.seeds": 1}


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def data() -> GroupedData:
    return ftt.load("digits", core_noise=0.2, spurious_noise=0.0, seed=0)


def test_theory_is_there_after_import_ftt() -> None:
    """Issue 11: `ftt.theory` raised AttributeError."""
    assert fresh("import ftt; print(ftt.theory.Mechanism.__name__)") == "Mechanism"


@pytest.mark.parametrize(
    "code",
    [
        "import ftt; dir(ftt)",
        "import sys; sys.argv = ['ftt', '--help']; from ftt.cli import app; app(standalone_mode=False)",
        "import ftt; ftt.ls()",
    ],
    ids=["import ftt", "ftt --help", "ftt.ls()"],
)
def test_torch_is_not_imported_before_it_is_needed(code: str) -> None:
    assert fresh(f"{code}; import sys; print('torch' in sys.modules)").splitlines()[-1] == "False"


def test_run_takes_names_and_parameters_as_the_command_does(tmp_path: Path) -> None:
    result = ftt.run("digits", recipe="init", core_noise=0.2, home=tmp_path, **QUICK)
    assert isinstance(result, ftt.Result)
    assert result.spec == compose({"dataset": "digits", "recipe": "init", "core_noise": 0.2, **QUICK})
    assert 0.5 < result.worst_group_accuracy <= result.average_accuracy < 1


def test_run_takes_a_spec_and_finds_the_same_run(tmp_path: Path) -> None:
    spec = compose({"dataset": "digits", "recipe": "ftt", "p": 0.5, **QUICK})
    first, again = ftt.run(spec, home=tmp_path), ftt.run("digits", "ftt", p=0.5, home=tmp_path, **QUICK)
    assert (first.from_store, again.from_store) == (False, True)
    assert again == first
    assert again.to_json() | {"from_store": False} == first.to_json()


def test_run_takes_a_recipe_object_and_knows_its_name(tmp_path: Path) -> None:
    recipe = ftt.Recipe(freeze=ftt.PCA(p=0.5), method=ftt.ERM())
    result = ftt.run("digits", recipe, home=tmp_path, **QUICK)
    assert result.spec.recipe == recipe
    assert result == ftt.run("digits", "ftt", p=0.5, home=tmp_path, **QUICK)
    own = ftt.run("digits", ftt.Recipe(ftt.RandomProjection(p=0.5), ftt.JTT(upweight=5)), home=tmp_path, **QUICK)
    assert own.spec.recipe.name == "random+jtt"
    assert own.spec.recipe.method == ftt.JTT(upweight=5)


def test_fit_with_a_folder_as_cache_trains_once(data: GroupedData, tmp_path: Path) -> None:
    """Issue 11: recipe="ftt" and cache="folder" raised AttributeError."""
    first = ftt.fit(data, "ftt", "identity", epochs=1, cache=tmp_path / "cache")
    kept = sorted((tmp_path / "cache").rglob("*.safetensors"))
    assert len([path for path in kept if path.parent.parent.name == "trained"]) == 1
    again = ftt.fit(data, ftt.Recipe(ftt.PCA(p=0.25), ftt.ERM()), "identity", epochs=1, cache=str(tmp_path / "cache"))
    assert sorted((tmp_path / "cache").rglob("*.safetensors")) == kept
    np.testing.assert_array_equal(first.transform(data["val"]), again.transform(data["val"]))
    store = ArtifactStore(tmp_path / "cache")
    ftt.fit(data, "ftt", "identity", epochs=1, cache=store)
    assert store.made == {}


def test_fit_takes_a_whole_training_or_what_differs_from_the_usual_one(data: GroupedData) -> None:
    usual = ftt.fit(data, "erm", "identity", epochs=1)
    whole = ftt.fit(data, "erm", "identity", training=replace(ftt.Training(lr=0.05), epochs=1))
    np.testing.assert_array_equal(usual.transform(data["val"]), whole.transform(data["val"]))
    with pytest.raises(FttError, match="training must be a Training"):
        ftt.fit(data, training=ftt.Training(), epochs=1)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    text = {"base": {"dataset": "digits", **QUICK}, "grid": {"p": [0.0, 0.5], "seed": [0, 1]}}
    done = ftt.sweep(text, home=home, resources=ONE)
    assert [row["state"] for row in done.rows()] == ["done"] * 4
    assert done.to_frame()[["p", "seed"]].to_numpy().tolist() == [[0, 0], [0, 1], [0.5, 0], [0.5, 1]]
    return home


def test_a_sweep_is_a_mapping_or_a_file_and_is_not_run_twice(swept: Path, tmp_path: Path) -> None:
    path = tmp_path / "again.toml"
    path.write_text(
        '[base]\ndataset = "digits"\nbackbone = "identity"\nepochs = 1\nprobe.seeds = 1\n'
        "[grid]\np = [0.0, 0.5]\nseed = [0, 1]\n"
    )
    for source in (path, str(path)):
        done = ftt.sweep(source, home=swept, resources=ONE)
        assert all(row["from_store"] for row in done.rows())
        assert done.failed == {}


def test_results_are_a_frame_with_a_row_per_run_or_means_over_seeds(swept: Path) -> None:
    frame = ftt.results(home=swept)
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 4
    assert {"run_id", "recipe", "p", "data.core_noise", "worst_group_accuracy", "seconds.fit"} <= set(frame.columns)
    assert sorted(ftt.results("recipe = 'ftt'", home=swept)["seed"]) == [0, 1]
    means = ftt.results(group_by=["recipe", "p"], home=swept)
    for _, row in means.iterrows():
        own = frame[frame["recipe"] == row["recipe"]]["worst_group_accuracy"]
        assert row["worst_group_accuracy"] == pytest.approx(own.mean())
        assert row["worst_group_accuracy_se"] == pytest.approx(own.sem())
    pandas.testing.assert_frame_equal(
        ftt.results("p = 0", group_by="recipe", home=swept).iloc[:, 1:], means.iloc[:1, 2:]
    )
    with pytest.raises(FttError, match="differ in more than their seed"):
        ftt.results(group_by="dataset", home=swept)


def test_ls_names_what_can_be_chosen_with_a_summary_each() -> None:
    assert set(ftt.ls("methods")["methods"]) == {"erm", "irm", "cvar-dro", "group-dro", "jtt"}
    assert set(ftt.ls()) == {"datasets", "backbones", "freezers", "methods", "recipes", "experiments"}
    assert all(summary for entries in ftt.ls().values() for summary in entries.values())
    with pytest.raises(FttError, match="did you mean 'methods'"):
        ftt.ls("method")


@pytest.mark.slow
def test_reproduce_returns_what_was_measured_as_a_frame_and_a_page(tmp_path: Path) -> None:
    made = ftt.reproduce("random-weights", budget="smoke", home=tmp_path, out=tmp_path / "out", resources=ONE)
    frame = made.to_frame()
    assert made.failures == {}
    assert len(frame) == sum(len(m.cell.specs) for m in made.table.cells) == 12
    assert set(frame.columns) == {"row", "column", "seed", "worst_group_accuracy", "average_accuracy", "run_id"}
    assert frame["worst_group_accuracy"].between(0, 1).all()
    assert made.files[0].read_text() == str(made)
    assert {run["run_id"] for run in ftt.results(home=tmp_path).to_dict("records")} == set(frame["run_id"])


def test_reproduce_of_an_experiment_without_runs_has_an_empty_frame(tmp_path: Path) -> None:
    made = ftt.reproduce("fig3", budget="smoke", home=tmp_path)
    assert made.to_frame().empty
    assert made.findings.sentences


def test_names_are_escaped_where_results_are_shown_as_html() -> None:
    report = planted_report({MARKUP: 0.7, "right": 0.8})
    result = planted_result(report)
    named = replace(result, run=replace(result.run, spec=replace(result.spec, backbone=MARKUP)))
    for shown in (report._repr_html_(), result._repr_html_(), named._repr_html_()):
        assert MARKUP not in shown
        assert "&lt;img src=x onerror=alert(1)&gt;" in shown
    assert "70.0%" in report._repr_html_()


def test_names_are_escaped_where_a_model_is_shown_as_html(data: GroupedData) -> None:
    model = ftt.fit(data, ftt.Recipe(freeze=ftt.PCA(p=0.25)), backbone="identity")
    assert "<td>identity" in model._repr_html_()
    model.backbone_name = MARKUP
    shown = model._repr_html_()
    assert MARKUP not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in shown


@pytest.mark.parametrize("recipe", ["init", "pca", "erm", "ftt", "ftt-late"])
def test_an_exported_model_has_the_logits_of_its_probe(recipe: str, data: GroupedData) -> None:
    model = ftt.fit(data, recipe, "tinyconv", epochs=1)
    val, test = data["val"], data["test"]
    probe = ftt.DFRProbe(averages=2).fit(model.transform(val), val.y, attribute=val.a)
    module = model.export(probe)
    rows = np.arange(len(test))
    with torch.inference_mode():
        logits = module(model.backbone.prepare(test.inputs.read(rows))).numpy()
    scores = probe.decision_function(model.transform(test))
    np.testing.assert_allclose(logits[:, 1] - logits[:, 0], scores, rtol=1e-4, atol=1e-4)
    assert (logits.argmax(axis=1) == probe.predict(model.transform(test))).mean() > 0.999


def test_an_exported_model_of_three_classes_has_a_logit_per_class() -> None:
    rng = np.random.default_rng(0)
    y, a = np.arange(120) % 3, np.arange(120) // 3 % 2
    x = np.eye(3)[y] @ rng.standard_normal((3, 8)) + 0.3 * rng.standard_normal((120, 8))
    info = DatasetInfo("three", ("a", "b", "c"), ("u", "v"), "")
    inputs = ArrayInputs(x.astype(np.float32), "features")
    made = GroupedData(inputs, y, a, np.repeat(["train", "val", "test"], 40), info)
    model = ftt.fit(made, "ftt", "identity", epochs=1)
    probe = ftt.DFRProbe(averages=2).fit(model.transform(made["val"]), made["val"].y, attribute=made["val"].a)
    with torch.inference_mode():
        logits = model.export(probe)(torch.from_numpy(x.astype(np.float32))).numpy()
    np.testing.assert_allclose(logits, probe.decision_function(model.transform(inputs)), rtol=1e-4, atol=1e-4)


def test_export_needs_a_fitted_linear_probe(data: GroupedData) -> None:
    model = ftt.fit(data, ftt.Recipe(), backbone="identity")
    with pytest.raises(FttError, match="coef_ and intercept_"):
        model.export(ftt.DFRProbe())


WRONG: Any = 1.5
METHOD: Any = ftt.ERM()
MISSPELT: Any = {"buget": "cpu"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda data: ftt.fit(data, "fft"), ("did you mean 'ftt'", "cvar-dro, erm, ftt")),
        (lambda data: ftt.fit(data, WRONG), ("a recipe must be a name or a Recipe", "ftt.Recipe(freeze=")),
        (lambda data: ftt.fit(data, "ftt", "identity", epoch=1), ("did you mean 'epochs'",)),
        (lambda data: ftt.fit(data, "ftt", "identity", epochs="many"), ("an integer: 1 <= epochs",)),
        (lambda _: ftt.run("digits", "fft"), ("did you mean 'ftt'", "cvar-dro, erm, ftt")),
        (lambda _: ftt.run("digit"), ("did you mean 'digits'", "waterbirds")),
        (lambda _: ftt.run(WRONG), ("dataset must be a name",)),
        (lambda _: ftt.run("digits", WRONG), ("a recipe must be a name, or a complete Recipe", "ftt.Recipe(")),
        (lambda _: ftt.run("digits", ftt.Recipe(), p=0.5), ("a complete Recipe",)),
        (lambda _: ftt.run("digits", core_nois=0.2), ("did you mean 'core_noise'",)),
        (lambda _: ftt.run("digits", core_noise="much"), ("a number: 0 <= core_noise <= 0.5",)),
        (lambda _: ftt.run("digits", p="half"), ("a number: 0 <= p <= 1",)),
        (lambda _: ftt.run("digits", seed=-1), ("0 <= seed",)),
        (lambda _: ftt.run("digits", "group-dro", groups="attribute"), ("--probe.groups", "--method.groups")),
        (lambda _: ftt.run(compose({"dataset": "digits"}), p=0.5), ("a Spec is complete", "ftt.run(spec)")),
        (lambda _: ftt.reproduce("figg1"), ("did you mean 'fig1'",)),
        (lambda _: ftt.reproduce("fig1", budget="tiny"), ("cpu, paper, smoke",)),
        (lambda _: ftt.reproduce("fig1", **MISSPELT), ("did you mean 'budget'",)),
        (lambda _: ftt.sweep({"base": {"dataset": "digits"}, "gird": {}}), ("did you mean 'grid'",)),
        (lambda _: ftt.sweep("nowhere.toml"), ("cannot be read",)),
        (lambda _: ftt.reproduce("fig1", seeds=0), ("seeds must be a positive integer",)),
        (lambda _: ftt.Recipe(freeze=WRONG), ("must be a freezer or None", "ftt.PCA(p=0.25)")),
        (lambda _: ftt.Recipe(freeze=METHOD), ("must be a freezer or None", "ftt.PCA(p=0.25)")),
        (lambda data: ftt.fit(data["train"]), ("must be a GroupedData", "ftt.load(")),
        (lambda data: ftt.fit(data, seed=WRONG), ("seed must be a non-negative integer",)),
        (lambda data: ftt.fit(data, cache=WRONG), ("cache must be a path",)),
        (lambda _: ftt.run("digits", home=WRONG), ("home must be a path",)),
        (lambda _: ftt.sweep(WRONG), ("source must be a path",)),
        (lambda data: ftt.Spec(data=data, backbone="identity", recipe=ftt.Recipe()), ("invalid data of a Spec",)),
        (lambda _: ftt.Recipe(join="sometimes"), ("joint, late",)),
        (lambda _: ftt.Resources(workers=0), ("1 <= workers",)),
        (lambda _: ftt.Resources(workers=WRONG), ("1 <= workers",)),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(call: Any, words: tuple[str, ...], data: GroupedData) -> None:
    with pytest.raises(FttError) as error:
        call(data)
    for word in words:
        assert word in str(error.value)


def test_a_notebook_shows_counts_and_images_of_data_and_escapes_its_names() -> None:
    shown = ftt.load("digits")._repr_html_()
    assert "<td>320</td>" in shown
    assert "data:image/png;base64," in shown
    data = ftt.load("digits")
    hostile = dataclasses.replace(data.info, classes=("<img src=x onerror=alert(1)>", "odd"))
    assert "<img src=x" not in dataclasses.replace(data, info=hostile)._repr_html_()
