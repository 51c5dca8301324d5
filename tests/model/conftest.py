"""A small data set of images on disk, a run on it and its model, made once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.cli.shell import Shell

import ftt
from ftt.model import Model
from ftt.result import Result

NEW = 20


@dataclass(frozen=True)
class Drawn:
    """Images of two classes before two backgrounds, a finished run, and new images without labels."""

    folder: Path
    result: Result
    model: Model

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def new(self) -> list[Path]:
        return [self.folder / "new" / f"{number:02}.png" for number in range(NEW)]


def draw(path: Path, label: int, background: int, rng: np.random.Generator) -> None:
    pixels = rng.integers(0, 50, (24, 20, 3))
    pixels[:12] += 150 * label
    pixels[12:, :, background] += 120
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drawn]:
    folder, rng = tmp_path_factory.mktemp("drawn"), np.random.default_rng(0)
    rows = ["path,tone,ground"]
    for number in range(160):
        label, background = (int(value) for value in rng.integers(0, 2, 2))
        draw(folder / "images" / f"{number}.png", label, background, rng)
        rows.append(f"{number}.png,{('dark', 'bright')[label]},{('red', 'green')[background]}")
    (folder / "list.csv").write_text("\n".join(rows))
    for number in range(NEW):
        draw(folder / "new" / f"{number:02}.png", number % 2, number // 2 % 2, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FTT_CACHE", str(folder / "cache"))
        options: dict[str, Any] = {"path": str(folder / "list.csv"), "image_root": str(folder / "images"), "size": 16}
        columns: dict[str, Any] = {
            "label": "tone",
            "attribute": "ground",
            "backbone": "tinyconv",
            "epochs": 1,
            "probe_seeds": 3,
        }
        result = ftt.run("manifest", "ftt", home=folder / "home", **options, **columns)
        model = Model.load(ftt.save(result, folder / "model", home=folder / "home"))
        yield Drawn(folder, result, model)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    return Shell(monkeypatch, capsys, tmp_path / "shell")
