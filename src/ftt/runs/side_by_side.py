"""When work that is done side by side ends."""

from __future__ import annotations

import heapq
from collections.abc import Iterable


def side_by_side(seconds: Iterable[float], at_once: int) -> float:
    """When the last of several works is done, each of which is begun in order, as soon as there is room.

    Examples
    --------
    >>> side_by_side([10, 10, 30], at_once=2)
    40.0
    """
    free = [0.0] * at_once
    for duration in seconds:
        heapq.heappush(free, heapq.heappop(free) + duration)
    return max(free)
