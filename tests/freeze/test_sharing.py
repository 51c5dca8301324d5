"""Freezers share one pass over the features, and hold the features only where they are wanted afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.contracts.small import small_data

import ftt
from ftt.backbones import create
from ftt.backbones.extract import batches, extract
from ftt.data.grouped import Fittable, require_fittable
from ftt.errors import FttError
from ftt.freeze.freezer import moments_of
from ftt.freeze.offdiag import OffDiagonal
from ftt.freeze.pca import PCA
from ftt.freeze.random import RandomProjection
from ftt.methods.erm import ERM
from ftt.methods.jtt import JTT
from ftt.recipe import Recipe
from ftt.spec import Training
from ftt.store.artifacts import ArtifactStore
from ftt.train import Services, fit
from ftt.train.fitting import freeze

PHI = (np.random.default_rng(0).standard_normal((200, 8)) * np.arange(8, 0, -1)).astype(np.float32)


def training_rows() -> Fittable:
    return require_fittable(small_data()["train"], "a test")


def test_every_p_and_every_freezer_of_moments_share_one_pass(tmp_path: Path) -> None:
    store, train = ArtifactStore(tmp_path), training_rows()
    backbone = create("tinyconv", train.inputs)
    for freezer in (PCA(p=0.25), PCA(p=0.5), PCA(variant="released"), OffDiagonal(), RandomProjection()):
        freeze(freezer, backbone, train, store)
    assert store.made == {"features": 1, "moments": 1, "basis": 4}


def test_features_that_nobody_wants_are_never_kept_and_the_basis_is_the_same(tmp_path: Path) -> None:
    train = training_rows()
    backbone = create("tinyconv", train.inputs)
    stores = [ArtifactStore(tmp_path / name) for name in ("kept", "streamed")]
    kept, streamed = (
        freeze(PCA(p=0.5), backbone, train, store, reuse=reuse)
        for store, reuse in zip(stores, (True, False), strict=True)
    )
    assert stores[1].made == {"moments": 1, "basis": 1}
    np.testing.assert_array_equal(kept.weight, streamed.weight)
    np.testing.assert_array_equal(kept.bias, streamed.bias)


def test_training_on_views_keeps_no_features_of_the_training_split(tmp_path: Path) -> None:
    store, views = ArtifactStore(tmp_path), Training(epochs=1, augment="crop-flip")
    fit(small_data(), Recipe(PCA(), ERM()), "tinyconv", training=views, services=Services(cache=store))
    assert "features" not in store.made
    assert store.made["moments"] == 1


def test_a_method_that_looks_for_its_errors_keeps_them_on_views_too(tmp_path: Path) -> None:
    store, views = ArtifactStore(tmp_path), Training(epochs=1, augment="crop-flip")
    fit(small_data(), Recipe(PCA(), JTT(identify_epochs=1)), "tinyconv", training=views, services=Services(cache=store))
    assert store.made["features"] == 1


def test_moments_of_two_processes_merge_into_those_of_one_pass() -> None:
    train = training_rows()
    backbone = create("tinyconv", train.inputs)
    n, m = len(train), backbone.num_features
    whole = moments_of(extract(backbone, train.inputs, "train").blocks(), m)
    first, second = (
        moments_of(batches(backbone, train.inputs.take(np.arange(start, stop)), "part"), m)
        for start, stop in ((0, n // 3), (n // 3, n))
    )
    merged = first.merge(second)
    assert merged.count == whole.count
    np.testing.assert_allclose(merged.covariance(), whole.covariance(), rtol=1e-4, atol=1e-9)


def test_pca_on_some_rows_is_pca_of_these_rows() -> None:
    freezer = PCA(rows=50, seed=3)
    rows = freezer.drawn(200)
    assert rows is not None
    assert len(np.unique(rows)) == 50
    got, wanted = freezer.basis([PHI[:90], PHI[90:]], 8), PCA().basis([PHI[rows]], 8)
    np.testing.assert_array_equal(got.weight, wanted.weight)


def test_another_seed_draws_other_rows_and_more_rows_than_there_are_draw_all() -> None:
    first, again, other = (PCA(rows=50, seed=seed).drawn(200) for seed in (0, 0, 1))
    assert first is not None
    np.testing.assert_array_equal(first, again)
    assert other is not None
    assert (first != other).any()
    assert PCA(rows=200).drawn(200) is None
    np.testing.assert_array_equal(PCA(rows=500).basis([PHI], 8).weight, PCA().basis([PHI], 8).weight)


def test_rows_drawn_have_moments_of_their_own_and_read_nothing_else(tmp_path: Path) -> None:
    store, train = ArtifactStore(tmp_path), training_rows()
    backbone = create("tinyconv", train.inputs)
    freezer = PCA(p=0.5, rows=30)
    kept = freeze(freezer, backbone, train, store)
    freeze(PCA(p=0.5), backbone, train, store)
    assert store.made == {"features": 1, "moments": 2, "basis": 2}
    streamed = freeze(freezer, backbone, train, ArtifactStore(tmp_path / "other"), reuse=False)
    np.testing.assert_allclose(np.abs(kept.weight), np.abs(streamed.weight), atol=1e-3)


def test_all_rows_leave_the_key_of_a_basis_as_it_was() -> None:
    assert PCA().basis_identity() == {"name": "pca", "variant": "paper", "seed": 0}
    assert PCA(rows=9).basis_identity() == {"name": "pca", "variant": "paper", "seed": 0, "rows": 9}


@pytest.mark.parametrize("freezer", [PCA(), OffDiagonal(), RandomProjection()])
def test_features_of_which_none_varies_are_refused(freezer: PCA | OffDiagonal | RandomProjection) -> None:
    with pytest.raises(FttError, match="no feature varies") as caught:
        freezer.basis([np.full((20, 4), 0.5, dtype=np.float32)], 4)
    assert "4 features" in str(caught.value.given)


def test_features_that_never_fire_are_the_last_directions() -> None:
    dead = PHI.copy()
    dead[:, 0] = 0
    basis = ftt.PCA().basis([dead], 8)
    assert basis.variance[-1] == pytest.approx(0, abs=1e-9)
    assert abs(basis.weight[0, -1]) == pytest.approx(1)
