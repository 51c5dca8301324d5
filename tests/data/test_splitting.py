"""Made splits: exact shares, group by group, from a seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftt.data.splitting import divide, make_splits
from ftt.errors import FttError

shares = st.tuples(*[st.floats(0.01, 1)] * 3)


@given(st.integers(0, 500), shares)
def test_parts_add_up_and_none_is_empty_where_there_is_enough(count: int, wanted: tuple[float, ...]) -> None:
    sizes = divide(count, wanted)
    assert sum(sizes) == count
    assert min(sizes) >= (1 if count >= 3 else 0)


@given(st.integers(0, 500), shares)
def test_parts_are_within_a_row_of_their_share_unless_one_would_be_empty(count: int, wanted: tuple[float, ...]) -> None:
    exact = np.array(wanted) / sum(wanted) * count
    if exact.min() >= 1:
        assert np.abs(np.array(divide(count, wanted)) - exact).max() <= 1


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=80), st.integers(0, 9))
def test_every_group_is_divided_alike_and_again_by_the_same_seed(rows: list[tuple[int, int]], seed: int) -> None:
    y, a = np.array(rows, dtype=np.int64).T
    first, second = (make_splits(y, a, (0.6, 0.2, 0.2), np.random.default_rng(seed)) for _ in range(2))
    assert (first == second).all()
    for label, value in set(rows):
        members = first[(y == label) & (a == value)]
        sizes = [int((members == name).sum()) for name in ("train", "val", "test")]
        assert sizes == divide(len(members), (0.6, 0.2, 0.2))


def test_rows_are_drawn_at_random_within_a_group() -> None:
    y = a = np.zeros(100, dtype=np.int64)
    one, two = (make_splits(y, a, (1, 1, 1), np.random.default_rng(seed)) for seed in (0, 1))
    assert (one != two).any()
    assert set(one[:20]) == {"train", "val", "test"}


@pytest.mark.parametrize("wanted", [(0.5, 0.5), (0.6, 0.4, 0.0), (1.0, 1.0, float("nan"))])
def test_shares_of_anything_but_three_parts_are_refused(wanted: tuple[float, ...]) -> None:
    with pytest.raises(FttError, match="train, val and test"):
        make_splits(np.zeros(9, dtype=np.int64), np.zeros(9, dtype=np.int64), wanted, np.random.default_rng(0))
