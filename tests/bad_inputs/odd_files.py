"""Files that are not regular files."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def bind_socket(path: Path) -> None:
    """A socket in place of a file; bound from its folder, since the name of a socket may have 107 bytes only."""
    where = Path.cwd()
    os.chdir(path.parent)
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(where)
