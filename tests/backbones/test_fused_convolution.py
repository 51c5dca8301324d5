"""A convolution that clips as it goes computes what convolution and activation do one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

from ftt.backbones import fused_convolution
from ftt.backbones.depthwise import Depthwise
from ftt.backbones.efficientnet_lite import SameConv
from ftt.backbones.fast_layers import ReLU6
from ftt.backbones.fused_convolution import FusedConvolution, available
from ftt.backbones.pointwise import Pointwise

Layer = Callable[[], nn.Conv2d]


def same(channels: int, kernel: int) -> Depthwise:
    layer = Depthwise(channels, channels, kernel, 2, kernel // 2, groups=channels)
    layer.same = True
    return layer


LAYERS: dict[str, Layer] = {
    "dense": lambda: nn.Conv2d(8, 12, 3, stride=2, padding=1),
    "dilated": lambda: nn.Conv2d(8, 12, 3, padding=2, dilation=2),
    "SAME": lambda: SameConv(8, 12, 3, stride=2),
    "depthwise": lambda: Depthwise(8, 8, 5, padding=2, groups=8),
    "depthwise, SAME": lambda: same(8, 5),
    "1×1": lambda: Pointwise(8, 12, 1),
}
SIZES = {"even": (16, 8), "odd": (13, 9), "small": (4, 2)}


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def maps(height: int, width: int) -> Tensor:
    return (4 * torch.randn(5, 8, height, width)).contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("activation", [ReLU6(inplace=True), nn.ReLU(inplace=True), nn.Identity()], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_the_output_is_that_of_both_layers_and_keeps_its_layout(name: str, activation: nn.Module, size: str) -> None:
    layer = LAYERS[name]()
    assert FusedConvolution.suits(layer, activation)
    x = maps(*SIZES[size])
    before = x.clone()
    with torch.inference_mode():
        expected, got = activation(layer(x)), FusedConvolution(layer, activation)(x)
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-5)
    assert got.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(x, before)


def test_gradients_and_double_precision_take_the_layers_as_they_are() -> None:
    layer, x = LAYERS["dense"](), maps(16, 8)
    fused = FusedConvolution(layer, nn.ReLU())
    torch.testing.assert_close(fused(x.requires_grad_()), layer(x).relu(), rtol=0, atol=0)
    (gradient,) = torch.autograd.grad(fused(x).sum(), x)
    assert torch.isfinite(gradient).all()
    with torch.inference_mode():
        assert fused.double()(x.double()).dtype == torch.float64


class Padded(nn.Conv2d):
    """What a subclass changes is unknown."""


@pytest.mark.parametrize(
    ("layer", "activation"),
    [
        (Padded(8, 8, 3), nn.ReLU()),
        (nn.Conv2d(8, 8, 3), nn.SiLU()),
        (nn.Conv2d(8, 8, 3, padding=1, padding_mode="reflect"), nn.ReLU()),
        (nn.Conv2d(8, 8, 3, padding="same"), nn.ReLU()),
    ],
    ids=["subclass", "SiLU", "reflect", "same"],
)
def test_what_it_does_not_know_is_left_alone(layer: nn.Conv2d, activation: nn.Module) -> None:
    assert not FusedConvolution.suits(layer, activation)


def test_a_torch_without_the_operation_or_with_a_wrong_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> Tensor:
        raise AttributeError("no such operation")

    assert available()
    for broken in (missing, lambda x, *_: 2 * x):
        monkeypatch.setattr(fused_convolution, "_convolved", broken)
        assert not available.__wrapped__()


def test_asking_draws_no_random_numbers() -> None:
    state = torch.get_rng_state()
    available.__wrapped__()
    assert torch.equal(torch.get_rng_state(), state)
