"""Let timm be imported when torchvision is a CUDA build beside a CPU build of torch.

Importing such a torchvision fails with ``operator torchvision::nms does not exist``: it registers a fake kernel for
operators its own binary could not load. Declaring the two operators first lets the import succeed; they are object
detection operators that no classifier calls.
"""

from __future__ import annotations

import sys

import torch

_library: torch.library.Library | None = None


def ensure_torchvision_imports() -> bool:
    """Declare the missing operators once; True when they had to be declared (the two builds do not match)."""
    global _library
    if _library is None and not _has("nms"):
        try:
            import torchvision  # noqa: F401
        except RuntimeError:
            # What the failed import left behind would fail the second one too.
            for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
                del sys.modules[name]
            _declare()
        except ImportError:
            return False
    return _library is not None


def _has(name: str) -> bool:
    return hasattr(torch.ops.torchvision, name)


def _declare() -> None:
    global _library
    _library = torch.library.Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        if not _has(name):
            _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")  # type: ignore[no-untyped-call]
