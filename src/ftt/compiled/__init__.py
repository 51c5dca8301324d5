"""Kernels in C for what torch and NumPy do far below the speed of the processor or of its memory.

They are compiled when the package is installed, for float32 and float64 (`ftt.compiled.making`), with a version for
each generation of x86 processors among which the loader chooses. Where there is no C compiler, callers do without.
Which way is taken follows from the installation and the number of threads, never from timings: what is resumed must
be computed exactly as what was not interrupted. Kernels run in one thread, as trainings do that run side by side.

Every argument of a kernel is a pointer; sizes come in a structure.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

from ftt.compiled.making import version_of

HERE = Path(__file__).parent

LANES = {"float32": 16, "float64": 8}
"""Numbers in a vector of the kernels, by precision."""


@functools.cache
def library(precision: str) -> ctypes.CDLL | None:
    """The kernels for float32 or float64; None where they were not compiled, are out of date or are not wanted."""
    # Set by `ftt.threads.pin_kernels`: every machine is to compute alike.
    if "ATEN_CPU_CAPABILITY" in os.environ or not Path(HERE, f"{precision}.so").exists():
        return None
    try:
        found = ctypes.CDLL(str(HERE / f"{precision}.so"))
    except OSError:
        return None  # Made on a machine of another kind.
    return found if ctypes.c_long.in_dll(found, "version").value == version_of() else None


def run(kernel: str, precision: str, *arguments: Any) -> None:
    """Run a kernel on tensors, arrays, structures and None. Their precision and layout are the caller's business."""
    found = library(precision)
    assert found is not None
    getattr(found, kernel)(*map(_pointer, arguments))


def _pointer(of: Any) -> Any:
    if of is None:
        return ctypes.c_void_p()
    if isinstance(of, ctypes.Structure):
        return ctypes.byref(of)
    return ctypes.c_void_p(of.data_ptr() if hasattr(of, "data_ptr") else of.ctypes.data)
