"""The short form of `make fuzz`: good files are read, and files with a few bytes changed end in a value or in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.readers import NAMES, examples, feed

MUTATIONS = 60


@pytest.mark.parametrize("name", NAMES)
def test_good_files_are_read(name: str, tmp_path: Path) -> None:
    assert {feed(data, tmp_path) for data in examples()[name]} == {"value"}


@pytest.mark.parametrize("name", NAMES)
def test_changed_files_end_in_a_value_or_in_words(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    goods = examples()[name]
    for n in range(MUTATIONS):
        data = bytearray(goods[n % len(goods)])
        for _ in range(int(rng.integers(1, 6))):
            data[int(rng.integers(1, len(data)))] = int(rng.integers(256))
        if n % 3 == 0:
            del data[int(rng.integers(1, len(data))) :]
        feed(bytes(data), tmp_path)
