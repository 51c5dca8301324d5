"""Pairs have exactly the noise they were asked for; the target environment is balanced whatever the label."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from hypothesis import given, settings
from hypothesis import strategies as st

from ftt.data.pairing import make_environments, pair_correlated, pair_independent

IntArray = npt.NDArray[np.int64]

labels = st.lists(st.integers(0, 1), min_size=2, max_size=60).map(lambda values: np.array([0, 1, *values]))
rates = st.floats(0, 0.5)
seeds = st.integers(0, 2**32 - 1)
POOL = np.array([0, 1, 1, 0, 1])


@settings(deadline=None)
@given(labels, rates, rates, seeds)
def test_training_pairs_have_the_exact_core_and_spurious_noise_and_keep_the_masks(
    core_y: IntArray, core_noise: float, spurious_noise: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pairs = pair_correlated(core_y, POOL, core_noise=core_noise, spurious_noise=spurious_noise, rng=rng)
    assert sorted(pairs.core.tolist()) == list(range(len(core_y)))
    assert (pairs.y_clean == core_y[pairs.core]).all()
    assert (pairs.a == POOL[pairs.spurious]).all()
    assert ((pairs.y != pairs.y_clean) == pairs.core_flipped).all()
    assert ((pairs.a != pairs.y) == pairs.spurious_flipped).all()
    for label in (0, 1):
        true, seen = pairs.y_clean == label, pairs.y == label
        assert pairs.core_flipped[true].sum() == round(core_noise * int(true.sum()))
        assert pairs.spurious_flipped[seen].sum() == round(spurious_noise * int(seen.sum()))


@settings(deadline=None)
@given(labels, rates, seeds)
def test_target_pairs_have_both_attributes_equally_often_in_every_true_class(
    core_y: IntArray, core_noise: float, seed: int
) -> None:
    pairs = pair_independent(core_y, POOL, core_noise=core_noise, rng=np.random.default_rng(seed))
    for label in (0, 1):
        true = pairs.y_clean == label
        assert abs(int((pairs.a[true] == 0).sum()) - int((pairs.a[true] == 1).sum())) <= 1
        assert pairs.core_flipped[true].sum() == round(core_noise * int(true.sum()))
    assert not pairs.spurious_flipped.any()
    assert (pairs.a == POOL[pairs.spurious]).all()


def test_no_member_of_the_spurious_pool_is_used_twice_before_all_were_used_once() -> None:
    core_y = np.repeat([0, 1], 10)
    pool = np.repeat([0, 1], 8)
    pairs = pair_correlated(core_y, pool, core_noise=0, spurious_noise=0, rng=np.random.default_rng(0))
    uses = np.bincount(pairs.spurious, minlength=16)
    assert uses.min() == 1
    assert uses.max() == 2


def test_test_environment_is_clean_whatever_the_noise() -> None:
    core = {name: np.repeat([0, 1], 10) for name in ("train", "val", "test")}
    parts = make_environments(core, core, core_noise=0.4, spurious_noise=0.3, rng=np.random.default_rng(0))
    assert (parts["test"].y == parts["test"].y_clean).all()
    assert (parts["val"].y != parts["val"].y_clean).sum() == 8
    assert (parts["train"].y != parts["train"].y_clean).sum() == 8
