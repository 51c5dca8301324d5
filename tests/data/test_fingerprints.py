"""Keys by content: other content is another fingerprint, a copy is the same, and a second look reads nothing."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data.layouts import grouped_rows, write_celeba_lists, write_domains, write_images, write_waterbirds

from ftt.data import Dataset, Roots, checksums
from ftt.data.celeba import CelebA
from ftt.data.checksums import Checksums
from ftt.data.domains import PACS, VLCS, OfficeHome
from ftt.data.embeddings import Embeddings
from ftt.data.files import sha256_of
from ftt.data.folders import Folder
from ftt.data.manifest import Manifest
from ftt.data.waterbirds import Waterbirds

FEW = {"train": (3, 2, 2, 3), "val": (1, 1, 1, 1), "test": (1, 1, 1, 1)}
Source = tuple[Dataset, Roots]
"""A data set, and the roots to look at it with."""


def _picture(path: Path, red: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (red, 0, 0)).save(path, "BMP")


def waterbirds(root: Path) -> Dataset:
    write_waterbirds(root / "waterbirds", FEW)
    return Waterbirds()


def celeba(root: Path) -> Dataset:
    rows = grouped_rows(FEW)
    write_celeba_lists(root / "celeba", rows, "txt")
    (root / "celeba" / "img_align_celeba").mkdir()
    write_images(root / "celeba" / "img_align_celeba" / f"{n + 1:06d}.jpg" for n in range(len(rows)))
    return CelebA(subsample=False)


def domains(kind: type[PACS] | type[VLCS] | type[OfficeHome]) -> Callable[[Path], Dataset]:
    def write(root: Path) -> Dataset:
        write_domains(root / kind.folders[0], kind, divide=200)
        return kind()

    return write


def manifest(root: Path) -> Dataset:
    for row in range(12):
        _picture(root / "images" / f"{row}.bmp", row)
    lines = [f"{row}.bmp,{row % 2},{row // 2 % 2},{('train', 'val', 'test')[row // 4]}" for row in range(12)]
    (root / "list.csv").write_text("\n".join(["path,y,attribute,split", *lines]) + "\n")
    return Manifest(path=str(root / "list.csv"), image_root=str(root / "images"))


def texts(root: Path) -> Dataset:
    (root / "list.csv").write_text("text,y,attribute,split\na,0,0,train\n")
    return Manifest(path=str(root / "list.csv"), text="text")


def folder(root: Path) -> Dataset:
    for row in range(8):
        _picture(root / "images" / f"label{row % 2}" / f"place{row // 2 % 2}" / f"{row}.bmp", row)
    return Folder(path=str(root / "images"))


def npz(root: Path) -> Dataset:
    np.savez(root / "own.npz", features=np.eye(3), y=np.arange(3))
    return Embeddings(path=str(root / "own.npz"))


def npy(root: Path) -> Dataset:
    (root / "own").mkdir()
    np.save(root / "own" / "features.npy", np.eye(3))
    np.save(root / "own" / "y.npy", np.arange(3))
    return Embeddings(path=str(root / "own"))


def hub(root: Path) -> Dataset:
    datasets = pytest.importorskip("datasets", reason="needs the extra [hub]")
    from ftt.data.hub import Hub

    datasets.disable_progress_bars()
    datasets.Dataset.from_dict({"label": [0, 1], "text": ["a", "b"]}).save_to_disk(str(root / "own"))
    return Hub(path=str(root / "own"), text="text")


SOURCES = {
    "waterbirds": waterbirds,
    "celeba": celeba,
    "pacs": domains(PACS),
    "officehome": domains(OfficeHome),
    "vlcs": domains(VLCS),
    "manifest": manifest,
    "texts": texts,
    "folder": folder,
    "npz": npz,
    "npy": npy,
    "hub": hub,
}


def at(source: Source, root: Path) -> Source:
    """The same data set after its files were moved or copied to another root."""
    data, roots = source
    changes = {name: str(root / Path(getattr(data, name)).name) for name in data.paths if getattr(data, name)}
    return data.replace(**changes), replace(roots, data=root)


@pytest.fixture(params=SOURCES)
def source(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    # Files that were written just now are not remembered otherwise.
    monkeypatch.setattr(checksums, "SETTLED_NS", -1)
    (tmp_path / "data").mkdir()
    return SOURCES[request.param](tmp_path / "data"), Roots(tmp_path / "cache", tmp_path / "data")


def files_of(roots: Roots) -> list[Path]:
    """The files whose content can change under the same names: images where there are some."""
    assert roots.data is not None
    found = sorted(file for file in roots.data.rglob("*") if file.is_file())
    images = [file for file in found if file.suffix in (".jpg", ".bmp", ".arrow", ".npy")]
    return images or found


def fingerprint(source: Source) -> object:
    data, roots = source
    found = data.fingerprint(roots)
    assert not {"path", "image_root"} & set(found)
    return found


def test_other_content_of_equal_size_and_restored_time_is_another_fingerprint(source: Source) -> None:
    before = fingerprint(source)
    file = files_of(source[1])[0]
    stat, content = file.stat(), bytearray(file.read_bytes())
    content[-1] ^= 1
    with file.open("r+b") as stream:
        stream.write(content)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (stat.st_size, stat.st_mtime_ns, stat.st_ino)
    assert fingerprint(source) != before


def test_copy_elsewhere_has_the_same_fingerprint(source: Source, tmp_path: Path) -> None:
    shutil.copytree(tmp_path / "data", tmp_path / "copy")
    assert fingerprint(at(source, tmp_path / "copy")) == fingerprint(source)


def test_missing_file_makes_another_fingerprint_until_it_is_back(source: Source, tmp_path: Path) -> None:
    complete = fingerprint(source)
    file = files_of(source[1])[-1]
    file.rename(tmp_path / "aside")
    assert fingerprint(source) != complete
    (tmp_path / "aside").rename(file)
    assert fingerprint(source) == complete


def test_absent_data_can_be_described(source: Source, tmp_path: Path) -> None:
    data, roots = at(source, tmp_path / "nowhere")
    assert data.fingerprint(roots)["content"] in (None, {"table": None})
    assert data.fingerprint(replace(roots, data=None)) == data.fingerprint(roots)


OPENED: list[str] = []
sys.addaudithook(lambda event, given: OPENED.append(str(given[0])) if event == "open" else None)


def test_second_look_opens_no_file_but_the_list_of_images(source: Source) -> None:
    first = fingerprint(source)
    assert str(files_of(source[1])[0]) in OPENED
    OPENED.clear()
    assert fingerprint(source) == first
    opened = {Path(name).suffix for name in OPENED if name.startswith(str(source[1].data))}
    assert opened <= {".csv", ".txt"}


def test_parameters_without_paths_are_part_of_it(source: Source) -> None:
    data, roots = source
    changed = data.replace(seed=7)
    assert changed.fingerprint(roots) == {**data.fingerprint(roots), "seed": 7}


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for name in "abc":
        (tmp_path / name).write_text(name)
    return tmp_path


def settled(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Remember new files too; the list grows with every file that is read."""
    read: list[Path] = []

    def counted(path: Path) -> str:
        read.append(path)
        return sha256_of(path)

    monkeypatch.setattr(checksums, "SETTLED_NS", -1)
    monkeypatch.setattr(checksums, "sha256_of", counted)
    return read


