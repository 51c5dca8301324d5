"""ftt data show on own data: counts, noises in honest words, sheets and examples."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from PIL import Image

from ftt.data import ArrayInputs, DatasetInfo, GroupedData
from ftt.data.overview import noises, overview
from tests.cli.shell import Shell


def grouped(y: list[int], a: list[int], classes: int = 2, attributes: int = 2) -> GroupedData:
    info = DatasetInfo("x", tuple("abcdefg"[:classes]), tuple("uvwxyz"[:attributes]), "")
    n = len(y)
    features = ArrayInputs(np.zeros((n, 1), dtype=np.float32), "features")
    return GroupedData(features, np.array(y), np.array(a), np.full(n, "train"), info)


def test_spurious_noise_does_not_hang_on_the_alphabet() -> None:
    """An attribute that names the classes the other way round is as spurious."""
    assert noises(grouped([0] * 10 + [1] * 10, [0] * 9 + [1] * 11), "train") == {"core": None, "spurious": 0.05}
    assert noises(grouped([0] * 10 + [1] * 10, [1] * 9 + [0] * 11), "train") == {"core": None, "spurious": 0.05}


def test_spurious_noise_is_not_known_where_values_and_classes_do_not_pair() -> None:
    assert noises(grouped([0] * 18 + [1] * 2, [0, 1] * 10), "train")["spurious"] is None
    assert noises(grouped([0, 1, 0, 1, 1, 0], [0, 1, 2, 0, 1, 2], attributes=3), "train")["spurious"] is None


def test_rule_on_the_attribute_alone_is_the_majority_of_the_training_split() -> None:
    found: Any = overview(grouped([0, 0, 1, 1, 1, 0], [0, 0, 0, 1, 1, 1], attributes=3))["attribute_rule"]
    assert found["predicts"] == {"u": "a", "v": "b"}
    assert found["disagrees"] == {"train": pytest.approx(2 / 6)}


def table(folder: Path, **columns: Any) -> Path:
    pyarrow.csv.write_csv(pa.table(columns), folder / "own.csv")
    return folder / "own.csv"


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Forty images, their label mostly that of their background, without a split column."""
    (tmp_path / "images").mkdir()
    for row in range(40):
        Image.new("RGB", (20, 20), (6 * row, 0, 0)).save(tmp_path / "images" / f"{row}.png")
    y = np.resize(["cow", "camel"], 40)
    background = np.where((y == "cow") ^ (np.arange(40) % 8 < 2), "grass", "sand")
    return table(tmp_path, path=[f"{row}.png" for row in range(40)], y=y, attribute=background)


def test_own_images_are_counted_and_drawn_and_made_splits_told(shell: Shell, images: Path, tmp_path: Path) -> None:
    asked = ("data", "show", "manifest", "--path", images, "--image-root", tmp_path / "images", "--sheet")
    code, out, err = shell(*asked, tmp_path / "sheet.png")
    assert code == 0, err
    for part in ("noise in train: core unknown, spurious 25.0%", "the attribute alone (grass → cow; sand → camel)"):
        assert part in out
    assert "made from 40 rows" in err
    with Image.open(tmp_path / "sheet.png") as sheet:
        assert sheet.format == "PNG"
    code, out, _ = shell(*asked, tmp_path / "again.png", "--json")
    shown = json.loads(out)["content"]
    assert shown["sheet"] == str(tmp_path / "again.png")
    assert shown["noise"]["train"] == {"core": None, "spurious": 0.25}
    assert (tmp_path / "again.png").read_bytes() == (tmp_path / "sheet.png").read_bytes()


def test_texts_are_quoted_and_refused_as_a_sheet(shell: Shell, tmp_path: Path) -> None:
    path = table(
        tmp_path,
        review=[f"a film [{row}] to see" for row in range(40)],
        y=np.resize(["good", "bad"], 40),
        attribute=np.resize(["blog", "blog", "press", "press"], 40),
    )
    code, out, _ = shell("data", "show", "manifest", "--path", path, "--text", "review")
    assert code == 0
    assert "good / press" in out
    assert "] to see" in out
    drawn = ("data", "show", "manifest", "--path", path, "--text", "review", "--sheet", tmp_path / "x.png")
    assert "only images can be drawn" in shell.refused(*drawn)


def test_broken_images_are_one_error_or_are_left_out(shell: Shell, images: Path, tmp_path: Path) -> None:
    for row in (3, 7):
        (tmp_path / "images" / f"{row}.png").write_bytes(b"")
    run = ("run", "manifest", "--path", images, "--image-root", tmp_path / "images", "--size", 16, "--recipe", "init")
    err = shell.refused(*run, "--backbone", "identity")
    for part in ("2 of", "3.png", "7.png", "--skip-broken"):
        assert part in err
    code, _, err = shell(
        "data", "show", "manifest", "--path", images, "--image-root", tmp_path / "images", "--skip-broken"
    )
    assert code == 0
    assert "left out 2 of 40 images" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--label", "species"], "--label"),
        (["--attribute", "place"], "--attribute"),
        (["--split", "fold"], "--split"),
        (["--shares", "1,2"], "train, val and test"),
        (["--sheet-split", "dev"], "there is no split called 'dev'"),
        (["--image-root", "/nowhere"], "no such folder"),
    ],
)
def test_wrong_flags_end_in_words(shell: Shell, images: Path, arguments: list[str], words: str, tmp_path: Path) -> None:
    root = [] if "--image-root" in arguments else ["--image-root", tmp_path / "images"]
    assert words in shell.refused("data", "show", "manifest", "--path", images, *root, *arguments)


def test_sheet_of_what_is_not_here_says_how_to_get_it(shell: Shell, tmp_path: Path) -> None:
    text = shell.refused("data", "show", "dominoes", "--sheet", tmp_path / "x.png")
    assert "ftt data get dominoes" in text


GUIDE = (Path(__file__).parents[2] / "docs" / "own-data.md").read_text()


@pytest.mark.slow
def test_the_guide_leads_from_a_folder_to_a_probed_model_in_three_commands(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a small network and short training instead of the default ones, since only the calls are in question."""
    section = GUIDE[GUIDE.index("## From a folder and a list") :]
    code, commands, printed = re.findall(r"```(?:python|console|text)\n(.*?)```", section, flags=re.DOTALL)[:3]
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "guide.md", "exec"), {})
    show, *runs = [shlex.split(line)[1:] for line in commands.splitlines()]
    status, out, err = shell(*show)
    assert status == 0, err
    for line in printed.splitlines():
        assert line.strip() in {*map(str.strip, (out + err).splitlines()), "…"}
    assert Path("groups.png").is_file()
    assert len(runs) == 2
    for run in runs:
        status, out, err = shell(*run, "--backbone", "tinyconv", "--epochs", "1", "--json")
        assert status == 0, err
        result = json.loads(out)
        assert set(result["by_group"]) == {"blue", "red"}
        assert result["worst_group_accuracy"] > 0.5
