"""Hugging Face folders that are damaged or name files outside: each case is refused in words."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ftt.data import Roots
from ftt.data.hub import Hub
from ftt.errors import FttError

datasets = pytest.importorskip("datasets", reason="needs the extra [hub]")
N = 12


def _picture() -> bytes:
    sink = io.BytesIO()
    Image.new("RGB", (20, 20)).save(sink, "PNG")
    return sink.getvalue()


def save(folder: Path, *, name: str | None = None, **changes: Any) -> None:
    """A data set of images; where `name` is given the image of row 5 is only named, not held."""
    import pyarrow as pa

    datasets.disable_progress_bars()
    cells: list[dict[str, Any]] = [{"bytes": _picture(), "path": None} for _ in range(N)]
    columns: dict[str, list[Any]] = {
        "image": cells,
        "label": [n % 2 for n in range(N)],
        "attribute": [n // 2 % 2 for n in range(N)],
        "split": [("train", "val", "test")[n // 4] for n in range(N)],
        **changes,
    }
    kinds = {"image": datasets.Image()}
    made = datasets.Dataset.from_dict(columns).cast_column("image", kinds["image"])
    made.save_to_disk(str(folder))
    if name is not None:
        # `save_to_disk` would read the file and put it into the table.
        (file,) = folder.glob("*.arrow")
        with pa.ipc.open_stream(file) as reader:
            table, schema = reader.read_all(), reader.schema
        cells[5] = {"bytes": None, "path": name}
        image = pa.array(cells, schema.field("image").type)
        table = table.set_column(schema.get_field_index("image"), schema.field("image"), image)
        with pa.OSFile(str(folder / "new"), "wb") as sink, pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(table)
        (folder / "new").replace(file)


def named(name: str) -> Callable[[Path], None]:
    return lambda folder: save(folder, name=name)


def edited(file: str, content: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        save(folder)
        (next(folder.glob(file))).write_bytes(content)

    return make


def piped(file: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        save(folder)
        path = next(folder.glob(file))
        path.unlink()
        os.mkfifo(path)

    return make


def linked(folder: Path) -> None:
    save(folder, name="link.png")
    (folder.parent / "secret.png").write_bytes(_picture())
    (folder / "link.png").symlink_to(folder.parent / "secret.png")


def elsewhere(folder: Path) -> None:
    save(folder)
    state = json.loads((folder / "state.json").read_text())
    state["_data_files"] = [{"filename": "../../other.arrow"}]
    (folder / "state.json").write_text(json.dumps(state))


CASES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "absolute path in a cell": (named("/etc/passwd"), "row 5: /etc/passwd"),
    "path upwards in a cell": (named("../secret.png"), "row 5"),
    "NUL in a cell": (named("a\0b.png"), "row 5"),
    "link that leaves the folder": (linked, "outside the data set"),
    "named file that is missing": (named("nothing.png"), "nothing.png (the file is missing)"),
    "named file of 3,000 characters": (named("x" * 3000), "too long"),
    "empty text label": (lambda f: save(f, label=["", "a"] * (N // 2)), "row 0"),
    "missing label": (lambda f: save(f, label=[None, 1] * (N // 2)), "row 0"),
    "label of 2**63": (lambda f: save(f, label=np.array([0, 2**63] * (N // 2), dtype=np.uint64)), "row 1"),
    "garbage table": (edited("*.arrow", b"garbage"), "cannot be read as a data set"),
    "empty table": (edited("*.arrow", b""), "cannot be read as a data set"),
    "garbage state": (edited("state.json", b"{"), "cannot be read as a data set"),
    "state that is a list": (edited("state.json", b"[]"), "cannot be read as a data set"),
    "garbage features": (edited("dataset_info.json", b'{"features": {"label": 3}}'), "cannot be read as a data set"),
    "table elsewhere": (elsewhere, "cannot be read as a data set"),
    "table that is a pipe": (piped("*.arrow"), "named pipe"),
    "state that is a pipe": (piped("state.json"), "named pipe"),
    "folder that is a pipe": (os.mkfifo, "cannot be read as a data set"),
    "folder that is a file": (lambda f: f.write_text("x"), "cannot be read as a data set"),
    "folder of nothing": (Path.mkdir, "cannot be read as a data set"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_data_set_is_refused_in_words(case: str, tmp_path: Path) -> None:
    write, words = CASES[case]
    write(tmp_path / "own")
    with pytest.raises(FttError) as caught:
        Hub(path=str(tmp_path / "own"), size=16).load(Roots(tmp_path / "cache", None)).inputs.read(np.arange(2))
    assert words in str(caught.value)
