"""What a store holds, to see that nothing changed."""

from __future__ import annotations

import hashlib
from pathlib import Path


def content_of(folder: Path) -> dict[str, str]:
    """Checksums of every file by name; locks come and go."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
