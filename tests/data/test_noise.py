"""Flips are exact in number, keep what they promise to keep, and are the same for the same seed."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftt.data.noise import core_noise, flip_by_table, flip_exactly, largest_rate, spurious_noise
from ftt.errors import FttError

IntArray = npt.NDArray[np.int64]

rates = st.floats(0, 0.5)
seeds = st.integers(0, 2**32 - 1)
group_sizes = st.tuples(*[st.integers(0, 60)] * 4)
WATERBIRDS = (3498, 184, 56, 1057)


def rows_of(sizes: tuple[int, ...], seed: int = 0) -> tuple[IntArray, IntArray]:
    """Labels and attributes with these numbers of (0,0), (0,1), (1,0), (1,1), in random order."""
    order = np.random.default_rng(seed).permutation(sum(sizes))
    return np.repeat([0, 0, 1, 1], sizes)[order], np.repeat([0, 1, 0, 1], sizes)[order]


def flipped(y: IntArray, mask: npt.NDArray[np.bool_]) -> IntArray:
    return np.where(mask, 1 - y, y)


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=80), rates, seeds)
def test_every_class_loses_exactly_its_share(labels: list[int], rate: float, seed: int) -> None:
    y = np.array(labels, dtype=np.int64)
    mask = flip_exactly(y, rate, np.random.default_rng(seed))
    for label in range(5):
        assert mask[y == label].sum() == round(rate * int((y == label).sum()))


@settings(deadline=None)
@given(group_sizes, rates, seeds)
def test_flip_table_keeps_spurious_noise_or_names_the_largest_noise_that_can(
    sizes: tuple[int, ...], rate: float, seed: int
) -> None:
    y, a = rows_of(sizes, seed)
    rng = np.random.default_rng(seed)
    wanted = [round(rate * float((y == label).sum())) for label in (0, 1)]
    fits = all(n // 2 <= sizes[2 * label] and n - n // 2 <= sizes[2 * label + 1] for label, n in enumerate(wanted))
    if not fits:
        with pytest.raises(FttError, match=f"core_noise <= {largest_rate(y, a):.4g}"):
            flip_by_table(y, a, rate, rng)
        return
    mask = flip_by_table(y, a, rate, rng)
    assert [int(mask[y == label].sum()) for label in (0, 1)] == wanted
    drift = int((flipped(y, mask) != a).sum()) - int((y != a).sum())
    assert drift == wanted[1] % 2 - wanted[0] % 2


@settings(deadline=None)
@given(group_sizes)
def test_the_largest_rate_is_feasible_and_a_row_more_is_not(sizes: tuple[int, ...]) -> None:
    y, a = rows_of(sizes)
    limit = largest_rate(y, a)
    flip_by_table(y, a, limit, np.random.default_rng(0))
    above = limit + 1.01 / min((n for n in (sum(sizes[:2]), sum(sizes[2:])) if n), default=1) + 1e-4
    if limit < 0.5 and above <= 0.5:
        with pytest.raises(FttError):
            flip_by_table(y, a, above, np.random.default_rng(0))


def test_waterbirds_at_ten_percent_flips_all_of_one_group_and_all_but_one_of_another() -> None:
    y, a = rows_of(WATERBIRDS)
    mask = flip_by_table(y, a, 0.10, np.random.default_rng(0))
    counts = {(label, value): int(mask[(y == label) & (a == value)].sum()) for label in (0, 1) for value in (0, 1)}
    assert counts == {(0, 0): 184, (0, 1): 184, (1, 0): 55, (1, 1): 56}
    assert abs(int((flipped(y, mask) != a).sum()) - int((y != a).sum())) <= 1


def test_waterbirds_at_eleven_percent_is_refused_with_the_reason_and_the_maximum() -> None:
    y, a = rows_of(WATERBIRDS)
    with pytest.raises(FttError, match=re.escape("group (label 0, attribute 1)")) as caught:
        flip_by_table(y, a, 0.11, np.random.default_rng(0))
    assert caught.value.allowed == "0 <= core_noise <= 0.1"


@settings(deadline=None)
@given(group_sizes, rates, seeds)
def test_proportional_policy_takes_the_same_share_of_every_group(
    sizes: tuple[int, ...], rate: float, seed: int
) -> None:
    y, a = rows_of(sizes, seed)
    mask = flip_by_table(y, a, rate, np.random.default_rng(seed), policy="proportional")
    for label in (0, 1):
        assert mask[y == label].sum() == round(float((y == label).sum()) * rate)
    for group, size in enumerate(sizes):
        assert abs(mask[(y == group // 2) & (a == group % 2)].sum() - size * rate) <= 1.5


def test_same_seed_gives_the_same_mask_and_another_seed_another() -> None:
    y, a = rows_of((100, 40, 50, 90))
    masks = [flip_by_table(y, a, 0.2, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert (masks[0] == masks[1]).all()
    assert (masks[0] != masks[2]).any()
    plain = [flip_exactly(y, 0.2, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert (plain[0] == plain[1]).all()
    assert (plain[0] != plain[2]).any()


@pytest.mark.parametrize("rate", [-0.01, 0.51, float("nan")])
def test_rate_outside_its_range_is_refused(rate: float) -> None:
    y, a = rows_of((10, 10, 10, 10))
    with pytest.raises(FttError, match="feasible range"):
        flip_exactly(y, rate, np.random.default_rng(0))
    with pytest.raises(FttError, match="feasible range"):
        flip_by_table(y, a, rate, np.random.default_rng(0))


def test_flip_table_refuses_more_than_two_labels_unless_there_is_nothing_to_flip() -> None:
    y, a = np.array([0, 1, 2, 0]), np.array([0, 1, 0, 1])
    assert not flip_by_table(y, a, 0.0, np.random.default_rng(0)).any()
    with pytest.raises(FttError, match="two labels"):
        flip_by_table(y, a, 0.1, np.random.default_rng(0))


def test_noises_are_shares_of_rows() -> None:
    y, clean, a = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0]), np.array([0, 0, 0, 0])
    assert core_noise(y, clean) == 0.25
    assert spurious_noise(y, a) == 0.5
