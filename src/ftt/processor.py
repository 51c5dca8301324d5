"""What the processor is, for what libraries decide by its maker."""

from __future__ import annotations

from pathlib import Path


def description() -> str:
    """What the system says about the first processor; nothing where it is not Linux."""
    try:
        return Path("/proc/cpuinfo").read_text(errors="replace").partition("\n\n")[0]
    except OSError:
        return ""


def outruns_blas() -> bool:
    """Whether BLAS runs at half the processor's speed.

    MKL, with which torch multiplies, uses AVX-512 on Intel's processors only, and OpenBLAS, with which NumPy does, on
    those that it knows.
    """
    said = description()
    return "avx512f" in said and "GenuineIntel" not in said
