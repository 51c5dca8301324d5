"""One BLAS thread around many small solves."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes longer than a small flow


def single_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread: the matrices are small, and on a busy machine more threads only wait for each other."""
    limit: AbstractContextManager[object] = _pools().limit(limits=1)
    return limit
