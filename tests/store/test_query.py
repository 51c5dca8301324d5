"""Results as a table: one row per run, dotted names, texts and mixtures survive, damaged files are left out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.planted import with_accuracies

from ftt.data import Roots
from ftt.data.digits import Digits
from ftt.errors import FttError
from ftt.freeze.pca import PCA
from ftt.methods.erm import ERM
from ftt.recipe import Recipe
from ftt.spec import Spec
from ftt.store import RunStore
from ftt.store.checked_json import write_checked
from ftt.store.query import collect, query, row_of

SPEC = Spec(data=Digits(core_noise=0.2), backbone="mlp:it's", recipe=Recipe(PCA(p=0.25), ERM()))
OTHER_NOISE = replace(SPEC, data=Digits())
NO_FREEZER = replace(SPEC, recipe=Recipe(None, ERM()))


def written(worst: float = 0.5, spec: Spec = SPEC) -> dict[str, Any]:
    """The written form of the result of a run."""
    run, result = spec.identify(Roots.from_environment()), with_accuracies(worst, worst + 0.1, spec=spec)
    return {**replace(result, run=run).to_json()}


def kept(folder: Path, *results: dict[str, Any]) -> RunStore:
    """A store of results in their written form."""
    for number, one in enumerate(results):
        write_checked(folder / f"run-{number}" / "result.json", one)
    return RunStore(folder)


def test_a_row_has_the_names_of_a_sweep_and_the_sum_of_seconds() -> None:
    row = row_of(written())
    assert (row["recipe"], row["p"], row["method"], row["data.core_noise"]) == ("ftt", 0.25, "erm", 0.2)
    assert (row["worst_group_accuracy"], row["average_accuracy"]) == pytest.approx((0.5, 0.6))
    assert row["seconds"] == 1.75
    assert row_of(written(spec=NO_FREEZER))["p"] == 0.0
    assert row_of(written(spec=replace(SPEC, recipe=Recipe())))["p"] is None


def test_dotted_names_need_no_quotes_and_texts_are_left_alone(tmp_path: Path) -> None:
    runs = collect(kept(tmp_path, written(), written(spec=OTHER_NOISE)))
    only = SPEC.identify(Roots.from_environment()).id
    assert query(runs, where="data.core_noise = 0.2", columns=["run_id"]).to_pylist() == [{"run_id": only}]
    assert query(runs, where='"data.core_noise" = 0.2').num_rows == 1
    assert query(runs, where="backbone = 'mlp:it''s' and 'data.core_noise' = 'data.core_noise'").num_rows == 2


def test_only_fields_that_differ_are_shown(tmp_path: Path) -> None:
    runs = collect(kept(tmp_path, written(), written(spec=OTHER_NOISE), written(spec=NO_FREEZER)))
    shown = query(runs).column_names
    assert "data.core_noise" in shown
    assert "train.epochs" not in shown
    assert "freeze.variant" not in shown, "one value, or no freezer"


def test_a_single_run_has_no_standard_error(tmp_path: Path) -> None:
    (row,) = query(collect(kept(tmp_path, written())), group_by=["recipe"]).to_pylist()
    assert row["n"] == 1
    assert row["worst_group_accuracy"] == 0.5
    assert row["worst_group_accuracy_se"] is None


def test_values_of_several_kinds_in_one_column_become_text(tmp_path: Path) -> None:
    odd = written()
    odd["spec"]["data"]["core_noise"] = "none"
    odd["spec"]["train"]["epochs"] = [1, 2]
    rows = collect(kept(tmp_path, written(), odd)).to_pylist()
    assert {row["data.core_noise"] for row in rows} == {"0.2", "none"}
    assert "[1, 2]" in {row["train.epochs"] for row in rows}


def test_a_damaged_result_is_left_out_and_none_at_all_is_told(tmp_path: Path) -> None:
    runs = kept(tmp_path, written())
    for name, text in (("a", ""), ("b", "{}"), ("c", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(text)
    assert collect(runs).num_rows == 1
    with pytest.raises(FttError, match="no results yet"):
        collect(RunStore(tmp_path / "empty"))
