"""Results as a table: one row a run, dotted names, texts and mixtures survive, damaged files are left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ftt.data.digits import Digits
from ftt.errors import FttError
from ftt.freeze.pca import PCA
from ftt.methods.erm import ERM
from ftt.spec import Spec
from ftt.store.formats import as_latex, as_markdown
from ftt.store.query import ask, collect, row_of


def result(worst: float, core_noise: float = 0.2, p: float | None = 0.25) -> dict[str, Any]:
    spec = Spec(data=Digits(core_noise=core_noise), backbone="it's", freeze=PCA(p=p) if p else None, method=ERM())
    return {
        "run_id": f"run-{worst}",
        "spec": spec.describe(),
        "worst_group_accuracy": worst,
        "average_accuracy": worst + 0.1,
        "seconds": {"fit": 1.0, "probe": 0.5},
    }


def kept(folder: Path, *results: dict[str, Any]) -> Any:
    for one in results:
        path = folder / one["run_id"] / "result.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(one))
    return collect(folder)


def test_a_row_has_the_names_of_a_sweep_and_the_sum_of_seconds() -> None:
    row = row_of(result(0.5))
    assert (row["recipe"], row["p"], row["method"], row["data.core_noise"]) == ("pca + erm", 0.25, "erm", 0.2)
    assert row["seconds"] == 1.5
    assert row_of(result(0.5, p=None))["p"] == 0.0


def test_dotted_names_need_no_quotes_and_texts_are_left_alone(tmp_path: Path) -> None:
    runs = kept(tmp_path, result(0.5), result(0.6, core_noise=0.0))
    assert ask(runs, where="data.core_noise = 0.2", columns=["run_id"]).to_pylist() == [{"run_id": "run-0.5"}]
    assert ask(runs, where='"data.core_noise" = 0.2').num_rows == 1
    assert ask(runs, where="backbone = 'it''s' and 'data.core_noise' = 'data.core_noise'").num_rows == 2


def test_only_fields_that_differ_are_shown(tmp_path: Path) -> None:
    runs = kept(tmp_path, result(0.5), result(0.6, core_noise=0.0), result(0.7, p=None))
    shown = ask(runs).column_names
    assert "data.core_noise" in shown
    assert "train.epochs" not in shown
    assert "freeze.variant" not in shown


def test_a_single_run_has_no_standard_error(tmp_path: Path) -> None:
    (row,) = ask(kept(tmp_path, result(0.5)), group_by=["recipe"]).to_pylist()
    assert row["n"] == 1
    assert row["worst_group_accuracy"] == 0.5
    assert row["worst_group_accuracy_se"] is None


def test_values_of_several_kinds_in_one_column_become_text(tmp_path: Path) -> None:
    odd = result(0.6)
    odd["spec"]["data"]["core_noise"] = "none"
    odd["spec"]["train"]["epochs"] = [1, 2]
    rows = kept(tmp_path, result(0.5), odd).to_pylist()
    assert {row["data.core_noise"] for row in rows} == {"0.2", "none"}
    assert "[1, 2]" in {row["train.epochs"] for row in rows}


def test_a_damaged_result_is_left_out_and_none_at_all_is_told(tmp_path: Path) -> None:
    kept(tmp_path, result(0.5))
    for name, text in (("a", ""), ("b", "{}"), ("c", "[]")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(text)
    assert collect(tmp_path).num_rows == 1
    with pytest.raises(FttError, match="no results yet"):
        collect(tmp_path / "empty")


def test_cells_of_latex_and_markdown_cannot_break_out() -> None:
    nasty = r"50% & \textbf{x}_$^~#|"
    line = as_latex(["a"], [[nasty]], [False]).splitlines()[4]
    assert line == r"50\% \& \textbackslash{}textbf\{x\}\_\$\textasciicircum{}\textasciitilde{}\#| \\"
    assert as_markdown(["a"], [["x|y"]], [False]).splitlines()[2] == r"| x\|y |"
