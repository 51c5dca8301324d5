"""The audit: groups, what predictions follow, labels that look wrong, and what is said about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ftt
from ftt.diagnosis import Rows, audit
from ftt.diagnosis.following import follow
from ftt.diagnosis.label_issues import find
from ftt.diagnosis.scores import out_of_fold
from ftt.errors import FttError
from tests.diagnosis.test_noise import labelled


def animals(n: int = 400) -> dict[str, Any]:
    """Cows and camels on grass and sand, by day and night; a model that looks at the ground in the dark."""
    rng = np.random.default_rng(0)
    y, ground = rng.choice(["camel", "cow"], n), rng.choice(["grass", "sand"], n)
    time = rng.choice(["day", "night"], n)
    dark = np.where(ground == "sand", "camel", "cow")
    return {"y": y, "ground": ground, "time": time, "predicted": np.where(time == "night", dark, y)}


def test_the_worst_group_is_found_among_crossings_of_several_attributes() -> None:
    rows = animals()
    found = audit(Rows(rows["y"], {k: rows[k] for k in ("ground", "time")}, predicted=rows["predicted"]), fewest=20)
    assert found.worst is not None
    assert found.worst.rate.value == 0
    assert {name for name, _ in found.worst.parts} == {"label", "ground", "time"}
    assert all(group.rate.n >= 20 for group in found.groups)


def test_predictions_that_follow_the_attribute_are_told_from_those_that_do_not() -> None:
    rng = np.random.default_rng(0)
    y, a = rng.integers(0, 2, (2, 600))
    shortcut = np.where(rng.random(600) < 0.3, a, y)
    assert follow(shortcut, y, a).distinguishable
    assert follow(shortcut, y, a).value == pytest.approx(0.3, abs=0.08)
    noisy = np.where(rng.random(600) < 0.2, 1 - y, y)
    assert not follow(noisy, y, a).distinguishable


def test_labels_that_were_flipped_get_low_scores() -> None:
    phi, y, a = labelled(1500, 0.0, apart=5.0)
    flipped = np.zeros(1500, dtype=bool)
    flipped[:150] = True
    observed = np.where(flipped, 1 - y, y)
    found = find(out_of_fold(phi, observed, a), a)
    assert found.is_issue[flipped].mean() > 0.85
    assert found.is_issue[~flipped].mean() < 0.02
    assert found.noise.low <= 0.1 <= found.noise.high


def test_the_table_of_label_issues_has_the_columns_of_datalab() -> None:
    phi, y, a = labelled(600, 0.1, apart=4.0)
    frame = audit(Rows(y, {"place": a}, features=phi)).label_issues()
    assert list(frame.columns) == ["is_label_issue", "label_score", "given_label", "predicted_label"]
    assert len(frame) == 600
    assert frame["label_score"].between(0, 1).all()
    assert frame["is_label_issue"].dtype == bool
    assert (
        frame.loc[frame["is_label_issue"], "given_label"] != frame.loc[frame["is_label_issue"], "predicted_label"]
    ).all()


def test_the_weighted_average_is_that_of_wilds() -> None:
    y, a = np.repeat(["0", "1"], 50), np.tile(["l", "r"], 50)
    says = np.where(a == "l", y, "0")
    train: dict[tuple[str, ...], float] = {("0", "l"): 90.0, ("0", "r"): 5.0, ("1", "l"): 0.0, ("1", "r"): 5.0}
    assert audit(Rows(y, {"a": a}, predicted=says, train=train)).adjusted == pytest.approx(0.95)


def test_a_collapsed_model_is_called_that() -> None:
    rows = animals()
    found = audit(Rows(rows["y"], {"ground": rows["ground"]}, predicted=np.full(400, "cow")))
    assert any("collapsed" in line and "cow" in line for line in found.sentences())
    assert not audit(Rows(rows["y"], {"ground": rows["ground"]}, predicted=rows["y"])).warnings


def test_two_models_are_compared_row_by_row() -> None:
    rows = animals()
    found = audit(Rows(rows["y"], {"time": rows["time"]}, predicted=rows["y"], other=rows["predicted"]))
    assert found.differences["time = day"].value == 0
    night = found.differences["time = night"]
    assert night.low > 0
    assert night.value == pytest.approx(1 - np.mean((rows["predicted"] == rows["y"])[rows["time"] == "night"]))


def test_a_csv_and_an_npz_of_the_same_rows_give_the_same_audit(tmp_path: Path) -> None:
    import pandas

    rows = animals()
    split = np.repeat(["train", "test"], 200)
    pandas.DataFrame({**rows, "split": split}).to_csv(tmp_path / "rows.csv", index=False)
    np.savez(tmp_path / "rows.npz", split=split, **rows)
    first, second = (ftt.audit(tmp_path / f"rows.{kind}", attributes=["ground", "time"]) for kind in ("csv", "npz"))
    assert first.to_json() == second.to_json()
    assert first.overall.n == 200
    assert first.adjusted is not None


def test_pages_and_tables_are_written_with_texts_made_harmless(tmp_path: Path) -> None:
    phi, y, _ = labelled(300, 0.2, apart=4.0)
    places = np.where(np.arange(300) % 2, "<script>alert(1)</script>", "land")
    names = np.array(["=cmd()", "b"])[y]
    found = audit(Rows(names, {"place": places}, features=phi))
    page = found.write_page(tmp_path / "page.html").read_text()
    assert "<script>alert" not in page
    assert "Labels that look wrong" in page
    text = found.write_label_issues(tmp_path / "issues.csv").read_text()
    assert text.startswith("id,is_label_issue,label_score,given_label,predicted_label")
    assert ",=cmd" not in text
    assert "<script>" not in found._repr_html_()
    json.dumps(found.to_json())


def test_rows_without_predictions_and_features_are_refused() -> None:
    with pytest.raises(FttError, match="nothing to audit"):
        audit(Rows(["a", "b"], {"place": ["l", "r"]}))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"label": "species"}, "no column in rows.csv"),
        ({"audited": "val"}, "no split called"),
        ({"colour": "red"}, "no option of audit"),
    ],
)
def test_wrong_names_are_refused_with_what_there_is(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("y,attribute,predicted,split\na,l,a,train\nb,r,b,test\n")
    with pytest.raises(FttError, match=said):
        ftt.audit(path, **changes)
