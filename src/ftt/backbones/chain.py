"""Layers one after another as one node of autograd, for training on a CPU.

Layers of a small map cost more in bookkeeping than in arithmetic: modules that call modules, nodes of autograd in
Python, views from maps to rows and back. A chain of links has one node. Gradients between its links belong to nobody
else, so a link may write into the one it is given. What a link has used is freed before the next one is asked, so that
memory that is still in the cache is used again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor, nn


class Link(Protocol):
    """Something that computes a map from another one, and its gradients. Maps are in channels_last."""

    def parameters(self) -> Sequence[Tensor]:
        """What is trained."""

    def forward(self, x: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
        """The new map, and what its gradients need besides x and the parameters."""

    def backward(
        self, grad: Tensor, x: Tensor, kept: list[Tensor], *, of_input: bool, writable: bool
    ) -> tuple[Tensor | None, Sequence[Tensor]]:
        """The gradients with respect to x, if it is wanted, and to the parameters.

        It may write into grad if that is `writable`. It empties `kept`, so that what is used up is freed.
        """

    def differentiable(self, x: Tensor) -> Tensor:
        """The new map, made of what autograd knows: for gradients of gradients."""


def is_trained(x: Tensor, *norms: nn.Module) -> bool:
    """Whether layers with these norms are trained on a CPU, in one dtype and channels_last, on batch statistics."""
    # In a folded copy of a network, other layers take the places of the norms.
    if not all(isinstance(norm, nn.BatchNorm2d) and norm.training for norm in norms):
        return False
    weights = [weight for norm in norms if isinstance(weight := norm.weight, Tensor)]
    return (
        torch.is_grad_enabled()
        and all(weight.requires_grad and weight.dtype == x.dtype for weight in weights)
        and x.device.type == "cpu"
        and x.is_contiguous(memory_format=torch.channels_last)
        and not torch.is_autocast_enabled("cpu")
    )


def chained(x: Tensor, links: Sequence[Link], *, skip: bool = False) -> Tensor:
    """The map after all links, to which x is added if `skip`."""
    parameters = [tensor for link in links for tensor in link.parameters()]
    out: Tensor = _Chain.apply(links, skip, x, *parameters)  # type: ignore[no-untyped-call]
    return out


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, links: Sequence[Link], skip: bool, x: Tensor, *parameters: Tensor) -> Tensor:
        maps, kept = [x], []
        for link in links:
            out, needed = link.forward(maps[-1])
            maps.append(out)
            kept.append(needed)
        out = maps.pop()
        # Parameters are saved so that autograd notices if one is changed before its gradient is asked for.
        ctx.save_for_backward(*maps, *(tensor for needed in kept for tensor in needed), *parameters)
        ctx.links, ctx.skip, ctx.sizes = links, skip, [len(needed) for needed in kept]
        return out.add_(x) if skip else out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        links, (given,), saved = ctx.links, grads, list(ctx.saved_tensors)
        wanted = ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():
            return None, None, *_again(links, ctx.skip, saved[0], given, wanted)
        # Unless the graph is retained, the references of autograd end here, and those below as soon as they are used.
        ctx.maybe_clear_saved_tensors()
        maps, rest = saved[: len(links)], iter(saved[len(links) :])
        kept = [[next(rest) for _ in range(size)] for size in ctx.sizes]
        del saved, rest
        grad: Tensor | None = given
        found: list[Tensor | None] = []
        for number in reversed(range(len(links))):
            assert grad is not None
            of_input, writable = number > 0 or wanted[0], number < len(links) - 1
            grad, own = links[number].backward(grad, maps.pop(), kept.pop(), of_input=of_input, writable=writable)
            found[:0] = own
        if ctx.skip and grad is not None:
            grad += given
        return None, None, grad, *found


def _again(links: Sequence[Link], skip: bool, x: Tensor, grad: Tensor, wanted: Sequence[bool]) -> list[Tensor | None]:
    """The gradients, themselves with gradients."""
    out = x
    for link in links:
        out = link.differentiable(out)
    given = [x, *(tensor for link in links for tensor in link.parameters())]
    asked = [tensor for tensor, needed in zip(given, wanted, strict=True) if needed]
    found = iter(torch.autograd.grad(out + x if skip else out, asked, grad, create_graph=True))
    return [next(found) if needed else None for needed in wanted]
