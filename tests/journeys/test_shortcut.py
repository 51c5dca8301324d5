"""800 images in which the background gives the label away: the printed headline is the cell in which that fails."""

from __future__ import annotations

import csv
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.journeys import shapes
from tests.journeys.terminal import Terminal


def printed_and_judged(terminal: Terminal, command: str) -> tuple[list[str], dict[str, Any]]:
    """The lines of the table without its frame, and the same run as JSON."""
    text = terminal.run(command)
    lines = [re.sub(r"[│┃]", "", line).strip() for line in text.splitlines()]
    return lines, json.loads(terminal.run(f"{command} --json"))


def assert_headline_is_the_failing_cell(lines: list[str], result: dict[str, Any]) -> None:
    cells = {f"{c['label']}, {c['group']}": c["accuracy"] for c in result["by_label_and_group"] if c["n"]}
    failing = min(cells, key=lambda name: cells[name])
    # It has learned the shortcut: good by attribute, as in the paper, and bad where the shortcut is wrong.
    assert cells[failing] < 0.5 < 0.75 < result["worst_group_accuracy"]
    assert result["headline_group"] == failing
    rows = [line for line in lines if line.startswith("worst")]
    assert rows[0].startswith(f"worst ({failing})")
    assert rows[0].split()[len(f"worst ({failing})".split())] == f"{100 * cells[failing]:.1f}"
    assert rows[1].startswith("worst by attribute, as in the paper")
    assert any("fewer than 30 test rows" in line and failing in line for line in lines)
    assert any("the attribute alone predicts" in line for line in lines)


@pytest.mark.slow
def test_drawn_shapes_on_two_backgrounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shapes, "SHORTCUT", 0.95)
    shapes.write_list(tmp_path / "list.csv", shapes.draw(tmp_path / "images", 800, seed=0))
    flags = "--path list.csv --image-root images --label shape --attribute background"
    command = f"ftt run manifest {flags} --size 32 --backbone tinyconv --epochs 4 --recipe ftt --threads 1"
    assert_headline_is_the_failing_cell(*printed_and_judged(Terminal(tmp_path), command))


@pytest.mark.slow
@pytest.mark.data
def test_dogs_in_photos_and_horses_in_sketches(tmp_path: Path) -> None:
    placed = Path(os.environ.get("FTT_DATA", "")) / "PACS"
    if not (placed / "photo").is_dir():
        pytest.skip("PACS is not placed in FTT_DATA")
    rng, rows = np.random.default_rng(0), []
    wanted = {("dog", "photo"): 180, ("horse", "sketch"): 540, ("dog", "sketch"): 42, ("horse", "photo"): 38}
    for (label, style), count in wanted.items():
        files = sorted(path.name for path in (placed / style / label).iterdir())
        rows += [(f"{style}/{label}/{files[n]}", label, style) for n in rng.permutation(len(files))[:count]]
    with (tmp_path / "list.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("path", "animal", "style"), *rows])
    flags = f"--path list.csv --image-root {placed} --label animal --attribute style"
    command = f"ftt run manifest {flags} --size 64 --backbone tinyconv --epochs 4 --recipe ftt --threads 1"
    assert_headline_is_the_failing_cell(*printed_and_judged(Terminal(tmp_path), command))
