"""Texts: read and taken by row, identified by content alone."""

from __future__ import annotations

import numpy as np

from ftt.data.texts import Texts

WORDS = ["a", "bc", "", "größer 🎬", "x" * 20_000]


def test_rows_come_back_as_they_went_in() -> None:
    texts = Texts(WORDS)
    assert len(texts) == 5
    assert texts.kind == "texts"
    assert texts.read(np.array([3, 0, 2])).tolist() == ["größer 🎬", "a", ""]
    assert texts.take(np.array([4, 1])).read(np.array([1])).tolist() == ["bc"]


def test_a_long_text_does_not_widen_the_others() -> None:
    assert Texts(["short"] * 1000 + ["x" * 100_000]).values.nbytes < 100_000


def test_the_fingerprint_is_that_of_the_content_whatever_held_it() -> None:
    whole = Texts(WORDS)
    assert whole.fingerprint() == Texts(np.array(WORDS, dtype=object)).fingerprint()
    assert whole.take(np.array([1, 3])).fingerprint() == Texts(["bc", "größer 🎬"]).fingerprint()


def test_the_fingerprint_tells_moved_borders_and_another_order_apart() -> None:
    prints = {Texts(words).fingerprint() for words in (["ab", "c"], ["a", "bc"], ["c", "ab"], ["abc"], ["abc", ""])}
    assert len(prints) == 5
