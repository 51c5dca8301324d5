"""Decoded once: the same pixels and fingerprints as the files, made by one, read by all, never stale, never half."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.data.hearing import Heard, shown_on

from ftt.data import Roots
from ftt.data.decoded import DecodedImages, image_inputs
from ftt.data.images import ImageFiles
from ftt.data.pixels import Pixels, decode
from ftt.errors import FttError

SIZE, N = 16, 40


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    rng = np.random.default_rng(0)
    (tmp_path / "images").mkdir()
    found = [tmp_path / "images" / f"{row}.jpg" for row in range(N)]
    for path in found:
        Image.fromarray(rng.integers(0, 256, (24, 30, 3), dtype=np.uint8)).save(path)
    return found


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(tmp_path / "cache", None)


def cached(paths: list[Path], roots: Roots) -> DecodedImages:
    images = image_inputs(paths, SIZE, roots)
    assert isinstance(images, DecodedImages)
    return images


def count_decoding(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with every image that is decoded from here on."""
    done: list[int] = []

    def counted(source: Path | bytes, size: int) -> Pixels:
        done.append(1)
        return decode(source, size)

    monkeypatch.setattr("ftt.data.images.decode", counted)
    return done


def test_rows_and_fingerprints_are_those_of_the_files(paths: list[Path], roots: Roots) -> None:
    files, images = ImageFiles(paths, SIZE), cached(paths, roots)
    rows = np.array([7, 0, 39, 7])
    np.testing.assert_array_equal(images.read(rows), files.read(rows))
    assert images.fingerprint() == files.fingerprint()
    assert images.take(rows).fingerprint() == files.take(rows).fingerprint()
    np.testing.assert_array_equal(images.take(rows).read(np.array([2])), files.read(np.array([39])))


