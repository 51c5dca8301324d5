"""The paper's main table runs from a placed folder, with the paper's architecture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data.layouts import write_celeba, write_waterbirds

import ftt
from ftt.data import Roots
from ftt.launch import Resources
from ftt.paper.publish import Reproduction
from ftt.store import Home

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")]
BIRDS = {"train": (60, 20, 20, 60), "val": (20, 20, 16, 16), "test": (20, 20, 16, 16)}
FACES = {"train": (60, 60, 40, 20), "val": (30, 30, 24, 12), "test": (20, 20, 16, 16)}


def draw_images(root: Path) -> None:
    """Noise in place of the images, which are all the same in a layout."""
    rng = np.random.default_rng(0)
    for path in sorted(root.rglob("*.jpg")):
        path.unlink()  # many names of one file
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(path)


def made(tmp_path: Path, dataset: str, backbone: str | None) -> Reproduction:
    home = Home(tmp_path / "home", Roots(tmp_path / "cache", tmp_path / "placed"))
    return ftt.reproduce(
        "table-main",
        budget="smoke",
        dataset=dataset,
        backbone=backbone,
        home=home,
        out=tmp_path / "out",
        resources=Resources(1, 1),
    )


@pytest.mark.parametrize("backbone", [None, "timm-random:resnet50"])
def test_the_main_table_runs_on_a_folder_in_waterbirds_layout(backbone: str | None, tmp_path: Path) -> None:
    draw_images(write_waterbirds(tmp_path / "placed" / "waterbirds", BIRDS))
    table = made(tmp_path, "waterbirds", backbone)
    assert not table.failures
    assert table.table.rows == ["ERM", "IRM", "CVaR-DRO", "JTT", "FTT, p = 0.25"]
    assert table.table.columns == ["core 0%", "core 10%"]
    assert {len(cell.results) for cell in table.table.cells} == {1}
    page = (tmp_path / "out" / "table-main.md").read_text(encoding="utf-8")
    assert "paper 95.0" in page
    assert (f"--backbone {backbone}" in page) == (backbone is not None)


def test_the_main_table_runs_on_a_folder_in_celebas_layout(tmp_path: Path) -> None:
    draw_images(write_celeba(tmp_path / "placed" / "celeba", FACES))
    table = made(tmp_path, "celeba", None)
    assert not table.failures
    assert {len(cell.results) for cell in table.table.cells} == {1}
