"""Freed memory is used again instead of being fetched from the system."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ftt.freed_memory import collect_seldom

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


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("thresholds")
@pytest.mark.parametrize(("given", "left"), [(700, 10_000), (50_000, 50_000), (0, 0)])
def test_garbage_is_looked_for_less_often_but_never_more(given: int, left: int) -> None:
    gc.set_threshold(given, 11, 12)
    collect_seldom()
    assert gc.get_threshold() == (left, 11, 12)


def test_commands_import_without_looking_through_what_they_have_imported() -> None:
    code = "import gc, ftt.cli as cli; cli.app = lambda **_: print(gc.get_threshold()[0]); cli.main()"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert found.stdout == "10000\n"
