"""A training whose other node never appears ends with words, not after half an hour."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ALONE = """
from ftt.errors import FttError
from ftt.train import machine

machine.RENDEZVOUS = 3.0
try:
    machine.Machine("cpu", devices=1, nodes=2).fabric()
except FttError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_node_that_does_not_appear_is_not_waited_for_without_end() -> None:
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", "NODE_RANK": "0", "MASTER_PORT": "29511"}
    done = subprocess.run(
        [sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=200, check=True, env=environment
    )
    assert "did not all start" in done.stdout
    assert "2 nodes" in done.stdout
    assert "on every node" in done.stdout
