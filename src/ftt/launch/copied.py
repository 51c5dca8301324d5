"""A copy of this process that carries out one order beside it: it has imported and loaded already what this one has.

A program of its own (`ftt.launch.local.Worker`) needs more than a second until it can begin. Other threads are not
copied, and a lock that one of them holds would stay locked; so only a process with one thread is copied, on Linux, and
not one that uses a GPU or that Python lets have no children.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

from ftt import threads as pools
from ftt.launch.local import in_words
from ftt.launch.worker import carry_out
from ftt.params import Json
from ftt.progress import Silent, shown_on


def can_be_copied(threads: int) -> bool:
    """Whether this process can be copied for work with so many threads."""
    torch = sys.modules.get("torch")
    on_gpu = torch is not None and torch.cuda.is_initialized()
    childless = multiprocessing.current_process().daemon
    single = threads == threading.active_count() == 1
    return sys.platform.startswith("linux") and single and not on_gpu and not childless


class Copy:
    """The process that carries out an order."""

    def __init__(self, order: dict[str, Json]) -> None:
        fork = multiprocessing.get_context("fork")
        self._answer, answer = fork.Pipe(duplex=False)
        self._process = fork.Process(target=_carry_out, args=(order, answer), daemon=True)
        self._process.start()
        answer.close()

    def trouble(self) -> str | None:
        """How the process died, or why it failed; None if all is well so far."""
        try:
            answer: dict[str, Any] = json.loads(self._answer.recv_bytes()) if self._answer.poll() else {}
        except EOFError:
            self._process.join()
            return f"died ({in_words(self._process.exitcode or 0)})"
        return f"failed ({answer['error']})" if "error" in answer else None

    def end(self) -> None:
        """Kill the process if it still lives. What it has begun can be made by others."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self._answer.close()


def _carry_out(order: dict[str, Json], answer: Connection) -> None:
    # Ctrl-C reaches the whole group of processes; it is the driver that ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_follow, daemon=True).start()
    with pools.limited_to(1), shown_on(Silent(), detailed=False):
        answer.send_bytes(json.dumps(carry_out(order)).encode())


def _follow() -> None:
    """Exit when the driver is gone."""
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    os._exit(0)
