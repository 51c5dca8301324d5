"""No bad input may hang: every case has ten seconds."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

SECONDS = 10


@pytest.fixture(autouse=True)
def _no_hang(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("FTT_CACHE", str(tmp_path_factory.mktemp("cache")))

    def stop(*_: object) -> None:
        raise TimeoutError(f"still running after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
