"""Hugging Face data sets from disk: the same rows, names and splits; what cannot be used is refused in words."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ftt.data import Roots
from ftt.data.hub import Hub, HubImages
from ftt.errors import FttError
from ftt.runs.compose import compose

datasets = pytest.importorskip("datasets", reason="needs the extra [hub]")


@pytest.fixture(autouse=True)
def _quiet_and_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    datasets.disable_progress_bars()
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(tmp_path / "cache", None)


def columns(n: int = 24) -> dict[str, Any]:
    return {
        "image": [Image.new("RGB", (20, 24), (row, 0, 0)) for row in range(n)],
        "label": [row % 2 for row in range(n)],
        "attribute": [("day", "night")[row // 2 % 2] for row in range(n)],
    }


FEATURES = {
    "image": datasets.Image(),
    "label": datasets.ClassLabel(names=["dog", "cat"]),
    "attribute": datasets.Value("string"),
}


def made(given: dict[str, Any], **features: Any) -> Any:
    kinds = datasets.Features({name: {**FEATURES, **features}[name] for name in given})
    return datasets.Dataset.from_dict(given, features=kinds)


def saved(dataset: Any, folder: Path) -> Hub:
    dataset.save_to_disk(str(folder))
    return Hub(path=str(folder), size=16)


def test_splits_of_a_dict_are_ours_and_class_names_stay_names(roots: Roots, tmp_path: Path) -> None:
    parts = {name: made(columns()) for name in ("test", "train", "validation")}
    data = saved(datasets.DatasetDict(parts), tmp_path / "own").load(roots)
    assert (data.info.classes, data.info.attributes) == (("cat", "dog"), ("day", "night"))
    assert data.split.tolist() == ["train"] * 24 + ["val"] * 24 + ["test"] * 24
    assert [data.info.classes[code] for code in data.y[:4]] == ["dog", "cat", "dog", "cat"]
    assert data.inputs.read(np.array([0, 23, 25]))[:, 0, 0, 0].tolist() == [0, 23, 1]


def test_single_data_set_has_its_split_column_or_gets_splits(roots: Roots, tmp_path: Path) -> None:
    with_column = {**columns(), "split": ["train", "train", "val", "test"] * 6}
    data = saved(made(with_column, split=datasets.Value("string")), tmp_path / "one").load(roots)
    assert data.split.tolist() == with_column["split"]
    data = saved(made(columns()), tmp_path / "two").load(roots)
    assert {name: int((data.split == name).sum()) for name in ("train", "val", "test")} == {
        "train": 16,
        "val": 4,
        "test": 4,
    }


def test_images_that_the_table_only_names_are_read_and_noticed_when_they_change(tmp_path: Path) -> None:
    given = columns()
    for row, image in enumerate(given["image"]):
        image.save(tmp_path / f"{row}.png")
    given["image"] = [{"bytes": None, "path": f"{row}.png"} for row in range(24)]
    images = HubImages.of([made(given)], "image", 16, tmp_path)
    assert images.read(np.array([5, 3]))[:, 0, 0, 0].tolist() == [5, 3]
    before = images.stamp()
    Image.new("RGB", (20, 24), (200, 0, 0)).save(tmp_path / "5.png")
    assert images.stamp() != before
    assert images.name(5).endswith("5.png")


def test_texts_are_read_and_ask_for_a_text_encoder(roots: Roots, tmp_path: Path) -> None:
    texts = [f"film {row} " + "very " * (200 * (row == 3)) + "good" for row in range(24)]
    given = {**columns(), "review": texts}
    del given["image"]
    hub = saved(made(given, review=datasets.Value("string")), tmp_path / "own").replace(text="review")
    data = hub.load(roots)
    assert data.inputs.kind == "texts"
    assert data.inputs.read(np.arange(24)).tolist() == texts
    assert (
        compose({"dataset": "huggingface", "recipe": "init", "path": hub.path, "text": "review"}).backbone
        == "hf:minilm"
    )


def test_broken_image_is_told_by_its_row_or_left_out(roots: Roots, tmp_path: Path) -> None:
    sink = io.BytesIO()
    Image.new("RGB", (20, 20)).save(sink, "PNG")
    given = {
        **columns(4),
        "image": [{"bytes": b, "path": None} for b in (sink.getvalue(), b"", b"no", sink.getvalue())],
    }
    hub = saved(
        made({**given, "split": ["train", "val", "val", "train"]}, split=datasets.Value("string")), tmp_path / "own"
    )
    with pytest.raises(FttError, match="2 of 4 images") as caught:
        hub.load(roots).inputs.read(np.arange(1))
    assert "row 1 (the file is empty)" in str(caught.value)
    hub = hub.replace(skip_broken=True, attribute="attribute")
    data = hub.load(roots)
    assert len(data) == 2
    assert data.inputs.read(np.arange(2)).shape == (2, 16, 16, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "lable"}, "--label"),
        ({"attribute": "background"}, "--attribute"),
        ({"image": "picture"}, "--image"),
        ({"text": "review"}, "--text"),
        ({"image": "label"}, "does not hold images"),
        ({"label": "image"}, "one value per row"),
    ],
)
def test_wrong_column_is_refused_with_its_flag(
    options: dict[str, str], words: str, roots: Roots, tmp_path: Path
) -> None:
    hub = saved(made(columns()), tmp_path / "own").replace(**options)
    with pytest.raises(FttError, match=words):
        hub.load(roots)


def test_missing_label_and_unknown_split_are_refused(roots: Roots, tmp_path: Path) -> None:
    with pytest.raises(FttError, match="row 23: -1"):
        saved(made({**columns(), "label": [0, 1] * 11 + [0, -1]}), tmp_path / "one").load(roots)
    parts = {name: made(columns()) for name in ("train", "unsupervised")}
    with pytest.raises(FttError, match="unsupervised"):
        saved(datasets.DatasetDict(parts), tmp_path / "two").load(roots)


def test_folder_that_is_no_data_set_and_name_that_cannot_be_had_are_refused(roots: Roots, tmp_path: Path) -> None:
    with pytest.raises(FttError, match="save_to_disk"):
        Hub(path=str(tmp_path)).load(roots)
    saved(made(columns()), tmp_path / "own")
    next((tmp_path / "own").glob("*.arrow")).write_bytes(b"garbage")
    with pytest.raises(FttError, match="cannot be read as a data set"):
        Hub(path=str(tmp_path / "own")).load(roots)
    with pytest.raises(FttError, match="no data set of that name is available"):
        Hub(path="nobody/nothing").load(roots)
