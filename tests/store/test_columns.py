"""Columns from plain values: what `pyarrow.array` makes of them, without pandas."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftt.store.columns import column

KINDS: list[st.SearchStrategy[Any]] = [
    st.floats(allow_nan=False),
    st.integers(-(2**63), 2**63 - 1),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.nothing(),
]


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.lists(st.none() | kind)))
def test_columns_of_one_kind_are_those_of_pyarrow(values: list[Any]) -> None:
    found, expected = column(values), pa.array(values)
    found.validate(full=True)
    assert found.type == expected.type
    assert found.equals(expected)
    assert found.null_count == expected.null_count


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([[1, 2], None, {"a": 1}], ["[1, 2]", None, '{"a": 1}']),
        ([1, "a", None, True], ["1", "a", None, "True"]),
        ([2**70, 1], [str(2**70), "1"]),
    ],
)
def test_lists_and_mixtures_are_numbers_or_texts(values: list[Any], expected: list[Any]) -> None:
    assert column(values).to_pylist() == expected


def test_a_table_of_runs_is_made_without_pandas() -> None:
    text = "import sys; from ftt.store.columns import column; column([0.5, None]); column(['a']); column([[1], None]); "
    subprocess.run([sys.executable, "-c", text + "assert 'pandas' not in sys.modules"], check=True)
