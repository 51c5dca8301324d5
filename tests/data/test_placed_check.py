"""A placed folder is compared with the publication: counts, missing images, content."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data.layouts import write_celeba, write_domains, write_waterbirds

from ftt.data import Roots
from ftt.data.celeba import CelebA
from ftt.data.digits import Digits
from ftt.data.domains import VLCS, Domains, OfficeHome
from ftt.data.placed_check import check_placed
from ftt.data.waterbirds import Waterbirds
from ftt.errors import FttError

FEW = {"train": (6, 5, 4, 3), "val": (4, 4, 2, 2), "test": (4, 4, 2, 2)}


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(tmp_path / "cache", tmp_path / "placed")


def placed(roots: Roots) -> Path:
    assert roots.data is not None
    return roots.data


def test_other_counts_are_shown_beside_the_published_ones(roots: Roots) -> None:
    write_waterbirds(placed(roots) / "waterbirds", FEW)
    found = check_placed(Waterbirds(), roots)
    assert not found.complete
    assert found.found["train"] == (6, 5, 4, 3)
    assert found.published["train"] == (3498, 184, 56, 1057)
    assert any("published: 3498 / 184 / 56 / 1057" in line for line in found.lines())


def test_published_counts_with_every_image_are_complete(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    write_waterbirds(placed(roots) / "waterbirds", FEW)
    monkeypatch.setattr("ftt.data.waterbirds.WATERBIRDS", FEW)
    assert check_placed(Waterbirds(), roots).complete
    image = next((placed(roots) / "waterbirds").glob("*/*.jpg"))
    image.unlink()
    without = check_placed(Waterbirds(), roots)
    assert not without.complete
    assert without.missing == (f"{image.parent.name}/{image.name}",)
    assert any("1 of 42 images are missing" in line for line in without.lines())


def test_celeba_is_checked_after_its_subsampling(roots: Roots) -> None:
    write_celeba(placed(roots) / "celeba", dict.fromkeys(("train", "val", "test"), (6, 8, 4, 3)))
    found = check_placed(CelebA(), roots)
    assert found.published["val"] == (524, 8276, 2874, 182)
    assert not found.missing


@pytest.mark.parametrize(("source", "folder"), [(OfficeHome, "OfficeHome"), (VLCS, "VLCS")])
def test_a_missing_domain_is_none_found(source: type[Domains], folder: str, roots: Roots) -> None:
    root = write_domains(placed(roots) / folder, source, divide=40)
    first = source.domains[0].name
    assert check_placed(source(), roots).found.keys() == {domain.name for domain in source.domains}
    (root / first).rename(root.parent / "elsewhere")
    found = check_placed(source(), roots)
    assert first not in found.found
    assert found.content is None
    assert any(line.split()[:2] == [first, "none"] for line in found.lines())


def test_equal_copies_have_equal_content(tmp_path: Path) -> None:
    contents = []
    for name in ("one", "two"):
        roots = Roots(tmp_path / "cache", tmp_path / name)
        write_waterbirds(placed(roots) / "waterbirds", FEW)
        contents.append(check_placed(Waterbirds(), roots).content)
    assert contents[0] == contents[1]


def test_data_that_nobody_places_are_refused(roots: Roots) -> None:
    with pytest.raises(FttError, match="not a data set that you place"):
        check_placed(Digits(), roots)


def test_a_folder_that_is_not_there_says_how_to_get_it(roots: Roots) -> None:
    with pytest.raises(FttError, match="not on this machine"):
        check_placed(Waterbirds(), roots)
