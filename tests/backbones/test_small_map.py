"""Convolutions of small maps as one product give what torch's convolutions give, gradients included."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import conv2d, cross_entropy

from ftt.backbones import create, small_map
from ftt.backbones.fast_layers import use_fast_layers, use_plain_layers
from ftt.backbones.folding import folded
from ftt.backbones.small_map import SmallMapConv
from ftt.data import ArrayInputs


def maps(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)
    return x.contiguous(memory_format=torch.channels_last)


def layer(*sizes: Any, dtype: torch.dtype = torch.float64, **options: Any) -> SmallMapConv:
    torch.manual_seed(1)
    return SmallMapConv(*sizes, **options).to(dtype)


def unrolled(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the maps that are convolved as a product from now on."""
    seen = []
    convolve = small_map._convolve

    def counted(x: Tensor, *others: Any) -> Any:
        seen.append(tuple(x.shape[1:]))
        return convolve(x, *others)

    monkeypatch.setattr(small_map, "_convolve", counted)
    return seen


PAIRS = st.tuples(st.integers(1, 5), st.integers(1, 5))


@settings(max_examples=60, deadline=None)
@given(
    size=st.tuples(st.integers(1, 5), st.integers(1, 4)),
    kernel=PAIRS,
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    biased=st.booleans(),
)
def test_a_product_is_the_convolution(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int], biased: bool
) -> None:
    assume(all(n + 2 * p >= k for n, k, p in zip(size, kernel, padding, strict=True)))
    made = layer(3, 2, kernel, stride, padding, bias=biased)
    x = maps(2, 3, *size).requires_grad_()
    given_, wanted = [x, *made.parameters()], conv2d(x, made.weight, made.bias, stride, padding)
    got = small_map._Unrolled.apply(x, made.weight, made.bias, stride, padding)  # type: ignore[no-untyped-call]
    torch.testing.assert_close(got, wanted)
    ours, theirs = (torch.autograd.grad(out.square().sum(), given_) for out in (got, wanted))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("biased", [True, False])
def test_gradients_are_those_of_finite_differences(biased: bool) -> None:
    made, x = layer(2, 3, 3, 2, 1, bias=biased), maps(2, 2, 3, 2).requires_grad_()
    inputs = (x, *made.parameters())
    assert gradcheck(lambda x, *_: made(x), inputs)
    assert gradgradcheck(lambda x, *_: made(x), inputs)


@pytest.mark.parametrize(("size", "taken"), [((2, 1), True), ((4, 2), True), ((3, 3), False), ((8, 4), False)])
def test_the_size_of_the_map_decides(size: tuple[int, int], taken: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, made = unrolled(monkeypatch), layer(2, 3, 3, 1, 1, dtype=torch.float32)
    x = maps(2, 2, *size, dtype=torch.float32)
    torch.testing.assert_close(made(x), conv2d(x, made.weight, made.bias, 1, 1))
    assert bool(seen) is taken
    assert made(x).is_contiguous(memory_format=torch.channels_last)


def _in_torchs_layout(made: SmallMapConv, x: Tensor) -> Tensor:
    return x.contiguous()


def _without_training(made: SmallMapConv, x: Tensor) -> Tensor:
    made.requires_grad_(False)
    return x


@pytest.mark.parametrize("change", [_in_torchs_layout, _without_training])
def test_what_is_not_trained_here_is_left_to_torch(
    change: Callable[[SmallMapConv, Tensor], Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, made = unrolled(monkeypatch), layer(2, 3, 3, 1, 1, dtype=torch.float32)
    x = change(made, maps(2, 2, 2, 2, dtype=torch.float32))
    assert torch.equal(made(x), conv2d(x, made.weight, made.bias, 1, 1))
    assert seen == []


def test_no_matrix_larger_than_the_limit_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, made = unrolled(monkeypatch), layer(2, 3, 3, 1, 1)
    monkeypatch.setattr(small_map, "LARGEST", 2 * 3 * 2 * 2 - 1)
    made(maps(2, 2, 2, 1))
    assert seen == []


@pytest.mark.parametrize("groups", [1, 2])
def test_layers_are_replaced_and_put_back(groups: int) -> None:
    network = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1, groups=groups))
    x = torch.randn(2, 4, 2, 2)
    expected = network(x)
    use_fast_layers(network)
    assert isinstance(network[0], SmallMapConv) is (groups == 1)
    torch.testing.assert_close(network(x), expected)
    use_plain_layers(network)
    assert type(network[0]) is nn.Conv2d
    assert torch.equal(network(x), expected)


def gradient(network: nn.Module, x: Tensor) -> Tensor:
    cross_entropy(network(x)[:, :2], torch.arange(len(x)) % 2).backward()  # type: ignore[no-untyped-call]
    return torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])


@pytest.mark.slow
def test_a_resnet_has_the_gradients_of_torchs_and_its_folded_copy_the_features(monkeypatch: pytest.MonkeyPatch) -> None:
    x = maps(8, 3, 64, 32)
    backbone = create("timm-random:resnet18", ArrayInputs(x.permute(0, 2, 3, 1).numpy(), "images"))
    plain = backbone.exportable().double().train()
    seen = unrolled(monkeypatch)
    theirs = gradient(plain, x)
    assert seen == []
    ours = gradient(copy.deepcopy(backbone).double().train(), x)
    assert sorted(set(seen)) == [(256, 4, 2), (512, 2, 1)]
    torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-12)
    seen.clear()
    with torch.no_grad():
        features = backbone.eval()(x.float())
        assert seen == []
        torch.testing.assert_close(folded(backbone, x.float())(x.float()), features, rtol=1e-4, atol=1e-4)
    assert seen != []
