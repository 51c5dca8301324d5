"""Documented commands, as a user types them, each in a process of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path


class Terminal:
    """A folder to work in, and what was printed there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        own = {name: str(folder / name.lower()) for name in ("FTT_HOME", "FTT_CACHE")}
        self.environment = os.environ | own | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def run(self, command: str, code: int = 0) -> str:
        """Standard output of an `ftt …` command that must end with this exit code."""
        words = shlex.split(command)
        assert words[0] == "ftt"
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == code, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-3000:]}"
        return done.stdout
