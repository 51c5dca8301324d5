"""One file from one address, in as many connections as it takes.

What has arrived stays in ``<name>.part`` with a note of where it came from. The next connection asks for the rest only
(``Range``), on the condition that the file is still the same (``If-Range``); a server that does not know ranges, or has
another file by now, sends the whole one and the part is written anew. Whether it is the right file is decided by the
caller's checksum.
"""

from __future__ import annotations

import http.client
import json
import re
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ftt.progress import say, track

CHUNK = 1 << 20
ATTEMPTS = 8


class NotHereError(Exception):
    """A source has no such file, or cannot be reached; the next one may."""


def download(source: str, part: Path) -> bool:
    """Fetch an address to `part`, going on with what is there; tried again as long as each time brings more.

    Returns whether the file is pieced together, so that its pieces may be of different files.
    """
    for _ in range(ATTEMPTS):
        before = _size(part)
        try:
            return _connect(source, part)
        except NotHereError as cut:
            reason = cut
            if _size(part) <= before:
                raise
            say(f"{reason}; going on from there")
    raise reason


def discard(part: Path) -> None:
    """Forget what has arrived."""
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
        with urllib.request.urlopen(request, timeout=30) as answer:
            first, total = _extent(answer)
            if first not in (0, start):
                discard(part)
                raise NotHereError(f"{source}: sent another part than was asked for")
            _remember(source, part, answer)
            with part.open("ab" if first else "wb") as sink:
                pieces = iter(lambda: answer.read(CHUNK), b"")
                steps = -(-total // CHUNK)
                for piece in track(pieces, f"fetching {part.stem}", total=steps, done=first // CHUNK):
                    sink.write(piece)
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


def _extent(answer: Any) -> tuple[int, int]:
    """Where the answer begins, and the length of the whole file (0 where it is not told)."""
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
