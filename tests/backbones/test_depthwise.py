"""Fast layers compute what torch's layers compute: the same features to the bit, gradients to rounding."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.autograd import gradcheck, gradgradcheck
from torch.nn.functional import conv2d, cross_entropy, pad

from ftt.backbones.depthwise import Depthwise, weight_gradient
from ftt.backbones.fast_layers import ReLU6, use_fast_layers
from ftt.backbones.lite0 import Lite0
from ftt.backbones.pointwise import Pointwise
from ftt.compiled.tensors import Pads

SIZES = ((64, 32), (96, 96), (128, 128))


@pytest.fixture(scope="module")
def fast() -> Lite0:
    return Lite0().eval()


@pytest.fixture(scope="module")
def plain(fast: Lite0) -> Lite0:
    """The same network with torch's and timm's own layers."""
    return fast.exportable()


def images(n: int, size: tuple[int, int], dtype: torch.dtype = torch.float32) -> Tensor:
    x = torch.randn(n, 3, *size, generator=torch.Generator().manual_seed(0), dtype=dtype)
    return x.contiguous(memory_format=torch.channels_last)


def shapes(fast: Lite0) -> Iterator[tuple[Depthwise, tuple[int, int]]]:
    """Every different depthwise layer of lite0 with the maps it gets from images of each size."""
    found = {}

    def remember(layer: nn.Module, inputs: tuple[Tensor, ...], _: Tensor) -> None:
        assert isinstance(layer, Depthwise)
        size = (inputs[0].shape[2], inputs[0].shape[3])
        found[layer.kernel_size, layer.stride, layer.same, size] = (layer, size)

    hooks = [m.register_forward_hook(remember) for m in fast.modules() if isinstance(m, Depthwise)]
    with torch.inference_mode():
        for size in SIZES:
            fast(images(1, size))
    for hook in hooks:
        hook.remove()
    return iter(found.values())


def narrow(layer: Depthwise) -> Depthwise:
    """The layer with two channels, random weights and a bias, in float64."""
    made = nn.Conv2d(2, 2, layer.kernel_size, layer.stride, layer.padding, groups=2)  # type: ignore[arg-type]
    return Depthwise.like(made.double(), layer.same)


def test_gradients_of_every_shape_in_lite0_are_right(fast: Lite0) -> None:
    torch.manual_seed(0)
    checked = 0
    for layer, size in shapes(fast):
        small = narrow(layer)
        x = torch.randn(2, 2, *size, dtype=torch.float64).contiguous(memory_format=torch.channels_last)
        assert gradcheck(lambda x, *_, small=small: small(x), (x.requires_grad_(), *small.parameters()), fast_mode=True)
        checked += 1
    assert checked > 25


@given(
    size=st.tuples(st.integers(1, 13), st.integers(1, 13)),
    kernel=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.tuples(st.integers(0, 4), st.integers(0, 4))),
    dense=st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_the_weight_gradient_is_that_of_torch_for_any_shape(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], pads: Pads, dense: bool
) -> None:
    (top, bottom), (left, right) = pads
    kernel = min(kernel[0], size[0] + top + bottom), min(kernel[1], size[1] + left + right)
    check_weight_gradient(size, kernel, stride, pads, torch.contiguous_format if dense else torch.channels_last)


@given(size=st.tuples(st.integers(1, 13), st.integers(1, 13)), kernel=st.sampled_from([3, 5]), stride=st.integers(1, 2))
@settings(max_examples=100, deadline=None)
def test_the_weight_gradient_is_that_of_torch_where_maps_keep_their_size(
    size: tuple[int, int], kernel: int, stride: int
) -> None:
    layer = Depthwise(3, 3, kernel, stride, groups=3)
    layer.same = True
    _, pads = layer.steps(torch.empty(1, 3, *size))
    check_weight_gradient(size, (kernel, kernel), (stride, stride), pads, torch.channels_last)


def check_weight_gradient(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], pads: Pads, layout: torch.memory_format
) -> None:
    (top, bottom), (left, right) = pads
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, *size, generator=generator, dtype=torch.float64).contiguous(memory_format=layout)
    weight = torch.randn(3, 1, *kernel, generator=generator, dtype=torch.float64, requires_grad=True)
    out = conv2d(pad(x, (left, right, top, bottom)), weight, None, stride, 0, 1, 3)
    grad = torch.randn(out.shape, generator=generator, dtype=torch.float64).contiguous(memory_format=layout)
    (expected,) = torch.autograd.grad(out, weight, grad)
    torch.testing.assert_close(weight_gradient(grad, x, weight.detach(), stride, pads), expected)


@pytest.mark.parametrize(("size", "stride"), [((2, 1), 1), ((6, 4), 1), ((6, 4), 2)])
def test_second_derivatives_are_right(size: tuple[int, int], stride: int) -> None:
    layer = narrow(Depthwise(2, 2, 5, stride, 2, groups=2))
    x = torch.randn(2, 2, *size, dtype=torch.float64, requires_grad=True)
    assert gradgradcheck(lambda x, *_: layer(x), (x, *layer.parameters()), fast_mode=True)


@pytest.mark.parametrize("size", SIZES)
def test_features_in_eval_mode_keep_their_bits(fast: Lite0, plain: Lite0, size: tuple[int, int]) -> None:
    with torch.inference_mode():
        assert torch.equal(fast(images(3, size)), plain(images(3, size)))


def gradients(backbone: Lite0, size: tuple[int, int]) -> dict[str, Tensor]:
    """Gradients of a training step in float64, where rounding cannot hide a mistake."""
    network = copy.deepcopy(backbone).double().train()
    cross_entropy(network(images(4, size, torch.float64)), torch.arange(4)).backward()  # type: ignore[no-untyped-call]
    return {name: p.grad for name, p in network.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("size", SIZES[:2])
def test_gradients_of_a_training_step_are_those_of_plain_layers(
    fast: Lite0, plain: Lite0, size: tuple[int, int]
) -> None:
    ours, expected = gradients(fast, size), gradients(plain, size)
    assert ours.keys() == expected.keys()
    largest = max(float(value.abs().max()) for value in expected.values())
    assert all(float((ours[name] - expected[name]).abs().max()) < 1e-10 * largest for name in ours)


def test_weights_of_either_kind_of_layer_load_into_the_other(fast: Lite0, plain: Lite0) -> None:
    ours, theirs = fast.state_dict(), plain.state_dict()
    assert [(k, v.shape) for k, v in ours.items()] == [(k, v.shape) for k, v in theirs.items()]
    copy.deepcopy(fast).load_state_dict(theirs)
    copy.deepcopy(plain).load_state_dict(ours)


def test_a_copy_shares_no_weights(fast: Lite0) -> None:
    copied = copy.deepcopy(fast)
    assert sum(isinstance(m, Depthwise) for m in copied.modules()) == 16
    with torch.no_grad():
        for p in copied.parameters():
            p.zero_()
    assert all(bool(p.abs().max() > 0) for name, p in fast.named_parameters() if "conv" in name)


def test_a_training_is_the_same_to_the_bit_when_it_is_resumed(fast: Lite0) -> None:
    def step(network: nn.Module, n: int) -> None:
        network.zero_grad()
        cross_entropy(network(images(n, (64, 32))), torch.arange(n)).backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for p in network.parameters():
                assert p.grad is not None
                p.sub_(p.grad, alpha=0.01)

    whole = copy.deepcopy(fast).train()
    step(whole, 6)
    halfway = copy.deepcopy(whole.state_dict())
    step(whole, 3)
    resumed = copy.deepcopy(fast).train()
    resumed.load_state_dict(halfway)
    step(resumed, 3)
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), resumed.parameters(), strict=True))


@pytest.mark.parametrize("layer", [Depthwise(8, 8, 5, 1, 2, groups=8), Pointwise(8, 8, 1)])
def test_channels_last_stays(layer: nn.Module) -> None:
    x = torch.randn(2, 8, 4, 3).contiguous(memory_format=torch.channels_last).requires_grad_()
    out = layer(x)
    out.square().sum().backward()
    assert x.grad is not None
    assert out.is_contiguous(memory_format=torch.channels_last)
    assert x.grad.is_contiguous(memory_format=torch.channels_last)


def test_a_pointwise_layer_is_a_convolution() -> None:
    layer = Pointwise.like(nn.Conv2d(3, 4, 1).double())
    x = torch.randn(2, 3, 4, 2, dtype=torch.float64).contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(layer(x), conv2d(x, layer.weight, layer.bias))
    assert gradcheck(lambda x, *_: layer(x), (x.requires_grad_(), *layer.parameters()))


def test_relu6_gives_the_bits_of_torch_and_keeps_no_copy_of_its_input() -> None:
    x = torch.tensor([-1.0, -0.0, 0.0, 1e-30, 3.0, 6.0, 7.0, torch.nan, torch.inf], requires_grad=True)
    grad = torch.arange(1.0, 10.0)
    out, expected = ReLU6(inplace=True)(x * 1), nn.functional.relu6(x * 1)
    (ours,), (theirs,) = (torch.autograd.grad(y, x, grad, retain_graph=True) for y in (out, expected))
    assert torch.equal(out.nan_to_num(nan=-5), expected.nan_to_num(nan=-5))
    assert torch.equal(ours, theirs)
    assert out.grad_fn.saved_tensors[0].data_ptr() == out.data_ptr()


def test_layers_with_other_options_are_left_alone() -> None:
    layers: list[nn.Module] = [
        nn.Conv2d(4, 4, 3, groups=2),
        nn.Conv2d(4, 8, 3, groups=4),
        nn.Conv2d(4, 4, 3, groups=4, dilation=2),
        nn.Conv2d(4, 4, 3, groups=4, padding="same"),
        nn.Conv2d(4, 4, 3, groups=4, padding=1, padding_mode="circular"),
        nn.Conv2d(4, 4, 1, stride=2),
        nn.ReLU6(),
    ]
    network = nn.Sequential(*layers)
    use_fast_layers(network)
    assert list(network) == layers
