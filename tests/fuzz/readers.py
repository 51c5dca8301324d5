"""What reads files, as a table: each reader takes bytes and ends with a value or with words (`FttError`).

`make fuzz MINUTES=10` mutates files under the guidance of coverage (atheris, extra ``[fuzz]``); the short form in
`test_readers.py` mutates them blindly. The first byte of an input names its reader.
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ftt import checked
from ftt.backbones import hf_folder
from ftt.checked import DamagedError
from ftt.data import Roots
from ftt.data.cifar_mnist import parse_idx
from ftt.data.embeddings import Embeddings
from ftt.data.fetch import unpack
from ftt.data.manifest import Manifest
from ftt.data.pixels import decode
from ftt.errors import FttError
from ftt.runs.sweep_file import read as read_sweep
from ftt.spec import Spec
from ftt.store.checked_json import read_checked, write_checked

N = 24
TABLE: dict[str, Any] = {
    "features": np.random.default_rng(0).standard_normal((N, 3)).astype(np.float32),
    "y": np.resize(["cat", "dog"], N),
    "attribute": np.resize(["day", "day", "night", "night"], N),
    "split": np.repeat(["train", "val", "test"], N // 3),
}
SWEEP = b'name = "s"\n[base]\ndataset = "digits"\ntrain.epochs = 2\n[grid]\np = [0.0, 0.5]\n[[runs]]\nrecipe = "erm"\n'
LIST = "path,y,attribute,split\n" + "".join(
    f"{n % 3}.png,{n % 2},{n // 2 % 2},{('train', 'val', 'test')[n // 4]}\n" for n in range(12)
)
ENCODER = {"model_type": "bert", "hidden_size": 4, "num_hidden_layers": 1, "vocab_size": 8, "intermediate_size": 8}
WORDS = (FttError, DamagedError)
"""What a reader may raise."""


@dataclass(frozen=True)
class Reader:
    """Something that reads a file: examples of good files, and what reads the bytes within a folder of its own."""

    examples: Callable[[], list[bytes]]
    read: Callable[[bytes, Path], object]


def _npy(value: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, value)
    return sink.getvalue()


def _npz(method: int) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as archive:
        for name, value in TABLE.items():
            archive.writestr(f"{name}.npy", _npy(value))
    return sink.getvalue()


def _parquet() -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    sink = io.BytesIO()
    parquet.write_table(pa.table({**TABLE, "features": TABLE["features"].tolist()}), sink)
    return sink.getvalue()


def _images() -> list[bytes]:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    made = []
    for form in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP"):
        sink = io.BytesIO()
        Image.fromarray(pixels).save(sink, form)
        made.append(sink.getvalue())
    return made


def _tar() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as archive:
        member = tarfile.TarInfo("package/data.bin")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"12345"))
    return sink.getvalue()


def _stored() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.safetensors"
        checked.write(path, {"x": np.arange(6.0)}, {"note": "n"})
        return path.read_bytes()


def _written() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.json"
        write_checked(path, {"key": "k", "probe": {"C": 1.0, "seeds": [1, 2]}})
        return path.read_bytes()


def _spec() -> bytes:
    from ftt.runs.compose import compose

    return json.dumps(compose({"dataset": "digits", "p": 0.5}).describe()).encode()


def _table(suffix: str) -> Callable[[bytes, Path], object]:
    def read(content: bytes, folder: Path) -> object:
        path = folder / f"table{suffix}"
        path.write_bytes(content)
        return Embeddings(path=str(path)).load(Roots(folder / "cache", None))

    return read


def _array_folder(name: str) -> Callable[[bytes, Path], object]:
    def read(content: bytes, folder: Path) -> object:
        own = folder / f"arrays-{name}"
        own.mkdir(exist_ok=True)
        for column, value in TABLE.items():
            (own / f"{column}.npy").write_bytes(content if column == name else _npy(value))
        return Embeddings(path=str(own)).load(Roots(folder / "cache", None))

    return read


def _list(content: bytes, folder: Path) -> object:
    for n in range(3):
        (folder / f"{n}.png").write_bytes(b"not decoded here")
    (folder / "list.csv").write_bytes(content)
    return Manifest(path=str(folder / "list.csv"), image_root=str(folder), size=16).fingerprint(
        Roots(folder / "cache", None)
    )


def _sweep(content: bytes, folder: Path) -> object:
    (folder / "sweep.toml").write_bytes(content)
    return read_sweep(folder / "sweep.toml")


def _description(content: bytes, folder: Path) -> object:
    try:
        text = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return Spec.from_description(text)


def _archive(content: bytes, folder: Path) -> object:
    (folder / "a.tgz").write_bytes(content)
    return unpack(folder / "a.tgz", folder / "unpacked")


def _checked(content: bytes, folder: Path) -> object:
    (folder / "a.safetensors").write_bytes(content)
    return checked.read(folder / "a.safetensors", "artifact")


def _checked_json(content: bytes, folder: Path) -> object:
    (folder / "a.json").write_bytes(content)
    return read_checked(folder / "a.json")


def _encoder(content: bytes, folder: Path) -> object:
    own = folder / "encoder"
    if not own.is_dir():
        own.mkdir()
        (own / "vocab.txt").write_text("[PAD]\n")
        checked.write(own / "model.safetensors", {f"layer.{n}": np.zeros((8, 8)) for n in range(4)})
    (own / "config.json").write_bytes(content)
    hf_folder.check(own)
    return None


def _idx(content: bytes, folder: Path) -> object:
    return parse_idx(content)


READERS: dict[str, Reader] = {
    "npz": Reader(lambda: [_npz(zipfile.ZIP_STORED), _npz(zipfile.ZIP_DEFLATED)], _table(".npz")),
    "npy features": Reader(lambda: [_npy(TABLE["features"])], _array_folder("features")),
    "npy labels": Reader(lambda: [_npy(TABLE["y"]), _npy(np.resize([0, 1], N))], _array_folder("y")),
    "parquet": Reader(lambda: [_parquet()], _table(".parquet")),
    "list": Reader(lambda: [LIST.encode()], _list),
    "image": Reader(_images, lambda content, folder: decode(content, 16)),
    "sweep": Reader(lambda: [SWEEP], _sweep),
    "spec": Reader(lambda: [_spec()], _description),
    "archive": Reader(lambda: [_tar()], _archive),
    "artifact": Reader(lambda: [_stored()], _checked),
    "checked json": Reader(lambda: [_written()], _checked_json),
    "encoder": Reader(lambda: [json.dumps(ENCODER).encode()], _encoder),
    "idx": Reader(lambda: [b"\0\0\x08\x02" + struct.pack(">ii", 2, 3) + bytes(6)], _idx),
}
NAMES = tuple(READERS)


def examples() -> dict[str, list[bytes]]:
    """Good files by reader, each behind the byte that names the reader."""
    return {name: [bytes([n]) + good for good in READERS[name].examples()] for n, name in enumerate(NAMES)}


def feed(data: bytes, folder: Path) -> str:
    """Give an input to its reader and say how it ended; whatever is neither a value nor words is raised."""
    if not data:
        return "nothing"
    reader = READERS[NAMES[data[0] % len(NAMES)]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            reader.read(data[1:], folder)
        except WORDS as error:
            # A message that cannot be printed would be a traceback after all.
            str(error).encode()
            return "words"
    return "value"
