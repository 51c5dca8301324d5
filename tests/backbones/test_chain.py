"""Layers as one node of autograd give what they give apart, to the bit; and only what is trained goes that way."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck

from ftt import compiled
from ftt.backbones import chain, efficientnet_lite, inverted_residual
from ftt.backbones.chain import chained
from ftt.backbones.depthwise import Depthwise
from ftt.backbones.efficientnet_lite import Norm
from ftt.backbones.fast_layers import ReLU6
from ftt.backbones.inverted_residual import InvertedResidual
from ftt.backbones.lite0 import Lite0
from ftt.backbones.normalized import Normalized
from ftt.backbones.pointwise import Pointwise
from ftt.backbones.torchvision_guard import ensure_torchvision_imports
from ftt.threads import limited_to

CL = torch.channels_last


def block(c: int = 4, stride: int = 1, dtype: torch.dtype = torch.float32) -> InvertedResidual:
    torch.manual_seed(0)
    wide = 6 * c
    middle = Depthwise(wide, wide, 5, stride, 2, groups=wide, bias=False)
    made = InvertedResidual(
        conv_pw=Pointwise(c, wide, 1, bias=False),
        bn1=Norm(wide, ReLU6(inplace=True)),
        conv_dw=middle,
        bn2=Norm(wide, ReLU6(inplace=True)),
        conv_pwl=Pointwise(wide, c, 1, bias=False),
        bn3=Norm(c),
        has_skip=stride == 1,
    )
    for norm in (made.bn1, made.bn2, made.bn3):
        assert isinstance(norm, nn.BatchNorm2d)
        nn.init.normal_(norm.weight, 2, 0.5)
        nn.init.normal_(norm.bias, 3, 2)
    return made.to(dtype).train()


def maps(n: int, c: int, height: int, width: int, dtype: torch.dtype = torch.float32) -> Tensor:
    x = torch.randn(n, c, height, width, generator=torch.Generator().manual_seed(1), dtype=dtype)
    return x.contiguous(memory_format=CL)


def everything(layer: nn.Module, x: Tensor) -> dict[str, Tensor]:
    """Output, gradients and statistics of a copy of a layer."""
    layer, x = copy.deepcopy(layer), x.clone(memory_format=torch.preserve_format).requires_grad_()
    out = layer(x)
    weights = dict(layer.named_parameters())
    way = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
    loss = (out * (way.contiguous(memory_format=CL) if out.ndim == 4 else way)).sum()
    gradients = torch.autograd.grad(loss, [x, *weights.values()])
    return {"out": out, **dict(zip(("x", *weights), gradients, strict=True)), **dict(layer.named_buffers())}


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("size", [(3, 1), (4, 2), (9, 7)])
@pytest.mark.usefixtures("without_kernels")
def test_a_block_in_one_node_has_the_bits_of_its_layers(
    stride: int, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, x = block(stride=stride), maps(3, 4, *size)
    monkeypatch.setattr(inverted_residual, "worthwhile", lambda x: False)
    together = everything(layer, x)
    assert "Chain" in type(copy.deepcopy(layer)(x).grad_fn).__name__
    monkeypatch.setattr(inverted_residual, "is_trained", lambda *_: False)
    apart = everything(layer, x)
    assert "Chain" not in type(copy.deepcopy(layer)(x).grad_fn).__name__
    for name, expected in apart.items():
        assert torch.equal(together[name], expected), name


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("wide", [False, True])
def test_with_the_kernels_a_block_computes_what_its_layers_compute(
    stride: int, wide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer, x = block(stride=stride, dtype=torch.float64), maps(3, 4, 9, 7, torch.float64)
    monkeypatch.setattr(inverted_residual, "worthwhile", lambda x: wide)
    with limited_to(1):
        together = everything(layer, x)
    monkeypatch.setattr(inverted_residual, "is_trained", lambda *_: False)
    monkeypatch.setattr(compiled, "library", lambda precision: None)
    for name, expected in everything(layer, x).items():
        torch.testing.assert_close(together[name], expected, msg=name)


@pytest.mark.parametrize("kernels", [False, True])
def test_gradients_are_those_of_finite_differences(kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not kernels:
        monkeypatch.setattr(compiled, "library", lambda precision: None)
    layer = block(4, dtype=torch.float64)
    inputs = (maps(3, 4, 3, 2, torch.float64).requires_grad_(), *layer.parameters())
    with limited_to(1):
        assert gradcheck(lambda x, *_: layer(x), inputs)
    assert gradgradcheck(lambda x, *_: layer(x), inputs, fast_mode=True)


def test_a_graph_that_is_retained_can_be_used_again_and_another_one_cannot() -> None:
    layer, x = block(), maps(3, 4, 4, 2)
    out = layer(x).square().sum()
    weights = list(layer.parameters())
    first, second = (torch.autograd.grad(out, weights, retain_graph=again) for again in (True, False))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(out, weights)


class Watched(Normalized):
    """A link that notes, when its gradients are asked for, which of the maps that links have kept are still there."""

    kept: ClassVar[list[weakref.ref[Tensor]]] = []
    alive: ClassVar[list[list[bool]]] = []

    def forward(self, x: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        out, kept = super().forward(x)
        self.kept.append(weakref.ref(kept[0]))
        return out, kept

    def backward(
        self, grad: Tensor, x: Tensor, kept: list[Tensor], *, of_input: bool, writable: bool
    ) -> tuple[Tensor | None, Sequence[Tensor]]:
        self.alive.append([reference() is not None for reference in self.kept])
        return super().backward(grad, x, kept, of_input=of_input, writable=writable)


@pytest.mark.parametrize("retained", [False, True])
def test_what_a_link_has_used_is_freed_before_the_next_one_is_asked(retained: bool) -> None:
    Watched.kept.clear()
    Watched.alive.clear()
    x = maps(3, 4, 4, 2).requires_grad_()
    links = [Watched(Pointwise(c, 6, 1, bias=False), Norm(6), clips=True) for c in (4, 6)]
    torch.autograd.grad(chained(x, links).sum(), x, retain_graph=retained)
    assert Watched.alive == [[True, True], [True, retained]]


def test_the_gradient_that_a_chain_is_given_is_left_as_it_is() -> None:
    convolution, norm = Pointwise(4, 6, 1, bias=False), Norm(6)
    out = chained(maps(3, 4, 4, 2).requires_grad_(), [Normalized(convolution, norm, clips=True)])
    grad = torch.ones_like(out)
    out.backward(grad)  # type: ignore[no-untyped-call]
    assert (grad == 1).all()
    assert (out.detach() == 0).any()


def test_images_that_need_no_gradient_get_none() -> None:
    layer, x = block(), maps(3, 4, 4, 2)
    layer(x).sum().backward()
    assert x.grad is None
    assert all(weight.grad is not None for weight in layer.parameters())


@pytest.fixture(scope="module")
def lite0() -> Lite0:
    return Lite0()


@pytest.mark.usefixtures("without_kernels")
def test_a_network_has_the_bits_of_its_layers(lite0: Lite0, monkeypatch: pytest.MonkeyPatch) -> None:
    x = maps(8, 3, 64, 32)
    monkeypatch.setattr(inverted_residual, "worthwhile", lambda x: False)
    together = everything(lite0.train(), x)
    for module in (inverted_residual, efficientnet_lite):
        monkeypatch.setattr(module, "is_trained", lambda *_: False)
    for name, expected in everything(lite0.train(), x).items():
        assert torch.equal(together[name], expected), name


def _fixed_norms(backbone: Lite0) -> None:
    for module in backbone.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.eval()


@pytest.mark.parametrize(
    "change", [_fixed_norms, lambda b: b.requires_grad_(False), lambda b: b.to(memory_format=torch.contiguous_format)]
)
def test_only_what_is_trained_goes_the_new_way(
    lite0: Lite0, change: Callable[[Lite0], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    backbone = copy.deepcopy(lite0).train()
    change(backbone)
    monkeypatch.setattr(chain._Chain, "apply", lambda *_: pytest.fail("went the new way"))
    x = maps(8, 3, 64, 32)
    if next(backbone.net.conv_stem.parameters()).is_contiguous():
        x = x.contiguous()
    assert backbone(x).shape == (8, 1280)


def test_a_block_that_does_something_else_is_left_alone() -> None:
    ensure_torchvision_imports()
    from timm.models._efficientnet_blocks import InvertedResidual as Theirs
    from timm.models._efficientnet_blocks import SqueezeExcite

    made = Theirs(4, 4, exp_ratio=6, act_layer=nn.ReLU6)
    assert InvertedResidual.suits(made)
    made.bn1.momentum = None
    assert not InvertedResidual.suits(made)
    assert not InvertedResidual.suits(Theirs(4, 4, exp_ratio=6, act_layer=nn.SiLU))
    assert not InvertedResidual.suits(Theirs(4, 4, exp_ratio=6, act_layer=nn.ReLU6, se_layer=SqueezeExcite))
    assert not InvertedResidual.suits(Theirs(4, 4, exp_ratio=6, act_layer=nn.ReLU6, drop_path_rate=0.1))
