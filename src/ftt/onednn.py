"""Matrix products of float32 by oneDNN, which comes with torch, on processors where BLAS runs at half their speed.

oneDNN goes by what the processor can do and not by who made it. It also adds and clips as it goes.

The choice depends on the processor alone, never on timings taken while running: what is resumed must be computed
exactly as what was not interrupted.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from ftt import processor
from ftt.arrays import FloatArray

if TYPE_CHECKING:
    from torch import Tensor

Clip = tuple[str, list[float]]
"""An activation in the words of oneDNN: its name and its numbers."""

NONE: Clip = ("none", [])
RELU6: Clip = ("hardtanh", [0.0, 6.0])


@functools.cache
def preferred() -> bool:
    """Whether oneDNN is the faster one on this processor, and can be asked to multiply by this torch."""
    if not processor.outruns_blas():
        return False
    import torch  # Not before: where BLAS is as fast, probing needs no torch.

    # Kernels may be held to older instructions so that all machines compute alike.
    return torch.backends.cpu.get_cpu_capability() == "AVX512" and _works()


def _works() -> bool:
    import torch

    x = torch.linspace(-20, 20, 32).view(8, 4)
    try:
        found = linear(x, torch.eye(4), None, RELU6)
    except (AttributeError, RuntimeError):
        return False
    return torch.equal(found, x.clamp(0, 6))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, clip: Clip = NONE) -> Tensor:
    """clip(x Wᵀ + b) without gradients; the operation is one that ``torch.compile`` uses."""
    import torch

    out: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, *clip, "")
    return out


def multiply(x: FloatArray, y: FloatArray) -> FloatArray:
    """x yᵀ of arrays in float32, which torch must be allowed to write to."""
    import torch

    # Rows of the second factor with gaps between them would be multiplied a hundred times slower.
    second = torch.from_numpy(y if y.flags.forc else np.ascontiguousarray(y))
    found: FloatArray = linear(torch.from_numpy(x), second).numpy()
    return found
