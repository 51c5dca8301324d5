"""Kills, full and read-only disks: the next command ends in the same bits, and nothing is left behind.

The short form takes about a minute; ``make faults`` runs the long one (``FTT_FAULTS=long``) and prints what it counted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

LONG = os.environ.get("FTT_FAULTS") == "long"
HERE = Path(__file__).parent
STAGES = {"fetch", "decode", "extract", "freeze", "train", "probe", "publish", "sweep", "save"}


def driven(script: str, folder: Path, count: int) -> dict[str, Any]:
    """What a driver found out, printed too."""
    root = HERE.parent.parent
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join([str(root), *sys.path])}
    command = [sys.executable, str(HERE / script), str(folder), str(count), "0"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=3600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    sys.stdout.write(f"\n{script}: {json.dumps(found)}\n")
    return found


@pytest.mark.slow
def test_killed_work_ends_in_the_same_bits_and_leaves_nothing_behind(tmp_path: Path) -> None:
    found = driven("kill_driver.py", tmp_path, 150 if LONG else 8)
    assert found["wrong"] == []
    if LONG:
        assert found["kills"].keys() >= STAGES
        assert found["orphans"] > 0, "no kill came while a file was being written: the test shows nothing"


@pytest.mark.slow
def test_full_and_read_only_disks_are_reported_and_spoil_nothing(tmp_path: Path) -> None:
    if not _can_mount(tmp_path / "probe"):
        pytest.skip("needs the right to mount a tmpfs")
    # Not below pytest's folder, which other users may not enter: one of them must be refused for the right reason.
    with tempfile.TemporaryDirectory(prefix="ftt-disk-") as folder:
        found = driven("disk_driver.py", Path(folder), 120 if LONG else 12)
    assert found["wrong"] == []


def _can_mount(place: Path) -> bool:
    place.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(place)], capture_output=True, check=False)
        if mounted.returncode == 0:
            subprocess.run(["umount", str(place)], check=True)
    except OSError:
        return False
    return mounted.returncode == 0
