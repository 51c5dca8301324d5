"""Images and folders that are damaged, hostile or not images at all: refused by name, pipes and devices unopened."""

from __future__ import annotations

import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.bad_inputs.odd_files import bind_socket

from ftt.data import Roots
from ftt.data.folders import Folder
from ftt.data.pixels import decode
from ftt.errors import FttError

Write = Callable[[Path], object]


def encoded(kind: str, size: tuple[int, int] = (20, 20), mode: str = "RGB") -> bytes:
    sink = io.BytesIO()
    Image.new(mode, size).save(sink, kind)
    return sink.getvalue()


def png(width: int, height: int) -> bytes:
    """A PNG whose header claims this size; it holds next to nothing."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")


def bmp(width: int, height: int) -> bytes:
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, *[0] * 6)


def raw(content: bytes) -> Write:
    return lambda path: path.write_bytes(content)


def sparse(path: Path) -> None:
    with path.open("wb") as sink:
        sink.write(encoded("PNG"))
        sink.truncate(2_000_000_000)


EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 20 20\n%%EndComments\n(/tmp/ran) (w) file\n%%EOF\n"
CASES: dict[str, tuple[Write, str]] = {
    "EPS called png": (raw(EPS), "not an image"),
    "PPM called png": (raw(encoded("PPM")), "not an image"),
    "ICO called png": (raw(encoded("ICO")), "not an image"),
    "PDF called png": (raw(b"%PDF-1.4\n"), "not an image"),
    "SVG called png": (raw(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), "not an image"),
    "TGA called png": (raw(encoded("TGA")), "not an image"),
    "HTML called png": (raw(b"<html>404</html>"), "not an image"),
    "13,000 x 13,000": (raw(png(13_000, 13_000)), "13000 x 13000 pixels, the limit is 64000000"),
    "a million squared": (raw(png(10**6, 10**6)), "the limit is 64000000"),
    "two billion squared": (raw(png(2**31 - 1, 2**31 - 1)), "the limit is 64000000"),
    "BMP of gigapixels": (raw(bmp(60_000, 60_000)), "the limit is 64000000"),
    "no pixels": (raw(png(0, 0)), "x.png"),
    "claims more rows than it has": (raw(png(4000, 4000)), "x.png"),
    "negative height": (raw(bmp(10, -(2**31))), "x.png"),
    "no bytes": (raw(b""), "the file is empty"),
    "signature only": (raw(b"\x89PNG\r\n\x1a\n"), "x.png"),
    "JPEG cut off": (raw(encoded("JPEG", (300, 300))[:700]), "x.png"),
    "GIF cut off": (raw(encoded("GIF")[:12]), "x.png"),
    "WEBP cut off": (raw(encoded("WEBP")[:25]), "x.png"),
    "TIFF cut off": (raw(encoded("TIFF")[:30]), "x.png"),
    "TIFF of floats": (raw(encoded("TIFF", mode="F")), "no known range"),
    "two gigabytes": (sparse, "2,000,000,000 bytes"),
    "missing": (lambda path: None, "the file is missing"),
    "a pipe": (os.mkfifo, "a named pipe"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "a device"),
    "a socket": (bind_socket, "a socket"),
    "a folder": (Path.mkdir, "a folder, not a regular file"),
    "a link to itself": (lambda path: path.symlink_to(path), "leads back to itself"),
    "a link to nothing": (lambda path: path.symlink_to(path.parent / "nothing"), "missing"),
}


@pytest.mark.filterwarnings("ignore::UserWarning:PIL", "ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("case", CASES)
def test_bad_image_is_refused_by_name(case: str, tmp_path: Path) -> None:
    write, words = CASES[case]
    write(tmp_path / "x.png")
    with pytest.raises(FttError) as caught:
        decode(tmp_path / "x.png", 16)
    assert words in str(caught.value)
    assert "x.png" in str(caught.value)


def test_limit_on_pixels_is_raised_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    content = encoded("PNG", (40, 30))
    monkeypatch.setenv("FTT_MAX_PIXELS", "1199")
    with pytest.raises(FttError, match="40 x 30 pixels, the limit is 1199"):
        decode(content, 16)
    monkeypatch.setenv("FTT_MAX_PIXELS", "1200")
    assert decode(content, 16).shape == (16, 16, 3)


@pytest.mark.parametrize("told", ["0", "-1", "many", "1e9", "9" * 400])
def test_limit_that_is_not_a_number_is_refused(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FTT_MAX_PIXELS", told)
    with pytest.raises(FttError, match="FTT_MAX_PIXELS"):
        decode(encoded("PNG"), 16)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP"])
def test_every_format_of_the_list_is_decoded_whatever_the_file_is_called(kind: str, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(encoded(kind))
    assert decode(tmp_path / "x.png", 16).shape == (16, 16, 3)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for split in ("train", "val", "test"):
        for n in range(4):
            path = tmp_path / "root" / split / f"y{n % 2}" / f"a{n // 2}" / f"{n}.png"
            path.parent.mkdir(parents=True)
            Image.new("RGB", (20, 20), (n, 0, 0)).save(path)
    Image.new("RGB", (20, 20)).save(tmp_path / "secret.png")
    return tmp_path / "root"


def link_out(root: Path) -> None:
    (root / "train/y0/a0/out.png").symlink_to(root.parent / "secret.png")


def link_between_splits(root: Path) -> None:
    (root / "test/y0/a0/again.png").symlink_to(root / "train/y0/a0/0.png")


def two_links_to_one(root: Path) -> None:
    (root / ".store").mkdir()
    Image.new("RGB", (20, 20)).save(root / ".store" / "one.png")
    for split in ("train", "test"):
        (root / split / "y0/a0/linked.png").symlink_to(root / ".store" / "one.png")


def bad_name(root: Path) -> None:
    Image.new("RGB", (20, 20)).save(os.fsencode(root / "train/y0/a0/") + b"\xff.png", "PNG")


def file_in_its_place(root: Path) -> None:
    root.rename(root.parent / "moved")
    root.write_text("x")


def pipe_in_its_place(root: Path) -> None:
    root.rename(root.parent / "moved")
    os.mkfifo(root)


FOLDERS: dict[str, tuple[Write, str]] = {
    "link out of the folder": (link_out, "outside the folder"),
    "one image in two splits by a link": (link_between_splits, "two splits at once"),
    "two links to one hidden image": (two_links_to_one, "two splits at once"),
    "linked folder": (lambda root: (root / "train/y2").symlink_to(root / "train/y1"), "a folder is a link"),
    "loop of folders": (lambda root: (root / "train/y2").symlink_to(root), "a folder is a link"),
    "name that is not UTF-8": (bad_name, "not UTF-8"),
    "pipe called png": (lambda root: os.mkfifo(root / "train/y0/a0/p.png"), "a named pipe"),
    "device called png": (lambda root: (root / "train/y0/a0/d.png").symlink_to("/dev/zero"), "outside the folder"),
    "EPS called png": (lambda root: (root / "train/y0/a0/e.png").write_bytes(EPS), "e.png (not an image"),
    "image in the wrong place": (lambda root: (root / "stray.png").write_bytes(b"x"), "stray.png"),
    "folder that is a file": (file_in_its_place, "no such folder"),
    "folder that is a pipe": (pipe_in_its_place, "no such folder"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_bad_folder_is_refused_in_words(case: str, root: Path, tmp_path: Path) -> None:
    write, words = FOLDERS[case]
    write(root)
    with pytest.raises(FttError) as caught:
        Folder(path=str(root), size=16).load(Roots(tmp_path / "cache", None)).inputs.read(np.arange(2))
    assert words in str(caught.value)
    str(caught.value).encode()
