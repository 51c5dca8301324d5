"""The kernels for training compute what torch computes, for every shape."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import batch_norm, conv2d, pad

from ftt import compiled
from ftt.compiled import tensors
from ftt.compiled.tensors import Pads
from ftt.threads import limited_to

pytestmark = pytest.mark.skipif(compiled.library("float64") is None, reason="installed without a C compiler")
CL = torch.channels_last
BOUNDS = [tensors.UNBOUNDED, (0.0, 6.0)]


def maps(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x.to(dtype).contiguous(memory_format=CL)


sides = st.tuples(st.integers(0, 4), st.integers(0, 4))


@given(
    size=st.tuples(st.integers(1, 14), st.integers(1, 14)),
    kernel=st.tuples(st.integers(1, 6), st.integers(1, 6)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    pads=st.tuples(sides, sides),
    channels=st.sampled_from([8, 16, 24, 56]),
)
@settings(max_examples=200, deadline=None)
def test_depthwise_convolutions_and_their_gradients_are_those_of_torch(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], pads: Pads, channels: int
) -> None:
    (top, bottom), (left, right) = pads
    assume(all(n + sum(p) >= k for n, p, k in zip(size, pads, kernel, strict=True)))
    x = maps(3, channels, *size).requires_grad_()
    weight = torch.randn(channels, 1, *kernel, dtype=torch.float64, requires_grad=True)
    out = conv2d(pad(x, (left, right, top, bottom)), weight, None, stride, 0, 1, channels)
    grad = maps(*out.shape, seed=1)
    of_x, of_weight = torch.autograd.grad(out, [x, weight], grad)
    with torch.no_grad():
        torch.testing.assert_close(tensors.depthwise(x, weight, stride, pads), out)
        torch.testing.assert_close(tensors.depthwise_input_gradient(grad, x, weight, stride, pads), of_x)
        torch.testing.assert_close(tensors.depthwise_weight_gradient(grad, x, weight, stride, pads), of_weight)


def torchs(x: Tensor, norm: dict[str, Any], grad: Tensor, bounds: tuple[float, float]) -> list[Tensor]:
    """Output, running statistics, and gradients with respect to x, scale and shift."""
    x, scale, shift = (value.detach().requires_grad_() for value in (x, norm["scale"], norm["shift"]))
    mean, variance = (value.clone() for value in norm["running"])
    out = batch_norm(x, mean, variance, scale, shift, True, norm["momentum"], norm["eps"]).clamp(*bounds)
    return [out.detach(), mean, variance, *torch.autograd.grad(out, [x, scale, shift], grad)]


def ours(x: Tensor, norm: dict[str, Any], grad: Tensor, bounds: tuple[float, float], in_place: bool) -> list[Tensor]:
    running = tuple(value.clone() for value in norm["running"])
    out, mean, precision = tensors.normalize(x, **{**norm, "running": running}, bounds=bounds)
    grad = grad.clone(memory_format=torch.preserve_format)
    found = tensors.normalize_gradient(
        grad, x, norm["scale"], norm["shift"], mean, precision, bounds, in_place=in_place
    )
    assert (found[0] is grad) is in_place
    return [out, *running, *found]


def norm_of(channels: int, dtype: torch.dtype = torch.float64) -> dict[str, Any]:
    scale, shift, mean, variance = (maps(channels, 1, 1, 1, dtype=dtype, seed=s).flatten() for s in range(2, 6))
    return {"scale": scale, "shift": shift + 2, "running": (mean, variance.abs()), "momentum": 0.1, "eps": 1e-3}


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("in_place", [False, True])
@given(
    rows=st.tuples(st.integers(1, 5), st.integers(1, 9), st.integers(2, 9)),
    channels=st.sampled_from([1, 3, 16, 70, 600]),
)
@settings(max_examples=25, deadline=None)
def test_normalizing_and_its_gradients_are_those_of_torch(
    rows: tuple[int, int, int], channels: int, bounds: tuple[float, float], in_place: bool
) -> None:
    n, height, width = rows
    x, norm, grad = maps(n, channels, height, width), norm_of(channels), maps(n, channels, height, width, seed=1)
    for found, expected in zip(ours(x, norm, grad, bounds, in_place), torchs(x, norm, grad, bounds), strict=True):
        torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_in_single_precision_normalizing_is_as_exact_as_torch_or_more(offset: float) -> None:
    x, grad = maps(64, 32, 16, 8) + offset, maps(64, 32, 16, 8, seed=1)
    exact = torchs(x, norm_of(32), grad, (0, 6))

    def errors(found: list[Tensor]) -> Tensor:
        return torch.stack([(a.double() - b).abs().max() / b.abs().max() for a, b in zip(found, exact, strict=True)])

    single, norm = (x.float(), norm_of(32, torch.float32))
    kernel, library = (
        errors(way(single, norm, grad.float(), (0.0, 6.0), *more)) for way, more in ((ours, (False,)), (torchs, ()))
    )
    assert (kernel <= 1.5 * library + 1e-6).all(), (kernel, library)


def test_what_is_not_a_number_stays_so() -> None:
    """A training that diverges must be noticed, not clipped."""
    x = maps(4, 16, 2, 2)
    x[0, 3, 0, 0] = torch.nan
    out = tensors.normalize(x, **norm_of(16), bounds=(0, 6))[0]
    assert out[:, 3].isnan().all()
    assert out[:, 4].isfinite().all()


def test_the_kernels_are_used_for_maps_in_channels_last_and_by_one_thread_only() -> None:
    x = maps(2, 16, 3, 3)
    with limited_to(1):
        assert not tensors.usable(x), "autograd records here"
    with limited_to(1), torch.no_grad():
        assert tensors.usable(x)
        assert tensors.convolvable(x)
        assert not tensors.convolvable(maps(2, 12, 3, 3))
        assert not tensors.usable(x, x.float())
        assert not tensors.usable(x.contiguous())
        assert not tensors.usable(x.to(torch.bfloat16))
        with torch.autocast("cpu"):
            assert not tensors.usable(x)
    with limited_to(2), torch.no_grad():
        assert not tensors.usable(x)