@pytest.mark.parametrize("damage", [b"", b"\x00", b'"x"\n{}', b"[1]\n[1]"])
def test_damaged_memory_means_reading_again(damage: bytes, three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = settled(monkeypatch)
    sums = Checksums(Roots(three / "cache", None))
    first = sums.of(three, "abc")
    (memory,) = (three / "cache" / "checksums").iterdir()
    memory.write_bytes(damage)
    assert sums.of(three, "abc") == first
    assert len(read) == 6


def test_flipped_digit_in_the_memory_is_noticed(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(monkeypatch)
    sums = Checksums(Roots(three / "cache", None))
    first = sums.of(three, "abc")
    (memory,) = (three / "cache" / "checksums").iterdir()
    memory.write_text(memory.read_text().replace(str(first[1])[:8], "00000000"))
    assert sums.of(three, "abc") == first


def test_only_the_changed_file_is_read_again(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = settled(monkeypatch)
    sums = Checksums(Roots(three / "cache", None))
    sums.of(three, "abc")
    (three / "b").write_text("B")
    read.clear()
    assert sums.of(three, "abcd")[3] is None
    assert read == [three / "b"]


def test_file_that_changed_just_now_is_not_remembered(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two changes within the grain of the clock look like one."""
    read = settled(monkeypatch)
    monkeypatch.setattr(checksums, "SETTLED_NS", 3_600_000_000_000)
    sums = Checksums(Roots(three / "cache", None))
    assert sums.of(three, "abc") == sums.of(three, "abc")
    assert len(read) == 6


def test_cache_that_cannot_be_written_costs_time_only(three: Path) -> None:
    assert Checksums(Roots(three / "a" / "cache", None)).of(three, "b") == [sha256_of(three / "b")]
