"""The browser and axe-core for tests: found or fetched once, kept outside the checkout, else the reason why not."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

AXE = "axe-core@4.14.0"
AXE_SHA256 = "2277b0a3ef47af9b52497faa3e71598e86e0a0e5e6eb295207a5657ede4709af"
KEPT = Path(os.environ.get("FTT_TEST_CACHE") or Path.home() / ".cache" / "ftt-tests")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def executable() -> str | None:
    """An installed Chromium; `make browser` installs one where it can."""
    named = os.environ.get("FTT_CHROMIUM")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


def axe() -> str | None:
    """The script of axe-core, from npm; None where it cannot be fetched."""
    path = KEPT / f"{AXE.replace('@', '-')}.tgz"
    if not _whole(path):
        _fetch(path)
    if not _whole(path):
        return None
    with tarfile.open(path) as packed:
        member = packed.extractfile("package/axe.min.js")
        assert member is not None
        return io.TextIOWrapper(member, encoding="utf-8").read()


def _whole(path: Path) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == AXE_SHA256


def _fetch(path: Path) -> None:
    if shutil.which("npm") is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        try:
            done = subprocess.run(
                ["npm", "pack", "--silent", AXE], cwd=folder, capture_output=True, timeout=60, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return
        made = list(Path(folder).glob("*.tgz"))
        if done.returncode == 0 and made:
            made[0].replace(path)
