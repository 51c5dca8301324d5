"""Freed memory is used again instead of being fetched from the system."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAULTS = """
import resource, torch
from ftt.freed_memory import reuse_freed_memory
assert reuse_freed_memory()
def fill():
    torch.zeros(12_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):  # the first few may still be placed differently
    before = fill()
print(fill() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="an option of glibc")
def test_a_large_tensor_takes_no_new_pages_once_one_of_its_size_was_freed() -> None:
    found = subprocess.run([sys.executable, "-c", FAULTS], capture_output=True, check=True, text=True)
    # 48 MB are 12,000 pages.
    assert int(found.stdout) < 500
