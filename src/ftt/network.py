"""Whether the network may be used, and how long anybody waits for it.

``--offline`` or ``FTT_OFFLINE=1`` says that it may not: nothing is tried, and what is missing is said at once.
Otherwise an answer that does not come within `PATIENCE` seconds counts as no answer.
"""

from __future__ import annotations

import http.client
import os
import queue
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ftt.progress import current, say

VARIABLE = "FTT_OFFLINE"
PATIENCE = 10.0
"""Seconds without a byte, or until the head of an answer is complete, after which a connection counts as dead."""
HUB = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


def offline() -> bool:
    """Whether the network may not be used."""
    return os.environ.get(VARIABLE, "").lower() not in ("", "0", "false", "no")


def go_offline() -> None:
    """Use no network from now on, in this process and those it starts."""
    os.environ[VARIABLE] = "1"
    prepare_hub()


def prepare_hub() -> None:
    """Before the Hugging Face libraries are used: what holds for us holds for them."""
    if offline():
        hub_offline()


def hub_offline() -> None:
    """Let the Hugging Face libraries use their local cache only."""
    os.environ.update(dict.fromkeys(HUB, "1"))
    # They look at the environment once, when they are imported.
    for module in ("huggingface_hub.constants", "datasets.config"):
        for name in HUB[:2]:
            if hasattr(sys.modules.get(module), name):
                setattr(sys.modules[module], name, True)


def reach_hub() -> None:
    """Before something is fetched from the hub: use its cache alone if it does not answer.

    Its clients would retry for minutes. Other sources are still tried.
    """
    if offline():
        prepare_hub()
        return
    address = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    try:
        ask(urllib.request.Request(address, method="HEAD")).close()
    except urllib.error.HTTPError:
        return  # It answers.
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        say(f"{address} does not answer ({reason}): its local cache is used")
        hub_offline()


def ask(request: urllib.request.Request) -> Any:
    """The answer to a request, its body still to be read; `TimeoutError` if its head takes over `PATIENCE` seconds.

    The time-out of a socket starts again with every byte and does not cover the look-up of a name, so a thread asks
    and is left behind when the time is over.
    """
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    given_up = threading.Event()

    def open_it() -> None:
        try:
            answer = urllib.request.urlopen(request, timeout=PATIENCE)
        except Exception as error:
            ended.put(error)
            return
        ended.put(answer)
        if given_up.is_set():
            answer.close()

    threading.Thread(target=open_it, daemon=True).start()
    with waiting_for(f"an answer of {request.host} (at most {PATIENCE:g} s)"):
        try:
            found = ended.get(timeout=PATIENCE)
        except queue.Empty:
            given_up.set()
            raise TimeoutError("timed out") from None
    if isinstance(found, Exception):
        raise found
    return found


@contextmanager
def waiting_for(what: str, after: float = 2.0) -> Iterator[None]:
    """Say what is waited for if the block takes longer than `after` seconds, and again every minute."""
    display, over = current(), threading.Event()

    def tell() -> None:
        pause = after
        while not over.wait(pause):
            display.say(f"waiting for {what}")
            pause = 60.0

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock; a process that waits for another one says for what, after a second."""
    lock = FileLock(path)
    try:
        lock.acquire(timeout=1.0)
    except Timeout:
        say(f"waiting for another process: {what}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()
