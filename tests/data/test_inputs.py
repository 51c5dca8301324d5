"""Decoding: the pixels a viewer shows, whatever the file stores, against references made with NumPy."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from ftt.data.images import EncodedImages, ImageFiles, in_threads, stamp_of
from ftt.data.inputs import ArrayInputs, decode
from ftt.errors import FttError

SIZE = 16
Pixels = npt.NDArray[np.uint8]


def noise(*shape: int) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)


def encoded(image: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    sink = io.BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def test_plain_colours_come_out_as_they_went_in() -> None:
    pixels = noise(SIZE, SIZE, 3)
    np.testing.assert_array_equal(decode(encoded(Image.fromarray(pixels)), SIZE), pixels)


def test_grey_is_repeated_in_every_channel() -> None:
    pixels = noise(SIZE, SIZE)
    found = decode(encoded(Image.fromarray(pixels)), SIZE)
    np.testing.assert_array_equal(found, np.repeat(pixels[..., None], 3, axis=2))


def test_sixteen_bits_are_scaled_to_eight_and_not_cut_off() -> None:
    deep = np.random.default_rng(0).integers(0, 65536, (SIZE, SIZE)).astype(np.uint16)
    deep[0, :3] = (0, 300, 65535)
    found = decode(encoded(Image.fromarray(deep)), SIZE)
    expected = np.rint(deep / 257).astype(np.uint8)
    np.testing.assert_array_equal(found, np.repeat(expected[..., None], 3, axis=2))
    assert found[0, :3, 0].tolist() == [0, 1, 255]


def test_palette_is_looked_up() -> None:
    palette, codes = noise(256, 3), noise(SIZE, SIZE)
    image = Image.fromarray(codes, mode="P")
    image.putpalette(palette.tobytes())
    np.testing.assert_array_equal(decode(encoded(image), SIZE), palette[codes])


def test_transparent_colour_of_a_palette_is_white() -> None:
    palette, codes = noise(256, 3), noise(SIZE, SIZE)
    image = Image.fromarray(codes, mode="P")
    image.putpalette(palette.tobytes())
    expected = np.where((codes == codes[0, 0])[..., None], 255, palette[codes])
    found = decode(encoded(image, transparency=int(codes[0, 0])), SIZE)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("channels", [2, 4], ids=["grey", "colour"])
def test_half_transparent_pixels_are_laid_over_white(channels: int) -> None:
    pixels = noise(SIZE, SIZE, channels)
    found = decode(encoded(Image.fromarray(pixels)), SIZE).astype(float)
    colour, alpha = pixels[..., :-1].astype(float), pixels[..., -1:] / 255
    expected = colour * alpha + 255 * (1 - alpha)
    assert np.abs(found - expected).max() <= 1


def test_cmyk_is_mixed_to_rgb() -> None:
    pixels = noise(SIZE, SIZE, 4)
    found = decode(encoded(Image.fromarray(pixels, mode="CMYK"), "TIFF"), SIZE).astype(float)
    cyan, black = pixels[..., :3] / 255, pixels[..., 3:] / 255
    assert np.abs(found - 255 * (1 - cyan) * (1 - black)).max() <= 1.01


TURNED = {
    1: lambda x: x,
    2: lambda x: x[:, ::-1],
    3: lambda x: x[::-1, ::-1],
    4: lambda x: x[::-1],
    5: lambda x: x.transpose(1, 0, 2),
    6: lambda x: np.rot90(x, -1),
    7: lambda x: np.rot90(x, 2).transpose(1, 0, 2),
    8: lambda x: np.rot90(x, 1),
}
"""How each value of the EXIF orientation is turned upright, from its definition."""


@pytest.mark.parametrize("orientation", TURNED)
def test_picture_is_turned_as_the_camera_says(orientation: int) -> None:
    pixels = noise(SIZE, SIZE, 3)
    exif = Image.Exif()
    exif[0x0112] = orientation
    found = decode(encoded(Image.fromarray(pixels), exif=exif), SIZE)
    np.testing.assert_array_equal(found, TURNED[orientation](pixels))


@pytest.mark.filterwarnings("ignore:Corrupt EXIF:UserWarning")
def test_damaged_camera_notes_do_not_break_a_whole_picture() -> None:
    pixels = noise(SIZE, SIZE, 3)
    found = decode(encoded(Image.fromarray(pixels), exif=b"Exif\0\0MM\0*\0\0\0\x08\0\x05garbage"), SIZE)
    np.testing.assert_array_equal(found, pixels)


def test_pixels_without_a_known_range_are_refused() -> None:
    with pytest.raises(FttError, match="no known range"):
        decode(encoded(Image.fromarray(np.zeros((20, 20), dtype=np.float32)), "TIFF"), SIZE)


def test_photograph_is_scaled_by_its_shorter_side_and_its_centre_cut_out() -> None:
    wide = np.zeros((40, 100, 3), dtype=np.uint8)
    wide[:, 30:70] = 200
    found = decode(encoded(Image.fromarray(wide), "JPEG", quality=95), 20)
    assert found.shape == (20, 20, 3)
    assert (np.abs(found[:, 2:-2].astype(int) - 200) < 8).all()


def test_bytes_and_file_give_the_same_pixels(tmp_path: Path) -> None:
    content = encoded(Image.fromarray(noise(50, 37, 3)), "JPEG")
    (tmp_path / "x.jpg").write_bytes(content)
    np.testing.assert_array_equal(decode(content, SIZE), decode(tmp_path / "x.jpg", SIZE))


@pytest.fixture
def files(tmp_path: Path) -> ImageFiles:
    paths = [tmp_path / f"{row}.png" for row in range(30)]
    for row, path in enumerate(paths):
        Image.new("RGB", (20, 20), (row, 0, 0)).save(path)
    return ImageFiles(paths, SIZE)


def in_turn(images: EncodedImages, rows: list[int]) -> list[int]:
    return [int(red) for red in images.read(np.array(rows))[:, 0, 0, 0]]


def test_files_are_read_in_the_order_asked_for_by_any_number_of_threads(
    files: ImageFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    for count in (1, 4):
        monkeypatch.setattr("ftt.threads.available", lambda count=count: count)
        assert in_turn(files, [29, 3, 3, 0]) == [29, 3, 3, 0]
        assert list(in_threads(lambda row: row * row, range(30), ahead=2)) == [row * row for row in range(30)]


def test_threads_do_not_run_far_ahead_of_what_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftt.threads.available", lambda: 2)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    started: list[int] = []
    results = in_threads(started.append, range(1000), ahead=4)
    next(results)
    assert 1 <= len(started) <= 8


def test_fingerprint_hangs_on_content_order_and_size_not_on_names(files: ImageFiles, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    copies = [tmp_path / "copy" / f"other-{path.name}" for path in files.paths]
    for path, copy in zip(files.paths, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    assert ImageFiles(copies, SIZE).fingerprint() == files.fingerprint()
    assert ImageFiles(copies[::-1], SIZE).fingerprint() != files.fingerprint()
    assert ImageFiles(copies, SIZE + 1).fingerprint() != files.fingerprint()
    assert ImageFiles(copies[1:], SIZE).fingerprint() != files.fingerprint()


def test_fingerprint_of_arrays_stays_what_stored_features_are_found_by() -> None:
    array = np.arange(24, dtype=np.float32).reshape(6, 4)
    expected = hashlib.sha256(b"features <f4 (3, 4)" + array[[5, 0, 2]].tobytes()).hexdigest()
    assert ArrayInputs(array, "features").take(np.array([5, 0, 2])).fingerprint() == expected


def test_a_stamp_tells_files_by_name_size_and_time_and_not_by_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first"
    (first / "birds").mkdir(parents=True)
    for name in ("birds/1.jpg", "birds/2.jpg", "3.jpg"):
        (first / name).write_bytes(name.encode())
    names = ("birds/1.jpg", "birds/2.jpg", "3.jpg", "missing.jpg")
    stamp = stamp_of([first / name for name in names])
    monkeypatch.chdir(first)
    assert stamp_of([Path(name) for name in names]) == stamp
    assert stamp_of([Path("birds/../birds/1.jpg"), *map(Path, names[1:])]) == stamp
    assert stamp_of([Path(name) for name in names[:3]]) != stamp
    assert stamp_of([Path(name) for name in reversed(names)]) != stamp
    os.utime("3.jpg", ns=(1, 1))
    assert stamp_of([Path(name) for name in names]) != stamp
    assert stamp_of([]) == stamp_of([])


def test_a_moved_folder_keeps_its_stamp(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "1.jpg").write_bytes(b"one")
    before = stamp_of([tmp_path / "first" / "1.jpg"])
    (tmp_path / "first").rename(tmp_path / "second")
    assert stamp_of([tmp_path / "second" / "1.jpg"]) == before
