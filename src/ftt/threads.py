"""One number of threads for torch, BLAS and OpenMP together.

OpenBLAS collapses when many small solves each ask for every core of a busy machine, so the number is set once,
for all pools, around the work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

from ftt.errors import FttError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


KERNELS = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Haswell",
    "CUBLAS_WORKSPACE_CONFIG": ":4096:8",
}
"""What holds torch and BLAS to kernels that every x86 processor of the last ten years has."""


def pin_kernels() -> None:
    """Compute with the same kernels on every x86 machine, and with deterministic ones where torch has a choice.

    Libraries choose their kernels when they are loaded, so this has to come before NumPy and torch are imported.
    """
    late = [name for name in ("numpy", "torch") if name in sys.modules]
    if late and any(os.environ.get(name) != value for name, value in KERNELS.items()):
        raise FttError(
            "kernels are chosen when libraries are loaded, which has happened already",
            given=f"{', '.join(late)} imported",
            allowed=" ".join(f"{name}={value}" for name, value in KERNELS.items()),
            hint="set these variables before Python starts",
        )
    os.environ.update(KERNELS)
    import torch

    torch.use_deterministic_algorithms(True)


def available() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def environment(count: int) -> dict[str, str]:
    """The variables that hold the pools of a process to `count` threads if they are set before it starts."""
    return dict.fromkeys(VARIABLES, str(count))


@lru_cache(maxsize=1)
def _pools(modules: int) -> ThreadpoolController:
    """The pools of the libraries that are loaded.

    Finding them takes milliseconds, so it is done again only when the number of imported modules has changed.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def of_blas() -> int:
    """The threads that BLAS may use now."""
    libraries = _pools(len(sys.modules)).lib_controllers
    return max((library.num_threads for library in libraries if library.user_api == "blas"), default=1)


@contextmanager
def limited_to(count: int) -> Iterator[None]:
    """Run the block with `count` threads in every pool, and put the old numbers back afterwards."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch is not None else None
    with _pools(len(sys.modules)).limit(limits=count):
        if torch is not None:
            torch.set_num_threads(count)
        try:
            yield
        finally:
            if torch is not None and before is not None:
                torch.set_num_threads(before)
