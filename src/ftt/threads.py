"""One number of threads for torch, BLAS and OpenMP together.

OpenBLAS collapses when many small solves each ask for every core of a busy machine, so the number is set once,
for all pools, around the work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def available() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Run the block with `count` threads in every pool, and put the old numbers back afterwards."""
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else None
    with threadpool_limits(limits=count):
        if torch is not None:
            torch.set_num_threads(count)
        try:
            yield
        finally:
            if torch is not None and before is not None:
                torch.set_num_threads(before)
