"""No bad input may hang: every case has ten seconds."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import Shell

import ftt

SECONDS = 10


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with one run."""
    home = tmp_path_factory.mktemp("store")
    ftt.run("digits", "init", backbone="identity", home=home)
    return home


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, store: Path) -> Shell:
    """The command line on that home, in an empty folder."""
    made = Shell(monkeypatch, capsys, tmp_path)
    monkeypatch.setenv("FTT_HOME", str(store))
    monkeypatch.chdir(tmp_path)
    return made


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
