"""Folding changes the speed of a frozen backbone and nothing else."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

from ftt.backbones import create, extract
from ftt.backbones.backbone import Backbone, images_to_tensor
from ftt.backbones.folding import FoldedOnce, folded, fused
from ftt.data import ArrayInputs
from ftt.data.inputs import Kind

extracting = sys.modules["ftt.backbones.extract"]  # The package has a function of this name.
IMAGES = np.random.default_rng(0).integers(0, 256, (8, 64, 32, 3), dtype=np.uint8)


def norms(module: nn.Module) -> int:
    return sum(isinstance(m, nn.BatchNorm2d) for m in module.modules())


def stir(backbone: Backbone) -> None:
    """Running statistics away from their start, so that folding has something to get wrong."""
    generator = torch.Generator().manual_seed(0)
    for module in backbone.modules():
        if isinstance(module, nn.BatchNorm2d):
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.copy_(0.1 * torch.randn(module.num_features, generator=generator))
            module.running_var.copy_(0.5 + torch.rand(module.num_features, generator=generator))


@pytest.mark.parametrize("name", ["lite0", "timm-random:resnet18"])
def test_every_norm_is_folded_and_features_agree(name: str) -> None:
    backbone = create(name, ArrayInputs(IMAGES, "images")).eval()
    if name != "lite0":
        stir(backbone)
    x = backbone.prepare(IMAGES)
    fast = folded(backbone, x)
    assert norms(backbone) > 0
    assert norms(fast) == 0
    with torch.inference_mode():
        expected, got = backbone(x), fast(x)
    assert float((expected - got).abs().max() / expected.std()) < 1e-3


class NormFirst(Backbone):
    """A norm that is registered after a convolution but runs before it: the guess is wrong here."""

    accepts: ClassVar[tuple[Kind, ...]] = ("images",)
    num_features = 4
    weights_id = "norm-first"

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 3, 3)
        self.norm = nn.BatchNorm2d(3)
        self.out = nn.Conv2d(3, 4, 1)

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        return images_to_tensor(batch, (0.5,) * 3, (0.5,) * 3, smallest=16)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.convolution(self.norm(x).relu())).mean((2, 3))
        return out


def test_a_wrong_guess_is_noticed_and_not_used() -> None:
    backbone = NormFirst().eval()
    stir(backbone)
    x = backbone.prepare(IMAGES)
    safe = folded(backbone, x)
    assert norms(safe) == 1
    with torch.inference_mode():
        assert torch.equal(safe(x), backbone(x))


@pytest.mark.parametrize("name", ["lite0", "timm-random:resnet18", "tinyconv"])
def test_the_fastest_way_gives_the_same_features_of_any_number_of_rows_and_the_same_bits_each_time(name: str) -> None:
    backbone = create(name, ArrayInputs(IMAGES, "images")).eval()
    if name != "lite0":
        stir(backbone)
    x = backbone.prepare(np.concatenate([IMAGES, IMAGES[::-1]]))
    fast = fused(backbone, x[:8])
    with torch.inference_mode():
        first, again, few = fast(x), [fast(x) for _ in range(3)], fast(x[:3])
        expected = backbone(x)
    assert all(torch.equal(first, other) for other in again)
    for got, wanted in ((first, expected), (few, expected[:3])):
        assert float((wanted - got).abs().max() / wanted.std()) < 1e-3


def test_dense_convolutions_are_compiled_and_depthwise_ones_are_not() -> None:
    dense, depthwise = (create(name, ArrayInputs(IMAGES, "images")) for name in ("timm-random:resnet18", "lite0"))
    # At 64×32 the last maps are so small that they are multiplied, by an operation that TorchScript may not know.
    large = np.random.default_rng(0).integers(0, 256, (2, 96, 96, 3), dtype=np.uint8)
    assert isinstance(fused(dense, dense.prepare(large)), torch.jit.ScriptModule)
    assert isinstance(fused(depthwise, depthwise.prepare(IMAGES)), Backbone)


def test_what_cannot_be_compiled_is_used_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no tracing today")

    monkeypatch.setattr(torch.jit, "trace", refuse)
    dense = create("timm-random:resnet18", ArrayInputs(IMAGES, "images"))
    assert isinstance(fused(dense, dense.prepare(IMAGES)), Backbone)


def test_a_wrong_guess_is_not_compiled() -> None:
    backbone = NormFirst().eval()
    stir(backbone)
    assert isinstance(fused(backbone, backbone.prepare(IMAGES)), Backbone)


def test_extraction_folds_once_for_all_batches_and_leaves_the_network_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = ArrayInputs(np.concatenate([IMAGES] * 3), "images")
    backbone = create("timm-random:resnet18", inputs).train()
    stir(backbone)
    before = {name: tensor.clone() for name, tensor in backbone.state_dict().items()}
    made: list[Backbone] = []

    def counted(network: Backbone, batch: Tensor) -> Backbone:
        made.append(folded(network, batch))
        return made[-1]

    monkeypatch.setattr(extracting, "BATCH", 10)
    monkeypatch.setattr(extracting, "FoldedOnce", partial(FoldedOnce, how=counted))
    features = extract(backbone, inputs, "train").array()
    assert [norms(network) for network in made] == [0]
    assert backbone.training
    assert all(torch.equal(tensor, before[name]) for name, tensor in backbone.state_dict().items())
    with torch.inference_mode():
        expected = backbone.eval()(backbone.prepare(inputs.read(np.arange(24)))).numpy()
    assert np.abs(features - expected).max() < 1e-3 * expected.std()
