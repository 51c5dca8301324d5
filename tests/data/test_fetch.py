"""Fetching: your folder, then the cache, then the sources in order; never a half or a wrong file."""

from __future__ import annotations

import hashlib
import io
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from ftt.data import Roots, fetch
from ftt.data.fetch import Bundle, Collection, RemoteFile, unpack
from ftt.errors import FttError

CONTENT = b"what was published " * 20_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()
NOWHERE = "http://127.0.0.1:9/"


@contextmanager
def serving(content: bytes, *, cut_after: int | None = None, chunked: bool = False) -> Iterator[str]:
    """A loopback server of one file; with `cut_after` it hangs up in the middle."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = content[:cut_after]
            self.send_response(200)
            if chunked:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(f"{len(content):x}\r\n".encode() + body)
            else:
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return None

    Handler.protocol_version = "HTTP/1.1"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/file.bin"
    finally:
        server.shutdown()
        server.server_close()


def collection(*sources: str, sha256: str = SHA256) -> Collection:
    return Collection("things", tuple(Bundle((RemoteFile("file.bin", sha256, source),)) for source in sources))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return Roots(cache=tmp_path / "cache", data=tmp_path / "placed")


def put(folder: Path, content: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file.bin").write_bytes(content)
    return folder / "file.bin"


def everything_below(folder: Path) -> list[str]:
    """Names of the files, locks apart."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")


def test_whole_file_is_fetched_verified_and_found_in_the_cache_afterwards(roots: Roots) -> None:
    with serving(CONTENT) as address:
        path = collection(address).obtain(roots)["file.bin"]
    assert path == roots.cache / "things" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert collection(NOWHERE).found(roots)
    assert collection(NOWHERE).obtain(roots)["file.bin"] == path
    assert everything_below(roots.cache) == ["file.bin"]


@pytest.mark.parametrize("chunked", [False, True], ids=["length known", "chunked"])
def test_connection_that_is_cut_never_gives_the_file_its_name_and_the_next_source_is_tried(
    roots: Roots, chunked: bool
) -> None:
    with serving(CONTENT, cut_after=1000, chunked=chunked) as broken:
        with pytest.raises(FttError, match="no source could be reached"):
            collection(broken).obtain(roots)
        assert set(everything_below(roots.cache)) <= {"file.bin.part", "file.bin.part.from"}
        with serving(CONTENT) as whole:
            assert collection(broken, whole).obtain(roots)["file.bin"].read_bytes() == CONTENT


