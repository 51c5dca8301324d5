"""Ctrl-C and SIGTERM while something must not be cut in two."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopped(BaseException):
    """The user asked to stop, and what can be resumed has been saved.

    Like `KeyboardInterrupt` it is not an `Exception`, so that nobody takes it for a failed run.

    Attributes
    ----------
    where : str
        How far the work had come, in words.
    code : int
        The exit code that tells others by which signal it ended.
    """

    def __init__(self, where: str, signum: int) -> None:
        self.where = where
        self.code = 128 + signum
        super().__init__(where)


@dataclass
class Request:
    """Whether a signal has arrived, and which."""

    signum: int | None = None


@contextmanager
def deferred() -> Iterator[Request]:
    """Note the first signal inside the block instead of acting on it; a second one acts at once.

    Outside the main thread signals cannot be handled, and nothing changes.
    """
    request = Request()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def note(signum: int, frame: FrameType | None) -> None:
        if request.signum is not None:
            raise KeyboardInterrupt
        request.signum = signum

    # A handler that ignores the signal, as that of a worker for Ctrl-C, stays.
    before = {s: signal.getsignal(s) for s in SIGNALS if signal.getsignal(s) is not signal.SIG_IGN}
    try:
        for s in before:
            signal.signal(s, note)
        yield request
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
