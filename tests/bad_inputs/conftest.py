"""No bad input may hang: every case has ten seconds."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

SECONDS = 10


@pytest.fixture(autouse=True)
def _no_hang() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"still running after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
