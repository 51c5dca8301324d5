"""One number of threads for all pools, whenever their libraries were loaded."""

from __future__ import annotations

import json
import subprocess
import sys

LATE = """
import json
from ftt.threads import limited_to
with limited_to(1):
    pass
import numpy, torch
from threadpoolctl import threadpool_info

def numbers():
    return [pool["num_threads"] for pool in threadpool_info()] + [torch.get_num_threads()]

before = numbers()
with limited_to(3):
    inside = numbers()
print(json.dumps([before, inside, numbers()]))
"""


def test_libraries_loaded_after_the_first_call_are_limited_too_and_get_their_numbers_back() -> None:
    found = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=True).stdout
    before, inside, after = json.loads(found)
    assert len(inside) > 1
    assert set(inside) == {3} != set(before)
    assert after == before
