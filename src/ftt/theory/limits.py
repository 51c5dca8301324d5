"""Limits on what the theory lab accepts: each check names the cost that a request would have."""

from __future__ import annotations

import math

from ftt.errors import FttError

MAX_DIMENSION = 5_000
"""Largest d1 + d2: one eigendecomposition of H then takes about a minute."""

MAX_BYTES = 2 * 10**9
"""Largest array that is allocated."""

MAX_WORK = 2 * 10**9
"""Largest d·m², the number of multiplications in one integrator step (about a second)."""

NOISE = (1e-6, 1e6)
"""Range of the noises; their fourth powers and the ratios of these stay representable."""

MAX_SEED = 2**63 - 1
MAX_TIME = 1e15
"""Latest time; every flow of the survey has converged at 1e7."""


def need_number(name: str, value: float, low: float, high: float) -> None:
    """Raise an `FttError` unless low <= value <= high; NaN is outside every range."""
    if not low <= value <= high:
        raise FttError(f"{name} is out of range", given=_short(value), allowed=f"{low:g} <= {name} <= {high:g}")


def need_dimension(d: int, m: int = 1) -> None:
    """Raise an `FttError` unless matrices of order d = d1 + d2 and m learned features can be handled."""
    if d > MAX_DIMENSION:
        raise FttError(
            "too many input dimensions: the d × d matrix H is decomposed at O(d³) cost",
            given=f"d = d1 + d2 = {_short(d)}, {_short(8 * d * d)} bytes for H",
            allowed=f"d <= {MAX_DIMENSION}",
        )
    if d * m * m > MAX_WORK:
        raise FttError(
            "too many learned features: each integrator step costs d·m² multiplications",
            given=f"d = {d}, m = {_short(m)}",
            allowed=f"m <= {math.isqrt(MAX_WORK // d)} for this d",
        )


def need_memory(what: str, *shape: int) -> None:
    """Raise an `FttError` unless a float64 array of this shape fits the limit."""
    size = 8 * math.prod(shape)
    if size > MAX_BYTES:
        raise FttError(
            f"{what} would need too much memory",
            given=f"{' × '.join(_short(n) for n in shape)} numbers, {_short(size)} bytes",
            allowed=f"at most {MAX_BYTES / 1e9:g} GB",
        )


def need_count(name: str, count: int, high: int, cost: str) -> None:
    """Raise an `FttError` unless 1 <= count <= high; `cost` says what one unit costs."""
    if not 1 <= count <= high:
        raise FttError(f"{name} is out of range ({cost})", given=_short(count), allowed=f"1 <= {name} <= {high}")


def _short(value: int | float) -> str:
    """A number as text; integers of hundreds of digits are rounded."""
    if not isinstance(value, int):
        return f"{value:g}"
    return str(value) if abs(value) < 10**15 else f"about 10^{len(str(abs(value))) - 1}"