def test_nothing_is_decoded_before_it_is_needed_and_nothing_twice(
    paths: list[Path], roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = count_decoding(monkeypatch)
    images = cached(paths, roots).take(np.arange(10))
    assert len(images) == 10
    assert not roots.cache.exists()
    images.read(np.arange(3))
    assert len(done) == N
    again = cached(paths, roots)
    again.read(np.arange(N))
    again.fingerprint()
    assert len(done) == N


def test_changed_image_is_decoded_anew_even_under_its_old_size_and_time(paths: list[Path], roots: Roots) -> None:
    paths = [path.with_suffix(".bmp") for path in paths]
    for row, path in enumerate(paths):
        Image.new("RGB", (20, 20), (row, 0, 0)).save(path)
    before = cached(paths, roots)
    first = before.fingerprint()
    stat = paths[3].stat()
    Image.new("RGB", (20, 20), (200, 0, 0)).save(paths[3])
    os.utime(paths[3], ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert paths[3].stat().st_size == stat.st_size
    after = cached(paths, roots)
    assert after.read(np.array([3]))[0, 0, 0, 0] == 200
    assert after.fingerprint() != first


def test_moved_folder_is_found_in_the_cache(
    paths: list[Path], roots: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = cached(paths, roots).read(np.arange(N))
    (tmp_path / "images").rename(tmp_path / "moved")
    done = count_decoding(monkeypatch)
    after = cached([tmp_path / "moved" / path.name for path in paths], roots)
    np.testing.assert_array_equal(after.read(np.arange(N)), before)
    assert not done


def test_cut_off_array_is_made_again(paths: list[Path], roots: Roots) -> None:
    before = cached(paths, roots).read(np.arange(N))
    (array,) = roots.cache.rglob("images.npy")
    array.write_bytes(array.read_bytes()[:-100])
    np.testing.assert_array_equal(cached(paths, roots).read(np.arange(N)), before)


@pytest.mark.parametrize("file", ["images.npy", "notes.safetensors"])
@pytest.mark.parametrize("place", [0.01, 0.5, 0.9])
def test_flipped_bit_is_reported_and_the_array_made_again(
    file: str, place: float, paths: list[Path], roots: Roots
) -> None:
    before = cached(paths, roots).read(np.arange(N))
    (kept,) = roots.cache.rglob(file)
    content = bytearray(kept.read_bytes())
    content[int(place * len(content))] ^= 4
    kept.write_bytes(content)
    heard = Heard()
    with shown_on(heard):
        images = cached(paths, roots)
        np.testing.assert_array_equal(images.read(np.arange(N)), before)
        assert images.fingerprint() == ImageFiles(paths, SIZE).fingerprint()
    assert any("made again" in line for line in heard.lines)


def test_row_is_verified_once_per_process(paths: list[Path], roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    images = cached(paths, roots)
    images.read(np.arange(N))
    monkeypatch.setattr("ftt.data.decoded._sha256", pytest.fail)
    images.take(np.arange(5)).read(np.arange(5))


def test_making_that_is_interrupted_leaves_no_array(
    paths: list[Path], roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ftt.data.images.decode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cached(paths, roots).read(np.arange(1))
    assert not list(roots.cache.rglob("*images*"))


def test_array_is_a_plain_npy_file(paths: list[Path], roots: Roots) -> None:
    images = cached(paths, roots)
    pixels = images.read(np.arange(N))
    (array,) = roots.cache.rglob("images.npy")
    np.testing.assert_array_equal(np.load(array, allow_pickle=False), pixels)


def test_two_processes_make_it_once(paths: list[Path], roots: Roots) -> None:
    code = (
        "import sys; from pathlib import Path; import numpy as np\n"
        "from ftt.data import Roots; from ftt.data.decoded import image_inputs\n"
        "from ftt.progress import Silent, shown_on\n"
        "class Loud(Silent):\n    def say(self, message): print(message)\n"
        f"paths = [Path({str(paths[0].parent)!r}) / f'{{row}}.jpg' for row in range({N})]\n"
        "with shown_on(Loud()):\n"
        f"    image_inputs(paths, {SIZE}, Roots(Path({str(roots.cache)!r}), None)).read(np.arange(3))\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert sum("decoding 40 images once" in text for text in said) == 1


def test_cache_without_room_means_decoding_at_every_read(
    paths: list[Path], roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ftt.data.decoded._free", lambda _: 1000)
    images = image_inputs(paths, SIZE, roots)
    np.testing.assert_array_equal(images.read(np.arange(N)), ImageFiles(paths, SIZE).read(np.arange(N)))
    assert not roots.cache.exists()
    assert images.whole_rows().tolist() == list(range(N))


def test_array_that_is_there_is_used_though_the_disk_is_full(
    paths: list[Path], roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    cached(paths, roots).read(np.arange(1))
    monkeypatch.setattr("ftt.data.decoded._free", lambda _: 0)
    assert isinstance(image_inputs(paths, SIZE, roots), DecodedImages)


def test_broken_image_outside_the_rows_that_are_taken_does_no_harm(paths: list[Path], roots: Roots) -> None:
    paths[5].write_bytes(b"")
    images = cached(paths, roots)
    whole = images.whole_rows()
    assert whole.tolist() == [row for row in range(N) if row != 5]
    assert images.take(whole).read(np.arange(3)).shape == (3, SIZE, SIZE, 3)
    with pytest.raises(FttError, match=r"5\.jpg"):
        images.read(np.arange(3))
    assert images.take(np.array([4, 5, 6])).whole_rows().tolist() == [0, 2]


MEASURE = """
import resource, sys
from pathlib import Path
import numpy as np
from ftt.data import Roots
from ftt.data.decoded import image_inputs
paths = [Path(sys.argv[1]) / f"{row % 40}.jpg" for row in range(int(sys.argv[3]))]
images = image_inputs(paths, 128, Roots(Path(sys.argv[2]), None))
images.read(np.arange(8))
for start in range(0, len(images), 64):
    images.read(np.arange(start, min(start + 64, len(images))))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_images(paths: list[Path], roots: Roots) -> None:
    """4,000 images of 128 pixels would take 197 MB, 400 of them 20 MB."""
    peaks = []
    for count in (400, 4000):
        command = [sys.executable, "-c", MEASURE, str(paths[0].parent), str(roots.cache), str(count)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] - peaks[0] < 30_000
