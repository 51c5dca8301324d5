"""Products by oneDNN are torch's products, gradients included."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from ftt import onednn
from ftt.backbones import products
from ftt.backbones.fast_layers import Linear
from ftt.backbones.pointwise import Pointwise


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "preferred", lambda: True)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def assert_close(got: Tensor, exact: Tensor) -> None:
    assert got.shape == exact.shape
    difference, size = (got - exact).detach().norm(), exact.detach().norm()
    assert float(difference) <= 1e-5 * float(size) + 1e-6


SIZES = {"n": st.integers(1, 40), "c": st.integers(1, 9), "m": st.integers(1, 9)}


@settings(max_examples=50, deadline=None)
@given(**SIZES, tall=st.integers(1, 40))
def test_products_are_those_of_double_precision(n: int, c: int, m: int, tall: int) -> None:
    x, weight, grad = drawn(n, c), drawn(m, c, seed=1), drawn(n, m, seed=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onednn, "preferred", lambda: True)
        patch.setattr(products, "TALL", tall)
        assert_close(products.clipped(x, weight), (x.double() @ weight.double().T).clamp(0, 6))
        assert_close(products.weight_gradient(grad, x), grad.double().T @ x.double())
        out, total = torch.empty(n, c), torch.ones(c, m)
        products.multiply_into(out, grad, weight)
        products.add_product(total, x, grad)
    assert_close(out, grad.double() @ weight.double())
    assert_close(total, 1 + x.double().T @ grad.double())


@pytest.mark.usefixtures("chosen")
@pytest.mark.parametrize("shape", [(7, 5), (2, 3, 4, 5), (1, 1, 1, 5)])
@pytest.mark.parametrize("biased", [True, False])
def test_a_layer_is_torchs_layer(shape: tuple[int, ...], biased: bool) -> None:
    torch.manual_seed(0)
    ours = Linear(5, 3, bias=biased)
    theirs = nn.Linear(5, 3, bias=biased, dtype=torch.float64)
    theirs.load_state_dict(ours.state_dict())
    found = []
    for layer, x in ((ours, drawn(*shape)), (theirs, drawn(*shape).double())):
        x.requires_grad_()
        out = layer(x)
        found.append([out, *torch.autograd.grad(out.square().sum(), [x, *layer.parameters()])])
    for got, exact in zip(*found, strict=True):
        assert_close(got, exact)
    assert "_Linear" in type(ours(drawn(*shape)).grad_fn.next_functions[0][0]).__name__


@pytest.mark.usefixtures("chosen")
def test_gradients_that_are_one_number_in_memory_are_spread_out() -> None:
    x, weight = drawn(4, 3).requires_grad_(), drawn(2, 3, seed=1).requires_grad_()
    for_x, for_weight = torch.autograd.grad(products.linear(x, weight).sum(), [x, weight])
    assert_close(for_x, weight.sum(0).expand(4, 3).double())
    assert_close(for_weight, x.sum(0).expand(2, 3).double())


@pytest.mark.usefixtures("chosen")
def test_the_gradient_of_weights_has_their_layout() -> None:
    x, weight = drawn(4, 3), drawn(3, 2).requires_grad_()
    (gradient,) = torch.autograd.grad(products.linear(x, weight.T).square().sum(), weight)
    assert gradient.is_contiguous()
    assert_close(gradient, 2 * x.T.double() @ (x.double() @ weight.double()))


@pytest.mark.usefixtures("chosen")
def test_gradients_of_gradients_are_torchs() -> None:
    found = []
    for way in (products.linear, nn.functional.linear):
        x, weight = drawn(4, 3).requires_grad_(), drawn(2, 3, seed=1).requires_grad_()
        (first,) = torch.autograd.grad(way(x, weight).pow(3).sum(), x, create_graph=True)
        found.append(torch.autograd.grad(first.square().sum(), [x, weight]))
    for got, expected in zip(*found, strict=True):
        torch.testing.assert_close(got, expected)


@pytest.mark.usefixtures("chosen")
def test_a_wide_map_is_convolved_as_a_product() -> None:
    torch.manual_seed(0)
    layer = Pointwise(4, 6, 1, bias=False)
    x = drawn(2, 4, 16, 8).contiguous(memory_format=torch.channels_last)
    out = layer(x)
    assert "Permute" in type(out.grad_fn).__name__
    assert out.is_contiguous(memory_format=torch.channels_last)
    assert_close(out, nn.functional.conv2d(x.double(), layer.weight.double()))


def test_other_types_and_mixed_precision_are_left_to_torch(chosen: None) -> None:
    assert products.by_onednn(drawn(2, 2))
    assert not products.by_onednn(drawn(2, 2), drawn(2, 2).double())
    assert not products.by_onednn(drawn(2, 2).to("meta"))
    with torch.autocast("cpu", torch.bfloat16):
        assert not products.by_onednn(drawn(2, 2))
