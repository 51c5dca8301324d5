"""Features are computed once per content, whole, in order, and without touching the network's mode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ftt.backbones import create, extract
from ftt.backbones.extract import BATCH, features_key
from ftt.backbones.identity import Identity
from ftt.data import ArrayInputs
from ftt.errors import FttError
from ftt.store import ArtifactStore


def images(n: int = 5) -> ArrayInputs:
    return ArrayInputs(np.random.default_rng(0).integers(0, 256, (n, 4, 3, 1), dtype=np.uint8), "images")


def test_identity_gives_flat_pixels_between_zero_and_one() -> None:
    inputs = images()
    features = extract(create("identity", inputs), inputs, "test").array()
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, inputs.array.reshape(5, -1) / 255, rtol=1e-6)


def test_identity_leaves_features_as_they_are() -> None:
    values = np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32)
    inputs = ArrayInputs(values, "features")
    np.testing.assert_array_equal(extract(create("identity", inputs), inputs, "test"), values)


def test_features_given_to_the_identity_are_not_kept_again_and_those_of_a_layer_over_it_are(tmp_path: Path) -> None:
    inputs, store = ArrayInputs(np.eye(3, dtype=np.float32), "features"), ArtifactStore(tmp_path)
    np.testing.assert_array_equal(extract(create("identity", inputs), inputs, "test", store), np.eye(3))
    assert store.made == {}
    layer = create("mlp", inputs)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.fill_(1)
    np.testing.assert_array_equal(extract(layer, inputs, "test", store), np.eye(3) + 2 * 128)
    assert store.made == {"features": 1}


def test_more_rows_than_a_batch_come_back_in_order() -> None:
    values = np.arange(2 * BATCH + 3, dtype=np.float32)[:, None]
    inputs = ArrayInputs(values, "features")
    np.testing.assert_array_equal(extract(Identity(1), inputs, "test"), values)


def test_features_of_the_same_content_are_computed_once(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    first = extract(create("identity", images()), images(), "one", store)
    second = extract(create("identity", images()), images(), "two", store)
    np.testing.assert_array_equal(first, second)
    assert store.made == {"features": 1}


def test_key_follows_the_content_and_not_the_object() -> None:
    backbone = Identity(12)
    assert features_key(backbone, images()) == features_key(backbone, images())
    changed = images()
    changed.array[0, 0, 0, 0] ^= 1
    assert features_key(backbone, changed) != features_key(backbone, images())
    rows = np.array([2, 0])
    picked = ArrayInputs(np.ascontiguousarray(images().array[rows]), "images")
    assert features_key(backbone, images().take(rows)) == features_key(backbone, picked)


def test_network_is_in_eval_mode_while_extracting_and_in_its_own_mode_afterwards() -> None:
    seen = list[bool]()

    class Watcher(Identity):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            seen.append(self.training)
            return x

    backbone = Watcher(12)
    backbone.train()
    extract(backbone, images(), "test")
    assert seen == [False]
    assert backbone.training


def test_unknown_backbone_and_member_are_refused() -> None:
    with pytest.raises(FttError, match="did you mean 'identity'"):
        create("identiti", images())
    with pytest.raises(FttError, match="takes no argument"):
        create("lite0:b7", images())
