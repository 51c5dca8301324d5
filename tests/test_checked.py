"""Checked files: arrays and notes come back as they were; any damage is noticed and said."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ftt import checked
from tests.data.hearing import Heard, shown_on

ARRAYS = {"a": np.arange(6, dtype=np.int64).reshape(2, 3), "b": np.float32(2.5) * np.ones(()), "c": np.zeros((0, 2))}


def test_arrays_and_notes_come_back_as_they_were(tmp_path: Path) -> None:
    checked.write(tmp_path / "x", ARRAYS, {"n": [1, "ä"]})
    found = checked.read(tmp_path / "x", "numbers")
    assert found is not None
    assert found[1] == {"n": [1, "ä"]}
    for name, value in ARRAYS.items():
        assert (found[0][name].dtype, found[0][name].shape) == (value.dtype, value.shape)
        np.testing.assert_array_equal(found[0][name], value)


def test_missing_file_is_nothing_and_says_nothing(tmp_path: Path) -> None:
    heard = Heard()
    with shown_on(heard):
        assert checked.read(tmp_path / "x", "numbers") is None
    assert heard.lines == []


def test_every_flipped_byte_and_every_cut_is_noticed(tmp_path: Path) -> None:
    checked.write(tmp_path / "x", ARRAYS, {"n": 1})
    whole = (tmp_path / "x").read_bytes()
    heard = Heard()
    damaged = [whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :] for place in range(len(whole))]
    damaged += [whole[:length] for length in range(len(whole))]
    silent, wanted = [], checked.digest_of(ARRAYS, "")
    with shown_on(heard):
        for number, content in enumerate(damaged):
            (tmp_path / "x").write_bytes(content)
            found = checked.read(tmp_path / "x", "numbers")
            # A space after the header may change without changing anything that is read.
            if found is not None and (found[1] != {"n": 1} or checked.digest_of(found[0], "") != wanted):
                silent.append(number)
    assert silent == []
    assert len(heard.lines) > 0.95 * len(damaged)
