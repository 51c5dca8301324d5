"""What published folders share: counts that differ are shown, absent folders are named with the way to get them."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from ftt.data import load
from ftt.data.published import CELEBA, WATERBIRDS, UnexpectedCountsWarning, check_counts
from ftt.errors import FttError

NAMES = ("waterbirds", "celeba", "pacs", "officehome", "vlcs")


def test_the_published_counts_are_accepted_silently() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_counts("waterbirds", dict(WATERBIRDS), WATERBIRDS)


def test_other_counts_are_shown_beside_the_published_ones() -> None:
    found = {**CELEBA, "val": (523, 8276, 2874, 182)}
    with pytest.warns(UnexpectedCountsWarning) as caught:
        check_counts("celeba", found, CELEBA)
    message = str(caught[0].message)
    assert "524 / 8276 / 2874 / 182" in message
    assert "523 / 8276 / 2874 / 182" in message
    assert [line for line in message.splitlines() if line.endswith("<-")] == [
        line for line in message.splitlines() if line.strip().startswith("val")
    ]


def test_a_missing_split_is_a_difference() -> None:
    with pytest.warns(UnexpectedCountsWarning, match="none"):
        check_counts("waterbirds", {"train": WATERBIRDS["train"]}, WATERBIRDS)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_that_is_absent_is_named_with_its_layout_and_where_to_get_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(FttError) as caught:
        load(name, root=tmp_path, cache=tmp_path / "cache")
    message = str(caught.value)
    assert str(tmp_path) in message
    assert "holding" in message
    assert f"ftt data show {name}" in message
    assert "$FTT_DATA" in message


@pytest.mark.parametrize("name", NAMES)
def test_without_any_place_for_folders_the_variable_to_set_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FTT_DATA", raising=False)
    with pytest.raises(FttError, match="FTT_DATA is not set"):
        load(name, cache=tmp_path / "cache")


def test_a_folder_that_holds_something_else_is_shown_with_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "waterbirds" / "birds").mkdir(parents=True)
    with pytest.raises(FttError, match="which holds birds"):
        load("waterbirds", root=tmp_path)


def test_where_the_folder_is_does_not_enter_the_identity(tmp_path: Path) -> None:
    from ftt.data.waterbirds import Waterbirds

    assert Waterbirds(core_noise=0.1).identity() == {
        "name": "waterbirds",
        "core_noise": 0.1,
        "flip": "keep-spurious",
        "seed": 0,
        "size": 224,
    }
