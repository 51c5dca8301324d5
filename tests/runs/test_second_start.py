"""The key of a run on files of one's own: new with new content, and found without reading where nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ftt.data import Roots, checksums
from ftt.runs.compose import compose

Files = tuple[dict[str, Any], Path]
"""What is given to a run, and the file whose content decides."""


def hub_data(folder: Path) -> Files:
    datasets = pytest.importorskip("datasets", reason="needs the extra [hub]")
    datasets.disable_progress_bars()
    datasets.Dataset.from_dict({"text": ["a", "b"], "label": [0, 1]}).save_to_disk(str(folder / "own"))
    (arrow,) = (folder / "own").glob("*.arrow")
    return {"dataset": "huggingface", "path": str(folder / "own"), "text": "text"}, arrow


def encoder(folder: Path) -> Files:
    # Nothing is loaded, so the files need not be whole.
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder / name).write_text(name)
    return {"dataset": "reviews", "backbone": f"hf:{folder}"}, folder / "model.safetensors"


def weights(folder: Path) -> Files:
    (folder / "w.safetensors").write_text("weights")
    given = {"dataset": "digits", "backbone": "timm:resnet18", "weights": str(folder / "w.safetensors")}
    return given, folder / "w.safetensors"


def image_list(folder: Path) -> Files:
    (folder / "a.png").write_text("image")
    (folder / "list.csv").write_text("path,y,attribute,split\na.png,0,0,train\n")
    return {"dataset": "manifest", "path": str(folder / "list.csv")}, folder / "a.png"


@pytest.mark.parametrize("write", [hub_data, encoder, weights, image_list])
def test_new_content_is_a_new_key_and_what_is_untouched_is_not_read_again(
    write: Callable[[Path], Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Files that were written just now are not remembered otherwise.
    monkeypatch.setattr(checksums, "SETTLED_NS", -1)
    (tmp_path / "files").mkdir()
    given, file = write(tmp_path / "files")
    roots = Roots(tmp_path / "cache", None)

    def key() -> str:
        return compose({**given, "recipe": "init"}).identify(roots).key

    first = key()
    with monkeypatch.context() as closed:
        closed.setattr(checksums, "sha256_of", pytest.fail)
        assert key() == first
    content = file.read_bytes()
    file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert key() != first
    file.write_bytes(content)
    assert key() == first
