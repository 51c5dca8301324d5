"""Wide maps that are made a few images at a time: features of the whole batch, and inner layers seen whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from ftt.backbones.folding import folded
from ftt.backbones.lite0 import Lite0
from ftt.backbones.pieces import CACHED, at_once, in_pieces
from ftt.backbones.stages import Stages, find_stages

QUARTER = CACHED // 4 // 4
"""Numbers of a map of which four are made at once, in single precision."""


def lengths(x: Tensor, widest: int) -> list[int]:
    seen = []

    def layers(piece: Tensor) -> Tensor:
        seen.append(len(piece))
        return 2 * piece

    assert torch.equal(in_pieces(layers, x, widest, ()), 2 * x)
    return seen


def test_as_many_images_are_taken_as_fit_into_the_cache() -> None:
    x = torch.randn(10, 3, 2, 2)
    with torch.inference_mode():
        assert lengths(x, QUARTER) == [4, 4, 2]
        assert lengths(x[:4], QUARTER) == [4]
        assert lengths(x, 100 * QUARTER) == [1] * 10
        assert lengths(x.double(), QUARTER) == [2] * 5
        with at_once():
            assert lengths(x, QUARTER) == [10]
    assert lengths(x, QUARTER) == [10]


@pytest.fixture(scope="module")
def lite0() -> Lite0:
    return Lite0().eval()


@pytest.fixture(scope="module")
def images(lite0: Lite0) -> Tensor:
    """So many that stem and several blocks are divided."""
    return lite0.prepare(np.random.default_rng(0).integers(0, 256, (75, 64, 64, 3), dtype=np.uint8))


@pytest.mark.parametrize("fold", [False, True])
def test_features_do_not_depend_on_pieces(lite0: Lite0, images: Tensor, fold: bool) -> None:
    network = folded(lite0, images) if fold else lite0
    with torch.inference_mode():
        divided = network(images)
        with at_once():
            torch.testing.assert_close(divided, network(images), rtol=1e-5, atol=1e-5)


def test_norms_that_learn_see_the_whole_batch(images: Tensor) -> None:
    learning, whole = Lite0().train(), Lite0().train()
    with torch.no_grad():
        features = learning(images)
        with at_once():
            torch.testing.assert_close(features, whole(images), rtol=0, atol=0)
    for name, statistic in learning.named_buffers():
        torch.testing.assert_close(statistic, whole.get_buffer(name), rtol=0, atol=0)


def test_inner_layers_are_seen_whole(lite0: Lite0, images: Tensor) -> None:
    stages = Stages(lite0, find_stages(lite0, images[:1]))
    with torch.inference_mode():
        one_by_one = torch.cat([stages(image.unsqueeze(0)) for image in images])
        torch.testing.assert_close(stages(images), one_by_one, rtol=1e-4, atol=1e-4)
