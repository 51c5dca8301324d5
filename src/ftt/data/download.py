"""Download one file from one address, resuming after interruptions.

A partial download stays in ``<name>.part`` with a note of its source. The next connection requests the rest only
(``Range``), provided that the file is still the same (``If-Range``); a server that does not support ranges, or has
another file by now, sends the whole file and the part is overwritten. The caller's checksum decides whether it is the
right file.
"""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from ftt.network import ask
from ftt.progress import say, track

CHUNK = 1 << 20
ATTEMPTS = 8
WINDOW = 30.0
SLOWEST = 1000
"""Bytes per second, over `WINDOW` seconds, below which a server counts as one that does not answer."""


class NotHereError(Exception):
    """A source does not have the file or cannot be reached; another one may."""


class TooSlowError(NotHereError):
    """A source sends so little at a time that it would never end."""


def download(source: str, part: Path) -> bool:
    """Fetch an address to `part`, resuming a partial download; retried as long as every attempt adds to it.

    Returns whether the file was resumed, so that its parts may come from different files.
    """
    for _ in range(ATTEMPTS):
        before = _size(part)
        try:
            return _connect(source, part)
        except NotHereError as cut:
            reason = cut
            if _size(part) <= before or isinstance(cut, TooSlowError):
                raise
            say(f"{reason}; resuming from there")
    raise reason


def discard(part: Path) -> None:
    """Delete a partial download."""
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _connect(source: str, part: Path) -> bool:
    start = _size(part)
    request = urllib.request.Request(source)
    if start:
        request.add_header("Range", f"bytes={start}-")
        if validator := _validator(source, part):
            request.add_header("If-Range", validator)
    try:
        with ask(request) as answer:
            first, total = _extent(answer)
            if first not in (0, start):
                discard(part)
                raise NotHereError(f"{source}: sent a different part than requested")
            _remember(source, part, answer)
            with part.open("ab" if first else "wb") as sink:
                written = _write(answer, sink, source)
                for _ in track(written, f"fetching {part.stem}", total=-(-total // CHUNK), done=first // CHUNK):
                    pass
    except urllib.error.HTTPError as error:
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and start:
            # The part is as long as the file or longer, and yet not the file.
            discard(part)
            return _connect(source, part)
        raise NotHereError(f"{source}: {error.code} {error.reason}") from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, OSError) as error:
        raise NotHereError(f"{source}: {getattr(error, 'reason', error)}") from None
    if _size(part) < total:
        # A connection that is cut looks like the end of the file.
        raise NotHereError(f"{source}: the connection ended after {_size(part)} of {total} bytes")
    return first > 0


def _write(answer: Any, sink: IO[bytes], source: str) -> Iterator[None]:
    """Write what arrives as it arrives, and yield once per `CHUNK`; a server that sends hardly anything is left."""
    since, window, pending = time.monotonic(), 0, 0
    # `read` would wait for a whole chunk, however slowly it comes.
    while piece := answer.read1(CHUNK):
        sink.write(piece)
        window, pending = window + len(piece), pending + len(piece)
        if (passed := time.monotonic() - since) > WINDOW:
            if window < SLOWEST * passed:
                raise TooSlowError(
                    f"{source}: sent {window} bytes in {passed:.0f} s, fewer than {SLOWEST} bytes per second"
                )
            since, window = time.monotonic(), 0
        while pending >= CHUNK:
            pending -= CHUNK
            yield


def _extent(answer: Any) -> tuple[int, int]:
    """Where the answer begins, and the length of the whole file (0 where it is not known)."""
    told = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range") or "")
    if getattr(answer, "status", None) == http.client.PARTIAL_CONTENT and told:
        return int(told[1]), 0 if told[2] == "*" else int(told[2])
    return 0, int(answer.headers.get("Content-Length") or 0)


def _remember(source: str, part: Path, answer: Any) -> None:
    tag = answer.headers.get("ETag") or ""
    # A weak tag only promises a file that is as good, not one of the same bytes.
    same = tag if tag and not tag.startswith("W/") else answer.headers.get("Last-Modified")
    _note(part).write_text(json.dumps({"source": source, "same": same}))


def _validator(source: str, part: Path) -> str | None:
    """What the source called this very file when the part was begun; None where it is from another source."""
    try:
        note = json.loads(_note(part).read_text())
    except (OSError, ValueError):
        return None
    found: str | None = note.get("same") if note.get("source") == source else None
    return found


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".from")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
