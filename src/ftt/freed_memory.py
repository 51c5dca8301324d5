"""Let a process reuse the memory of large tensors it has freed, which makes training on a CPU faster."""

from __future__ import annotations

import ctypes
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3


def reuse_freed_memory() -> bool:
    """Keep freed memory in the process instead of returning it to the system; whether that was possible.

    glibc maps blocks over 32 MB anew at every allocation, and the system fills them with zeros page by page: at 96×96
    pixels, a third of a training step of EfficientNet-Lite0. Results keep their bits. The memory of a process stays at
    its peak, which was 2 to 14 % higher in measurements. Only where the C library is glibc; it applies to the whole
    process and cannot be undone, so call it in processes that train.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_MMAP_THRESHOLD, 1 << 30)) and bool(mallopt(_TRIM_THRESHOLD, (1 << 31) - 1))
