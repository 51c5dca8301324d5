"""oneDNN multiplies where it is known to be faster: by what the processor is, never by a clock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ftt import onednn, processor

AMD = "vendor_id\t: AuthenticAMD\nflags\t\t: fpu avx2 avx512f"


def decided() -> bool:
    return onednn.preferred.__wrapped__()


@pytest.mark.parametrize(
    ("told", "capability", "expected"),
    [
        (AMD, "AVX512", True),
        (AMD.replace("AuthenticAMD", "GenuineIntel"), "AVX512", False),
        (AMD.replace("avx512f", ""), "AVX512", False),
        (AMD, "AVX2", False),  # Kernels are pinned: every machine is to compute alike.
        ("", "AVX512", False),
    ],
)
def test_the_processor_decides(told: str, capability: str, expected: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "description", lambda: told)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert decided() is expected


@pytest.mark.parametrize("failure", [AttributeError, RuntimeError, None])
def test_an_operation_that_is_missing_or_wrong_is_not_used(
    failure: type[Exception] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(x: Tensor, *others: object) -> Tensor:
        if failure is not None:
            raise failure
        return x

    monkeypatch.setattr(processor, "description", lambda: AMD)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX512")
    monkeypatch.setattr(onednn, "linear", broken)
    assert not decided()


def test_a_system_without_a_description_of_its_processors_is_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    assert processor.description() == ""
    assert not decided()


def test_deciding_imports_no_torch_where_blas_is_fast() -> None:
    code = (
        "import sys; from ftt import onednn, processor; processor.description = lambda: 'GenuineIntel avx512f'; "
        "assert not onednn.preferred(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
