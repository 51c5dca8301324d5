"""From a folder of images and a list to a model in another program: compare, save, predict, ONNX."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas
import pytest

from tests.journeys.shapes import draw, write_list
from tests.journeys.terminal import Terminal

COLUMNS = "--path list.csv --image-root images --label shape --attribute background"


def pixels_by_recipe(folder: Path, images: list[Path]) -> npt.NDArray[Any]:
    """What config.json tells a program without this library to do, done."""
    recipe = json.loads((folder / "config.json").read_text())["model"]["preprocessing"]["python"]
    names: dict[str, Any] = {}
    exec(recipe, names)
    return np.stack([names["prepare"](path) for path in images])


def walk(terminal: Terminal, flags: str, new: Path) -> pandas.DataFrame:
    """Compare, save, predict and export; returns the predictions, which ONNX Runtime must share."""
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra [onnx]")
    compared = terminal.run(f"ftt compare manifest erm ftt {flags}")
    assert re.search(r"ftt: (better|worse|not distinguishable)", compared)
    assert "from the store" in terminal.run(f"ftt run manifest --recipe ftt {flags} --save model")
    terminal.run(f"ftt predict model {new.name} --csv predictions.csv", code=1)
    found = pandas.read_csv(terminal.folder / "predictions.csv")
    assert found.loc[found["path"] == "broken.png", "error"].notna().all()
    assert found["error"].notna().sum() == 1
    good = found[found["error"].isna()]
    assert "the same labels" in terminal.run("ftt export model --onnx model.onnx")

    session = runtime.InferenceSession(terminal.folder / "model.onnx")
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    pixels = pixels_by_recipe(terminal.folder / "model", [new / name for name in good["path"]])
    chances = session.run(["probabilities"], {"inputs": pixels})[0]
    assert [classes[code] for code in chances.argmax(axis=1)] == good["label"].tolist()
    np.testing.assert_allclose(chances, good[[f"p_{name}" for name in classes]], atol=1e-4)
    return good


@pytest.mark.slow
def test_drawn_shapes_become_a_model_that_onnx_runtime_uses(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    write_list(tmp_path / "list.csv", draw(tmp_path / "images", 400, seed=0))
    truth = {name: shape for name, shape, _ in draw(tmp_path / "new", 120, seed=1)}
    (tmp_path / "new" / "broken.png").write_bytes(b"not an image")
    flags = f"{COLUMNS} --size 32 --backbone tinyconv --epochs 2 --groups label-attribute"
    good = walk(terminal, flags, tmp_path / "new")
    right = np.mean([truth[path] == label for path, label in zip(good["path"], good["label"], strict=True)])
    assert right > 0.6


@pytest.mark.slow
@pytest.mark.data
def test_real_images_of_pacs_become_a_model_that_onnx_runtime_uses(tmp_path: Path) -> None:
    placed = Path(os.environ.get("FTT_DATA", "nowhere")) / "PACS"
    if not placed.is_dir():
        pytest.skip("needs PACS below FTT_DATA")
    draws, rows = random.Random(0), []
    for style in ("photo", "sketch"):
        for animal in ("dog", "horse"):
            usual = (animal == "dog") == (style == "photo")
            found = draws.sample(sorted((placed / style / animal).iterdir()), 100 if usual else 40)
            for path in found[:-10]:
                name = f"{style}-{animal}-{path.name}"
                (tmp_path / "images").mkdir(exist_ok=True)
                shutil.copy(path, tmp_path / "images" / name)
                rows.append((name, animal, style))
            for path in found[-10:]:
                (tmp_path / "new").mkdir(exist_ok=True)
                shutil.copy(path, tmp_path / "new" / f"{style}-{animal}-{path.name}")
    write_list(tmp_path / "list.csv", rows)
    (tmp_path / "new" / "broken.png").write_bytes(b"not an image")
    flags = f"{COLUMNS} --size 64 --epochs 1 --groups label-attribute"
    good = walk(Terminal(tmp_path), flags, tmp_path / "new")
    right = np.mean([path.split("-")[1] == label for path, label in zip(good["path"], good["label"], strict=True)])
    assert right > 0.5
