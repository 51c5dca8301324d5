"""Copies of a process carry out orders, say what went wrong, and do not outlive it. Each test has a process of its own,
because only one with a single thread can be copied."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from ftt.launch.copied import can_be_copied
from ftt.rows import BLOCK

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are copied on Linux only")

LINES = """
import os, sys, time
from pathlib import Path
from ftt.data.embeddings import Embeddings
from ftt.launch import Resources, copied
from ftt.launch.copied import Copy
from ftt.launch.extraction import extract_features
from ftt.progress import shown_on
from ftt.store import Home

folder = Path(sys.argv[1])
data, home = Embeddings(path=str(folder / "data")), Home(folder / "home")

class Heard:
    def track(self, items, label, total, done): yield from items
    def say(self, message): print(message)
    def report(self, who, at): pass

def extract():
    with shown_on(Heard()):
        extract_features(data, "mlp", home, resources=Resources(3, 1))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made, n = tmp_path_factory.mktemp("copied"), BLOCK + 3000
    (made / "data").mkdir()
    arrays: dict[str, npt.NDArray[Any]] = {
        "features": np.random.default_rng(0).standard_normal((n + 8, 8), dtype=np.float32),
        "y": np.arange(n + 8) % 2,
        "attribute": np.arange(n + 8) // 2 % 2,
        "split": np.repeat([0, 1, 2], [n, 4, 4]),
    }
    for name, values in arrays.items():
        np.save(made / "data" / f"{name}.npy", values)
    return made


def start(folder: Path, lines: str) -> subprocess.Popen[str]:
    path = os.pathsep.join(filter(None, sys.path))
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", LINES + lines, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **one_thread, "PYTHONPATH": path},
    )


def printed(folder: Path, lines: str) -> list[str]:
    process = start(folder, lines)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return said.splitlines()


def test_copies_make_shards(folder: Path) -> None:
    lines = """
from ftt.store import artifacts
whole = artifacts.ShardedTable.rows
def late(table):
    # The copies have made everything when this process begins.
    while table.missing(): time.sleep(0.01)
    return whole(table)
artifacts.ShardedTable.rows = late
extract()
print(os.getpid() in {record["pid"] for record in home.artifacts.log()}, len(home.artifacts.log()) > 1)
"""
    assert printed(folder, lines) == ["False True"]


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("os.kill(os.getpid(), 9)", "died (signal 9)"),
        ("os._exit(3)", "died (exit code 3)"),
        ("raise ValueError('no such thing')", "failed (ValueError: no such thing)"),
    ],
)
def test_what_went_wrong_in_a_copy_is_said_and_the_rest_is_made(
    folder: Path, tmp_path: Path, what: str, words: str
) -> None:
    lines = f"""
home = Home(Path({str(tmp_path)!r}))
from ftt.launch import extraction
def broken(order): {what}
extraction.make_shards = broken
from ftt.store import artifacts
keep = artifacts.ShardedTable.keep
def slow(table, number, *, wait=True):
    time.sleep(0.1)
    return keep(table, number, wait=wait)
artifacts.ShardedTable.keep = slow
extract()
"""
    assert printed(folder, lines) == [f"a worker {words}; its rows were left to the others"] * 2


def test_a_copy_ends_with_the_process_it_was_copied_from(folder: Path) -> None:
    lines = """
from ftt.launch import worker
worker.carry_out = copied.carry_out = lambda order: time.sleep(600)
copies = [Copy({}), Copy({})]
print(*(copy._process.pid for copy in copies), flush=True)
time.sleep(600)
"""
    driver = start(folder, lines)
    assert driver.stdout is not None
    copies = [int(word) for word in driver.stdout.readline().split()]
    assert len(copies) == 2
    driver.kill()
    driver.wait()
    end = time.monotonic() + 30
    while any(lives(copy) for copy in copies) and time.monotonic() < end:
        time.sleep(0.01)
    left = [copy for copy in copies if lives(copy)]
    for copy in left:
        os.kill(copy, signal.SIGKILL)
    assert left == []


def lives(process: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def test_a_process_with_other_threads_is_not_copied(folder: Path) -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert not can_be_copied(1)
    finally:
        done.set()
        other.join()
    assert printed(folder, "print(copied.can_be_copied(1), copied.can_be_copied(2))") == ["True False"]


def test_a_worker_of_somebodys_pool_is_not_copied(folder: Path) -> None:
    lines = """
import multiprocessing
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply(copied.can_be_copied, (1,)))
"""
    assert printed(folder, lines) == ["False"]
