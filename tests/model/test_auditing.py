"""A saved model is audited on labelled data of every form, as if its predictions had been in the table."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from tests.cli.shell import Shell
from tests.contracts.small import small_data
from tests.model.conftest import Drawn

import ftt
from ftt.errors import FttError
from ftt.model import Model
from ftt.probe import DFRProbe


@pytest.fixture(scope="module")
def labelled(drawn: Drawn) -> pandas.DataFrame:
    """The list that the model was fitted on, with two more attributes and its own predictions."""
    table = pandas.read_csv(drawn.folder / "list.csv")
    table["size"] = np.where(np.arange(len(table)) % 3, "small", "large")
    predicted = drawn.model.predict([drawn.folder / "images" / name for name in table["path"]])
    return table.assign(predicted=predicted, id=table["path"])


def write(table: pandas.DataFrame, path: Path, columns: Sequence[str]) -> Path:
    table[list(columns)].to_csv(path, index=False)
    return path


def test_a_labelled_list_gives_the_audit_of_the_predictions(
    drawn: Drawn, labelled: pandas.DataFrame, tmp_path: Path
) -> None:
    given: dict[str, Any] = {"label": "tone", "attributes": ["ground", "size"], "fewest": 5}
    table = write(labelled, tmp_path / "table.csv", ["id", "tone", "ground", "size", "predicted"])
    inputs = write(labelled, tmp_path / "list.csv", ["path", "tone", "ground", "size"])
    expected = ftt.audit(table, **given)
    found = ftt.audit(drawn.folder / "model", inputs, image_root=drawn.folder / "images", **given)
    assert found.to_frame().equals(expected.to_frame())
    assert found.following == expected.following
    assert found.ids.tolist() == labelled["path"].tolist()
    # The table has no features to judge labels by, the model has.
    assert expected.issues is None
    assert len(found.label_issues()) == len(labelled)


def test_of_a_list_with_splits_only_the_audited_one_is_predicted(
    drawn: Drawn, labelled: pandas.DataFrame, tmp_path: Path
) -> None:
    table = labelled.assign(split=np.where(np.arange(len(labelled)) < 100, "train", "test"))
    # What is not audited need not be there.
    table.loc[:99, "path"] = "absent.png"
    inputs = write(table, tmp_path / "list.csv", ["path", "tone", "ground", "split"])
    found = ftt.audit(
        drawn.model, inputs, label="tone", attributes="ground", image_root=drawn.folder / "images", fewest=1
    )
    assert found.overall.n == len(labelled) - 100
    assert found.overall.right == (labelled["tone"] == labelled["predicted"])[100:].sum()
    assert found.adjusted is not None


def test_folders_of_images_are_labelled_by_their_names(
    drawn: Drawn, labelled: pandas.DataFrame, tmp_path: Path
) -> None:
    for path, tone, ground in labelled[["path", "tone", "ground"]].itertuples(index=False):
        folder = tmp_path / "sorted" / tone / ground
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(drawn.folder / "images" / path, folder)
    found = ftt.audit(drawn.model, tmp_path / "sorted", fewest=1)
    assert found.columns == ("label", "attribute")
    by_group = {group.name: (group.rate.right, group.rate.n) for group in found.groups}
    red = labelled[(labelled["ground"] == "red") & (labelled["tone"] == "dark")]
    right = (red["predicted"] == "dark").sum()
    assert by_group["label = dark, attribute = red"] == (right, len(red))


def test_inputs_that_cannot_be_read_are_left_out(drawn: Drawn, labelled: pandas.DataFrame, tmp_path: Path) -> None:
    table = labelled.copy()
    table.loc[3, "path"] = "absent.png"
    inputs = write(table, tmp_path / "list.csv", ["path", "tone", "ground"])
    found = ftt.audit(drawn.model, inputs, label="tone", attributes="ground", image_root=drawn.folder / "images")
    assert found.overall.n == len(labelled) - 1
    assert "absent.png" not in found.ids


def test_features_and_a_data_set_give_the_same_audit(tmp_path: Path) -> None:
    data = small_data("features")
    features = ftt.fit(data, "pca", "identity")
    val = data["val"]
    probe = DFRProbe(averages=2).fit(features.transform(val), val.y, attribute=val.a)
    model = Model.of(features, probe, data)
    test, info = data["test"], data.info
    everything = np.concatenate([data[name].inputs.read(np.arange(len(data[name]))) for name in ("train", "test")])
    train = data["train"]
    np.savez(
        tmp_path / "rows.npz",
        features=everything,
        y=np.array(info.classes)[np.concatenate([train.y, test.y_clean])],
        attribute=np.array(info.attributes)[np.concatenate([train.a, test.a])],
        split=np.repeat(["train", "test"], [len(train), len(test)]),
        id=np.concatenate([train.ids, test.ids]),
    )
    one = ftt.audit(model, data, fewest=1)
    first, second = one.to_json(), ftt.audit(model, tmp_path / "rows.npz", fewest=1).to_json()
    # Its groups are added up in another order.
    assert first.pop("adjusted_average") == pytest.approx(second.pop("adjusted_average"))
    assert first == second
    # The card of the model reports on the same rows.
    assert model.about.report is not None
    assert one.overall.value == pytest.approx(model.about.report.overall.value)


def test_the_command_audits_a_model_on_a_data_set_by_name(shell: Shell, tmp_path: Path) -> None:
    assert shell("run", "digits", "--recipe", "init", "--core-noise", "0.2", "--save", tmp_path / "model").code == 0
    page, issues = tmp_path / "page.html", tmp_path / "issues.csv"
    answer = shell(
        *("audit", tmp_path / "model", "digits", "--core-noise", "0.2", "--report", page, "--issues", issues)
    )
    assert answer.code == 0, answer.err
    assert "worst group" in answer.out
    assert "Audit: model" in page.read_text()
    assert issues.read_text().startswith("id,is_label_issue,label_score,given_label,predicted_label")
    assert "core-nose" in shell.refused("audit", tmp_path / "model", "digits", "--core-nose", "0.2")
    assert "audited on labelled data" in shell.refused("audit", tmp_path / "model")
    assert "--typo" in shell.refused("audit", tmp_path / "model", tmp_path / "list.csv", "--typo", "1")


def test_labels_that_the_model_does_not_know_are_refused(drawn: Drawn, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("path,tone,ground\n0.png,grey,red\n1.png,dark,green\n")
    with pytest.raises(FttError, match="no label called 'grey'"):
        ftt.audit(drawn.model, path, label="tone", attributes="ground", image_root=drawn.folder / "images")
    with pytest.raises(FttError, match="no label called 'even'"):
        ftt.audit(drawn.model, "digits")
