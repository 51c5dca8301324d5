"""Widening, BatchNorm and ReLU6 as one layer give what the three layers give, gradients and statistics included."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import cross_entropy

from ftt import onednn
from ftt.backbones import products
from ftt.backbones.chain import chained
from ftt.backbones.expansion import Widened
from ftt.backbones.inverted_residual import InvertedResidual
from ftt.backbones.lite0 import Lite0
from ftt.backbones.pointwise import Pointwise


def layers(c: int, wide: int, dtype: torch.dtype) -> tuple[Pointwise, nn.BatchNorm2d]:
    torch.manual_seed(0)
    convolution, norm = Pointwise(c, wide, 1, bias=False), nn.BatchNorm2d(wide)
    nn.init.normal_(norm.weight, 1, 0.5)
    nn.init.normal_(norm.bias, 1, 1)
    return convolution.to(dtype), norm.to(dtype)


def maps(n: int, c: int, height: int, width: int, dtype: torch.dtype, mean: float = 0.0) -> Tensor:
    x = torch.randn(n, c, height, width, generator=torch.Generator().manual_seed(1), dtype=dtype) + mean
    return x.contiguous(memory_format=torch.channels_last)


Way = Callable[[Tensor, Pointwise, nn.BatchNorm2d], Tensor]


def expand(x: Tensor, convolution: Pointwise, norm: nn.BatchNorm2d) -> Tensor:
    return chained(x, [Widened(convolution, norm)])


def in_three_layers(x: Tensor, convolution: Pointwise, norm: nn.BatchNorm2d) -> Tensor:
    return nn.functional.relu6(norm(convolution(x)))


def everything(way: Way, x: Tensor, convolution: Pointwise, norm: nn.BatchNorm2d) -> dict[str, Tensor]:
    """Outputs, running statistics and all gradients of a way through copies of the layers."""
    convolution, norm, x = copy.deepcopy(convolution), copy.deepcopy(norm), x.detach().clone().requires_grad_()
    out = way(x, convolution, norm)
    out.backward(torch.randn(out.shape, generator=torch.Generator().manual_seed(2), dtype=out.dtype))  # type: ignore[no-untyped-call]
    trained = {"x": x, "W": convolution.weight, "gamma": norm.weight, "beta": norm.bias}
    gradients = {name: tensor.grad for name, tensor in trained.items() if tensor.grad is not None}
    assert gradients.keys() == trained.keys()
    return {"out": out.detach(), **gradients, **dict(norm.named_buffers())}


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 4), c=st.integers(1, 6), wide=st.integers(1, 9), height=st.integers(2, 5), width=st.integers(1, 4)
)
def test_one_layer_is_three_layers(n: int, c: int, wide: int, height: int, width: int) -> None:
    convolution, norm = layers(c, wide, torch.float64)
    x = maps(n, c, height, width, torch.float64)
    ours, theirs = (everything(way, x, convolution, norm) for way in (expand, in_three_layers))
    for name, expected in theirs.items():
        torch.testing.assert_close(ours[name], expected, rtol=1e-9, atol=1e-9, msg=name)


def test_blocks_of_rows_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    convolution, norm = layers(3, 8, torch.float64)
    x = maps(4, 3, 5, 3, torch.float64)
    whole = everything(expand, x, convolution, norm)
    monkeypatch.setitem(products.BLOCK, "torch", 56)  # Seven rows, so that the last block of 60 is smaller.
    for name, value in everything(expand, x, convolution, norm).items():
        torch.testing.assert_close(value, whole[name], msg=name)


def test_gradients_are_those_of_finite_differences() -> None:
    convolution, norm = layers(3, 5, torch.float64)
    x = maps(2, 3, 3, 2, torch.float64).requires_grad_()
    inputs = (x, convolution.weight, norm.weight, norm.bias)
    assert gradcheck(lambda x, *_: expand(x, convolution, norm), inputs)
    assert gradgradcheck(lambda x, *_: expand(x, convolution, norm), inputs, fast_mode=True)


@pytest.mark.parametrize("library", ["torch", "oneDNN"])
@pytest.mark.parametrize("mean", [0.0, 30.0])
def test_rounding_is_no_worse_than_in_three_layers(mean: float, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where the mean of the narrow map is much larger than its spread."""
    monkeypatch.setattr(onednn, "preferred", lambda: library == "oneDNN")
    monkeypatch.setitem(products.BLOCK, "oneDNN", 1 << 18)  # Several blocks, the last of which is smaller.
    convolution, norm = layers(16, 96, torch.float32)
    x = maps(16, 16, 32, 16, torch.float32, mean)
    ours, theirs = (everything(way, x, convolution, norm) for way in (expand, in_three_layers))
    exact = everything(in_three_layers, x.double(), convolution.double(), norm.double())
    for name in ("out", "x", "W", "gamma", "beta", "running_mean", "running_var"):
        scale = exact[name].norm()
        assert (ours[name] - exact[name]).norm() / scale <= 2 * (theirs[name] - exact[name]).norm() / scale + 1e-6, name


@pytest.fixture(scope="module")
def lite0() -> Lite0:
    return Lite0()


def plain(backbone: Lite0) -> Lite0:
    made = backbone.exportable()
    assert not any(isinstance(module, InvertedResidual) for module in made.modules())
    return made


def gradients(backbone: Lite0) -> tuple[Tensor, Tensor]:
    x = maps(8, 3, 64, 32, torch.float64)
    loss = cross_entropy(backbone(x)[:, :2], torch.arange(8) % 2)
    loss.backward()  # type: ignore[no-untyped-call]
    every = torch.cat([p.grad.flatten() for p in backbone.parameters() if p.grad is not None])
    return every, torch.cat([b.double().flatten() for b in backbone.buffers()])


def test_a_network_has_the_gradients_and_statistics_of_timms(lite0: Lite0, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    forward = Widened.forward

    def counted(link: Widened, x: Tensor) -> Any:
        taken.append(x.shape[1])
        return forward(link, x)

    monkeypatch.setattr(Widened, "forward", counted)
    theirs = gradients(plain(lite0).double().train())
    assert taken == []
    ours = gradients(copy.deepcopy(lite0).double().train())
    assert taken == [16, 24, 24]
    for got, expected in zip(ours, theirs, strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-8, atol=1e-10)