def test_a_server_that_sends_hardly_anything_is_left_for_the_next_source(
    roots: Roots, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Trickle(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            with suppress(OSError):
                for byte in CONTENT:
                    self.wfile.write(bytes([byte]))
                    time.sleep(0.02)

        def log_message(self, *_: object) -> None:
            return None

    monkeypatch.setattr("ftt.data.download.WINDOW", 0.2)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Trickle)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    slow = f"http://127.0.0.1:{server.server_address[1]}/file.bin"
    try:
        with pytest.raises(FttError, match="fewer than 1000 bytes per second"):
            collection(slow).obtain(roots)
        with serving(CONTENT) as quick:
            assert collection(slow, quick).obtain(roots)["file.bin"].read_bytes() == CONTENT
    finally:
        server.shutdown()
        server.server_close()


class Ranges:
    """A loopback server that knows ranges, hangs up after `cut` bytes and remembers what it was asked."""

    def __init__(self, content: bytes, *, cut: int | None = None, tag: str | None = '"one"') -> None:
        self.content, self.cut, self.tag = content, cut, tag
        self.asked: list[tuple[str | None, str | None]] = []
        self.sent = 0

    @contextmanager
    def running(self) -> Iterator[str]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                wanted, condition = self.headers.get("Range"), self.headers.get("If-Range")
                outer.asked.append((wanted, condition))
                start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
                if start and condition not in (None, outer.tag):
                    start = 0
                if start >= len(outer.content):
                    self.send_error(416)
                    return
                self.send_response(206 if start else 200)
                if start:
                    self.send_header("Content-Range", f"bytes {start}-{len(outer.content) - 1}/{len(outer.content)}")
                if outer.tag:
                    self.send_header("ETag", outer.tag)
                self.send_header("Content-Length", str(len(outer.content) - start))
                self.end_headers()
                body = outer.content[start:][: outer.cut]
                outer.sent += len(body)
                self.wfile.write(body)
                self.close_connection = True

            def log_message(self, *_: object) -> None:
                return None

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/file.bin"
        finally:
            server.shutdown()
            server.server_close()


def test_connection_that_breaks_is_gone_on_with_and_no_byte_is_fetched_twice(roots: Roots) -> None:
    server = Ranges(CONTENT, cut=len(CONTENT) // 3 + 1)
    with server.running() as address:
        assert collection(address).obtain(roots)["file.bin"].read_bytes() == CONTENT
    third = len(CONTENT) // 3 + 1
    assert server.asked == [(None, None), (f"bytes={third}-", '"one"'), (f"bytes={2 * third}-", '"one"')]
    assert server.sent == len(CONTENT)
    assert everything_below(roots.cache) == ["file.bin"]


def begun(roots: Roots, part: bytes, note: str = "") -> Path:
    """The part that an earlier call left behind."""
    folder = roots.cache / "things"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file.bin.part").write_bytes(part)
    if note:
        (folder / "file.bin.part.from").write_text(note)
    return folder / "file.bin.part"


def test_part_of_an_earlier_call_is_gone_on_with(roots: Roots) -> None:
    with serving(CONTENT, cut_after=1000) as broken, pytest.raises(FttError, match="ended after 1000 of"):
        collection(broken).obtain(roots)
    server = Ranges(CONTENT)
    with server.running() as address:
        assert collection(address).obtain(roots)["file.bin"].read_bytes() == CONTENT
    # Another address, so its tag of the file is not known: the checksum decides.
    assert server.asked == [("bytes=1000-", None)]
    assert server.sent == len(CONTENT) - 1000


def test_server_that_ignores_ranges_sends_the_whole_file_again(roots: Roots) -> None:
    begun(roots, CONTENT[:1000])
    with serving(CONTENT) as address:
        assert collection(address).obtain(roots)["file.bin"].read_bytes() == CONTENT
    assert everything_below(roots.cache) == ["file.bin"]


def test_file_that_changed_between_two_connections_is_fetched_from_the_beginning(roots: Roots) -> None:
    server = Ranges(CONTENT, tag='"two"')
    with server.running() as address:
        begun(roots, b"x" * 1000, f'{{"source": "{address}", "same": "\\"one\\""}}')
        assert collection(address).obtain(roots)["file.bin"].read_bytes() == CONTENT
    assert server.asked == [("bytes=1000-", '"one"')]
    assert server.sent == len(CONTENT)


@pytest.mark.parametrize("part", [b"x" * 1000, CONTENT + b"x", b"x" * len(CONTENT)], ids=["begin", "longer", "all"])
def test_damaged_part_is_thrown_away(roots: Roots, part: bytes) -> None:
    begun(roots, part)
    server = Ranges(CONTENT, tag=None)
    with server.running() as address:
        assert collection(address).obtain(roots)["file.bin"].read_bytes() == CONTENT
    assert server.asked[-1] == (None, None)


def test_part_that_is_whole_needs_no_server(roots: Roots) -> None:
    begun(roots, CONTENT)
    assert collection(NOWHERE).obtain(roots)["file.bin"].read_bytes() == CONTENT
    assert everything_below(roots.cache) == ["file.bin"]


def test_part_is_gone_on_with_at_the_next_source_of_the_same_file(roots: Roots) -> None:
    second = Ranges(CONTENT)
    with serving(CONTENT, cut_after=1000) as broken, second.running() as address:
        file = RemoteFile("file.bin", SHA256, (NOWHERE, broken, address))
        path = Collection("things", (Bundle((file,)),)).obtain(roots)["file.bin"]
    assert path.read_bytes() == CONTENT
    assert second.asked == [("bytes=1000-", None)]


def test_pieced_file_with_a_wrong_checksum_is_refused_and_not_kept(roots: Roots) -> None:
    begun(roots, b"x" * 100)
    with Ranges(b"something else" * 100).running() as address, pytest.raises(FttError, match="damaged or modified"):
        collection(address).obtain(roots)
    assert everything_below(roots.cache) == []


def test_when_no_source_answers_every_reason_is_told(roots: Roots) -> None:
    file = RemoteFile("file.bin", SHA256, (NOWHERE, "http://127.0.0.1:10/"))
    with pytest.raises(FttError, match=r"127\.0\.0\.1:9.*127\.0\.0\.1:10"):
        Collection("things", (Bundle((file,)),)).obtain(roots)


def test_your_folder_comes_before_the_cache_and_the_cache_before_fetching(roots: Roots) -> None:
    assert roots.data is not None
    cached = put(roots.cache / "things", CONTENT)
    assert collection(NOWHERE).obtain(roots)["file.bin"] == cached
    placed = put(roots.data / "things", CONTENT)
    assert collection(NOWHERE).obtain(roots)["file.bin"] == placed


def test_second_bundle_on_this_machine_comes_before_fetching_the_first(roots: Roots) -> None:
    put(roots.cache / "things", CONTENT)
    first = RemoteFile("other.bin", SHA256, NOWHERE)
    here = Collection("things", (Bundle((first,)), *collection(NOWHERE).bundles))
    assert list(here.obtain(roots)) == ["file.bin"]


@pytest.mark.parametrize("where", ["placed", "cache"])
def test_file_with_a_wrong_checksum_is_refused_with_its_path(roots: Roots, where: str) -> None:
    assert roots.data is not None
    path = put((roots.data if where == "placed" else roots.cache) / "things", b"tampered")
    with pytest.raises(FttError, match="damaged or modified") as caught:
        collection(NOWHERE).obtain(roots)
    assert str(path) in str(caught.value)
    assert SHA256 in str(caught.value)


def test_wrong_file_from_a_source_is_refused_by_its_address_and_not_kept(roots: Roots) -> None:
    with serving(b"something else") as address, pytest.raises(FttError, match="damaged or modified") as caught:
        collection(address).obtain(roots)
    assert address in str(caught.value)
    assert everything_below(roots.cache) == []


def test_missing_npm_means_the_next_source(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with serving(CONTENT) as address:
        assert collection("npm:things@1.0.0", address).obtain(roots)["file.bin"].read_bytes() == CONTENT
    with pytest.raises(FttError, match="npm is not installed"):
        collection("npm:things@1.0.0").obtain(Roots(roots.cache / "other", None))


def test_npm_that_packs_the_file_is_used_and_one_that_fails_means_the_next_source(
    roots: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm = tmp_path / "bin" / "npm"
    npm.parent.mkdir()
    (tmp_path / "published").write_bytes(CONTENT)
    monkeypatch.setattr("shutil.which", lambda _: str(npm))
    npm.write_text(f"#!/bin/sh\ncp {tmp_path}/published file.bin\n")
    npm.chmod(0o755)
    assert collection("npm:things@1.0.0").obtain(roots)["file.bin"].read_bytes() == CONTENT
    npm.write_text("#!/bin/sh\necho 'npm error code E404' >&2\necho 'npm error see the log' >&2\nexit 1\n")
    other = Roots(tmp_path / "other", None)
    with pytest.raises(FttError, match="E404"):
        collection("npm:things@1.0.0").obtain(other)
    with serving(CONTENT) as address:
        assert collection("npm:things@1.0.0", address).obtain(other)["file.bin"].is_file()


def test_nothing_reachable_names_the_files_the_folders_and_the_command(roots: Roots) -> None:
    both = Collection("things", collection(NOWHERE).bundles, dataset="dominoes")
    with pytest.raises(FttError) as caught:
        both.obtain(roots)
    text = str(caught.value)
    for part in ("file.bin", str(roots.cache / "things"), str(roots.data), "ftt data get dominoes", "127.0.0.1:9"):
        assert part in text


def test_offline_asks_nobody(roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a source was asked")

    monkeypatch.setattr(fetch, "_download", refuse)
    with pytest.raises(FttError, match="not on this machine"):
        collection(NOWHERE).obtain(roots, offline=True)


def test_the_command_of_the_published_collections_is_a_data_set_that_needs_them() -> None:
    from ftt import registry

    for name in registry.DATASETS.entries():
        for part in registry.DATASETS.get(name).collections():
            asked = registry.DATASETS.get(part.dataset or part.name)
            assert part.name in [other.name for other in asked.collections()]


def member(name: str, *, link: str | None = None, hard: bool = False) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    if link is not None:
        info.type, info.linkname = (tarfile.LNKTYPE if hard else tarfile.SYMTYPE), link
    return info


@pytest.mark.parametrize(
    "evil",
    [
        [member("../outside.txt")],
        [member("good/../../outside.txt")],
        [member("/tmp/outside.txt")],
        [member("link", link="../outside.txt")],
        [member("link", link="/etc/passwd")],
        [member("link", link="../outside.txt", hard=True)],
        [member("door", link=".."), member("door/outside.txt")],
    ],
    ids=["parent", "parent inside", "absolute", "link out", "absolute link", "hard link", "through a link"],
)
def test_member_that_leaves_the_folder_is_refused_and_nothing_is_unpacked(
    evil: list[tarfile.TarInfo], tmp_path: Path
) -> None:
    archive = tmp_path / "evil.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        tar.addfile(member("fine.txt"))
        for info in evil:
            tar.addfile(info, io.BytesIO(b""))
    with pytest.raises(FttError, match=r"evil\.tgz"):
        unpack(archive, tmp_path / "deep" / "content")
    assert everything_below(tmp_path) == ["evil.tgz"]


def test_unpacking_replaces_what_was_there(tmp_path: Path) -> None:
    archive = tmp_path / "good.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        info = member("sub/file.txt")
        info.size = 5
        tar.addfile(info, io.BytesIO(b"whole"))
    put(tmp_path / "content", b"old")
    assert (unpack(archive, tmp_path / "content") / "sub" / "file.txt").read_bytes() == b"whole"
    assert everything_below(tmp_path / "content") == ["file.txt"]


def test_damaged_archive_is_an_error_with_its_name(tmp_path: Path) -> None:
    archive = tmp_path / "broken.tgz"
    with tarfile.open(archive, "w:gz") as tar:
        info = member("file.bin")
        info.size = len(CONTENT)
        tar.addfile(info, io.BytesIO(CONTENT))
    whole = archive.read_bytes()
    for content in (b"not an archive", whole[: len(whole) // 2], whole[:200] + b"\xff" * 50 + whole[250:]):
        archive.write_bytes(content)
        with pytest.raises(FttError, match=r"broken\.tgz cannot be unpacked"):
            unpack(archive, tmp_path / "content")
        assert not (tmp_path / "content").exists()
